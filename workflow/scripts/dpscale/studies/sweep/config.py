"""Sections of the configuration for Q1: one worker, growing batch."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dpscale.config.bounds import at_most
from dpscale.config.datasets import size_problem
from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import (
    Batch,
    Launches,
    MemorySize,
    PositiveInt,
    Processes,
    Repeats,
    Section,
    Share,
)
from dpscale.plan.spec import RunProtocol


class SweepConfig(StudySection):
    """Q1: one worker, growing batch, to the boundary of memory or of the dataset."""

    first_batch: Batch = Field(32, description="Smallest batch of the sweep.")
    factor: Annotated[int, Field(ge=2), at_most(1024, "two batches alone would be swept")] = Field(
        4, description="Factor between two batches."
    )
    data_repeats: Repeats = Field(
        1,
        description="Training images repeated this many times, so that a small dataset "
        "lets the sweep reach the memory boundary; for timing only.",
    )
    memory_budget: MemorySize = Field(
        None,
        description="Memory that training may add to a worker's process on a CPU, "
        "for example 256 MiB; an allocation beyond it fails. null: the device's own memory.",
    )
    launches: Launches | None = Field(
        None, description="Launches of each batch; null: as many as of other timed cells."
    )
    repeats: Repeats = Field(
        1, description="Timed epochs at each batch in a launch, after one epoch of warm-up."
    )
    resolution_frac: Share = Field(
        0.05, description="Bisection of the boundary stops at this relative width."
    )
    confirmations: Processes = Field(
        2, description="Fresh processes that confirm each side of the boundary."
    )

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Only the first batch must fit: the sweep itself stops at the dataset."""
        yield "first_batch", 1, -(-self.first_batch // self.data_repeats)

    def problems(self, config: Config) -> Iterator[Problem]:
        """A budget of memory, where the device has its own, and more copies than memory holds."""
        if self.memory_budget and config.hardware.device == "cuda":
            yield "sweep.memory_budget", "is a limit for the cpu; set it to null on cuda"
        if self.data_repeats > 1 and (words := size_problem(config.data, self.data_repeats)):
            yield "sweep.data_repeats", f"is a copy each: {words}"


class Probe(Section):
    """A batch that was tried in a process of its own."""

    per_worker_batch: PositiveInt
    status: Literal["complete", "out_of_memory"]


class BoundaryProtocol(RunProtocol):
    """The search for the largest batch that fits, between the batches of the sweep."""

    resolution_frac: float = Field(description="The search ends at this relative width.")
    confirmations: int = Field(description="Further processes that confirm each side.")
    memory_budget_bytes: PositiveInt | None = Field(description="As the sweep has it.")
    probes: tuple[Probe, ...] | None = Field(None, description="What was tried, once it was.")


SECTIONS = {"sweep": (SweepConfig | None, Field(SweepConfig(), description="Q1: batch sweep."))}
