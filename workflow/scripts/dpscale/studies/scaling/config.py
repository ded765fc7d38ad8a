"""Sections of the configuration for Q2: timed runs of N workers."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import MOST_STEPS, Batches, Counts, Launches, Repeats, Steps


class ScalingConfig(StudySection):
    """Q2 and Q3: timed runs of N workers."""

    workers: Counts = Field(
        (1, 2, 4),
        description="Numbers of workers N; 1 is the base of every speed-up. Without it those of "
        "these that have devices.",
    )
    per_worker_batches: Batches = Field(
        (32, 128, 512),
        description="Batch sizes per worker b; without it those of these that the data fill.",
    )
    strong: bool = Field(
        True, description="Measure the fixed global batch too (b = B/N for each B above)."
    )
    launches: Launches | None = Field(
        None,
        description="Launches of each cell; null: as many as of other timed cells. Steps of a few "
        "milliseconds differ more from process to process: give them 6 or more.",
    )
    repeats: Repeats = Field(1, description="Timed repeats of a cell in each launch.")
    min_steps: Steps = Field(
        10, description="Steps of a repeat at least; short epochs are run several times."
    )
    warmup_steps: Annotated[int, Field(ge=10), MOST_STEPS] = Field(
        10,
        description="Steps of each arm before the first timed one; of plain DDP at least an epoch.",
    )

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield each batch on the most workers."""
        for batch in self.per_worker_batches:
            yield "per_worker_batches", max(self.workers), batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """No base of the speed-ups, or nothing that is set against it."""
        if 1 not in self.workers:
            yield "scaling.workers", "leaves out 1, the base of every speed-up; add it"
        if max(self.workers) == 1:
            yield (
                "scaling.workers",
                "has nothing to set against 1; add a number, or set scaling to null",
            )


SECTIONS = {
    "scaling": (ScalingConfig | None, Field(ScalingConfig(), description="Q2, Q3: N workers.")),
}
