"""S4: local and post-local SGD."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import Spec

STUDY = "local_sgd"


def local_sgd(config: Config) -> Iterator[Spec]:
    """The runs of the study."""
    if config.local_sgd is None:
        return
    yield from ()
