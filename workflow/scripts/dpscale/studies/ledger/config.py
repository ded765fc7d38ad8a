"""Sections of the configuration for Q6: the ledger of collectives."""

from collections.abc import Iterator

from pydantic import Field

from dpscale.config.root import Config, StudySection
from dpscale.config.sections import Batch, PositiveInt, Steps, WorkerCounts
from dpscale.plan.spec import RunProtocol


class LedgerProtocol(RunProtocol):
    """What a run of kind `ledger` counts."""

    steady_steps: PositiveInt


class LedgerConfig(StudySection):
    """Q6: the collectives of construction, first and steady iterations."""

    workers: WorkerCounts = Field((2, 4), description="Numbers of workers N.")
    per_worker_batch: Batch = Field(32, description="Batch per worker.")
    steady_steps: Steps = Field(10, description="Iterations counted in the steady state.")

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch on the most workers."""
        yield "per_worker_batch", max(self.workers), self.per_worker_batch


SECTIONS = {
    "ledger": (LedgerConfig | None, Field(LedgerConfig(), description="Q6: ledger of collectives."))
}
