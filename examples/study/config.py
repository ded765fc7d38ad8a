"""S9: its section of the configuration, and what a run of it is told."""

from pydantic import Field

from dpscale.config.root import StudySection
from dpscale.config.sections import Counts, PositiveInt, Repeats
from dpscale.plan.spec import RunProtocol


class InferenceProtocol(RunProtocol):
    """What a run repeats."""

    repeats: PositiveInt


class InferenceConfig(StudySection):
    """S9: forward passes of one worker."""

    batches_per_pass: Counts = Field((1, 8, 64), description="Batch sizes of a forward pass.")
    repeats: Repeats = Field(5, description="Timed passes of each batch size.")


SECTIONS = {"inference": (InferenceConfig | None, Field(None, description="S9: inference."))}
