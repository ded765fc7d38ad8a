"""Sections of the configuration for Q6: the ledger of collectives."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from dpscale.config.root import Config, StudySection
from dpscale.config.sections import PositiveInt, Workers, distinct


class LedgerConfig(StudySection):
    """Q6: the collectives of construction, first and steady iterations."""

    workers: Annotated[tuple[Workers, ...], Field(min_length=1), AfterValidator(distinct)] = Field(
        (2, 4), description="Numbers of workers N."
    )
    per_worker_batch: PositiveInt = Field(32, description="Batch per worker.")
    steady_steps: PositiveInt = Field(10, description="Iterations counted in the steady state.")

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the numbers of workers."""
        for workers in self.workers:
            yield "workers", workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch on the most workers."""
        yield "per_worker_batch", max(self.workers), self.per_worker_batch


SECTIONS = {
    "ledger": (
        LedgerConfig | None,
        Field(LedgerConfig(), description="Q6: ledger of collectives."),
    ),
}
