"""S2: rules that scale the learning rate with the batch, and its warm-up."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import Spec

STUDY = "lr_scaling"


def lr_scaling(config: Config) -> Iterator[Spec]:
    """The runs of the study."""
    if config.lr_scaling is None:
        return
    yield from ()
