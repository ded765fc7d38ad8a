"""S3: synchronous model averaging with several learners a device."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import Spec

STUDY = "model_averaging"


def model_averaging(config: Config) -> Iterator[Spec]:
    """The runs of the study."""
    if config.model_averaging is None:
        return
    yield from ()
