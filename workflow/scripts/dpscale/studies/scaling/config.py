"""Sections of the configuration for Q2: timed runs of N workers."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import Counts, PositiveInt


class ScalingConfig(StudySection):
    """Q2 and Q3: timed runs of N workers."""

    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N; 1 is the base of every speed-up."
    )
    per_worker_batches: Counts = Field((32, 128, 512), description="Batch sizes per worker b.")
    strong: bool = Field(
        True, description="Measure the fixed global batch too (b = B/N for each B above)."
    )
    repeats: PositiveInt = Field(1, description="Timed repeats of a cell in each launch.")
    min_steps: PositiveInt = Field(
        10, description="Steps of a repeat at least; short epochs are run several times."
    )
    warmup_steps: Annotated[int, Field(ge=10)] = Field(
        10,
        description="Steps of each arm before the first timed one; of plain DDP at least an epoch.",
    )

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the numbers of workers."""
        for workers in self.workers:
            yield "workers", workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield each batch on the most workers."""
        for batch in self.per_worker_batches:
            yield "per_worker_batches", max(self.workers), batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """No base of the speed-ups."""
        if 1 not in self.workers:
            yield "scaling.workers", "leaves out 1, the base of every speed-up; add it"


SECTIONS = {
    "scaling": (ScalingConfig | None, Field(ScalingConfig(), description="Q2, Q3: N workers.")),
}
