"""Section of the configuration for E1: ways of sharing a training."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.checks import one_network
from dpscale.config.root import ArmsSection, Config, Problem, Unfollowed
from dpscale.config.sections import (
    MOST_BATCH,
    MOST_STEPS,
    Batch,
    MemorySize,
    ModelName,
    PositiveInt,
    Share,
    WorkerCounts,
)
from dpscale.plan.spec import RunProtocol


class StrategiesConfig(ArmsSection):
    """E1: DDP, gradient accumulation, ZeRO-1 and FSDP2 at the same global batch."""

    tries: ClassVar[str] = "sharded"

    workers: WorkerCounts = Field((2, 4), description="Numbers of workers N.")
    per_worker_batch: Batch = Field(
        32, description="Batch per worker, in every way; without it one that micro_batches divides."
    )
    micro_batches: Annotated[int, Field(ge=2), MOST_BATCH] = Field(
        4,
        description="Parts of a worker's batch where gradients are accumulated; without it as many "
        "up to 4 as divide the batch.",
    )
    model: ModelName | None = Field(None, description="Network; null: that of the configuration.")
    optimizer: Literal["sgd", "adam"] = Field(
        "adam", description="Optimiser, whose state is what ZeRO-1 shards; own.file may have one."
    )
    first_steps: Annotated[int, Field(ge=2), MOST_STEPS] = Field(
        5, description="Steps from the same start whose losses and parameters are compared."
    )
    memory_budget: MemorySize = Field(
        None,
        description="Memory of a worker that the largest batch has to fit, for example 32 MiB. "
        "null: four fifths of a GPU's; on a CPU the largest batch is not searched.",
    )
    resolution_frac: Share = Field(
        0.05, description="The search for the largest batch ends at this relative width."
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return a batch that divides into its parts, and parts that divide it."""
        batch, parts = self.per_worker_batch, self.micro_batches
        return {
            "per_worker_batch": max(1, round(batch / parts)) * parts,
            "micro_batches": next((n for n in (4, 3, 2) if batch % n == 0), batch),
        }

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch on the most workers."""
        yield "per_worker_batch", max(self.workers), self.per_worker_batch

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what cannot be had in all of the ways."""
        return (
            Unfollowed("compile", True, "compiles no network"),
            Unfollowed("nesterov", True, "trains without Nesterov's form"),
            Unfollowed("channels_last", True, "shards parameters, which FSDP2 wants contiguous"),
        )

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield a batch that does not divide, and a network beside a user's own."""
        if self.per_worker_batch % self.micro_batches:
            nearest = self.defaults(config)["per_worker_batch"]
            yield (
                "strategies.per_worker_batch",
                f"does not divide into {self.micro_batches} micro_batches; the nearest valid is "
                f"{nearest}",
            )
        yield from one_network(config, "strategies.model", self.model)


class SharingProtocol(RunProtocol):
    """What a run compares of the ways beside their times."""

    columns: ClassVar = ("micro_batches",)

    micro_batches: PositiveInt = Field(description="Parts of a worker's batch, accumulated.")
    first_steps: PositiveInt = Field(description="Steps from the same start.")
    budget_bytes: PositiveInt | None = Field(description="Memory of a worker.")
    resolution_frac: float = Field(description="Relative width at which the search ends.")


SECTIONS = {
    "strategies": (
        StrategiesConfig | None,
        Field(None, description="E1: ways of sharing a training."),
    )
}
