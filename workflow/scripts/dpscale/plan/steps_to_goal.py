"""S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

from collections.abc import Iterator

from dpscale.config.root import Config
from dpscale.plan.spec import Spec

STUDY = "steps_to_goal"


def steps_to_goal(config: Config) -> Iterator[Spec]:
    """The runs of the study."""
    if config.steps_to_goal is None:
        return
    yield from ()
