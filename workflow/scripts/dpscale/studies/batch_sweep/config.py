"""Sections of the configuration for Q1: one worker, growing batch."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import MemorySize, PositiveInt


class SweepConfig(StudySection):
    """Q1: one worker, growing batch, to the boundary of memory or of the dataset."""

    first_batch: PositiveInt = Field(32, description="Smallest batch of the sweep.")
    factor: Annotated[int, Field(ge=2)] = Field(4, description="Factor between two batches.")
    data_repeats: PositiveInt = Field(
        1,
        description="Training images repeated this many times, so that a small dataset "
        "lets the sweep reach the memory boundary; for timing only.",
    )
    memory_budget: MemorySize = Field(
        None,
        description="Memory that training may add to a worker's process on a CPU, "
        "for example 256 MiB; an allocation beyond it fails. null: the device's own memory.",
    )
    repeats: PositiveInt = Field(
        1, description="Timed epochs at each batch in a launch, after one epoch of warm-up."
    )
    resolution_frac: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="Bisection of the boundary stops at this relative width."
    )
    confirmations: Annotated[int, Field(ge=0)] = Field(
        2, description="Fresh processes that confirm each side of the boundary."
    )

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Only the first batch must fit: the sweep itself stops at the dataset."""
        yield "first_batch", 1, -(-self.first_batch // self.data_repeats)

    def problems(self, config: Config) -> Iterator[Problem]:
        """A budget of memory, where the device has a memory of its own."""
        if self.memory_budget and config.hardware.device == "cuda":
            yield "sweep.memory_budget", "is a limit for the cpu; set it to null on cuda"


SECTIONS = {
    "sweep": (SweepConfig | None, Field(SweepConfig(), description="Q1: batch sweep.")),
}
