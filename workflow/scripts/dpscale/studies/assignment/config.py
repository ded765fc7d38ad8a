"""Section of the configuration that describes the cluster-training assignment."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from dpscale.config.root import ArmsSection, Config, Problem
from dpscale.config.sections import (
    Counts,
    ModelName,
    PositiveFloat,
    PositiveInt,
    Seeds,
    Workers,
    distinct,
)

Rule = Literal["sqrt", "fixed", "fixed_batch"]


class AssignmentConfig(ArmsSection):
    """H1 to H6: one training on N workers, its accuracy, its time and where the time goes."""

    of_accuracy: ClassVar[bool] = True

    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N; 1 is the base of every speed-up."
    )
    two_node_workers: Annotated[tuple[Workers, ...], AfterValidator(distinct)] = Field(
        (2, 6, 8),
        description="Numbers of workers that two nodes share evenly; planned where "
        "hardware.workers_per_node is set.",
    )
    per_worker_batch: PositiveInt = Field(128, description="Batch per worker b.")
    larger_batches: Annotated[tuple[PositiveInt, ...], AfterValidator(distinct)] = Field(
        (512, 1024), description="H1: further batches of one worker, to see its utilisation."
    )
    batch_epochs: Annotated[int, Field(ge=2)] = Field(
        3, description="H1: epochs with each of them; the first one warms up."
    )
    epochs: PositiveInt = Field(40, description="Epochs of a training.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    model: ModelName | None = Field("mnist_cnn", description="Network; null: that of the lab.")
    optimizer: Literal["sgd", "adam"] = Field("adam", description="Optimiser.")
    base_lr: PositiveFloat = Field(
        0.001, description="Learning rate of one worker; N workers train with N times this rate."
    )
    other_rules: Annotated[tuple[Rule, ...], AfterValidator(distinct)] = Field(
        ("sqrt", "fixed", "fixed_batch"),
        description="H5: further rules to try at the most workers. sqrt: the rate times the root "
        "of N; fixed: the rate of one worker; fixed_batch: its rate and its global batch, b/N a "
        "worker.",
    )

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the numbers of workers of one node."""
        for workers in self.workers:
            yield "workers", workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch on the most workers, and those of one."""
        two_nodes = self.two_node_workers if config.hardware.workers_per_node else ()
        yield "per_worker_batch", max([*self.workers, *two_nodes]), self.per_worker_batch
        for batch in self.larger_batches:
            yield "larger_batches", 1, batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """No base, a batch twice, and workers that two nodes cannot share."""
        if 1 not in self.workers:
            yield "assignment.workers", "leaves out 1, the base of every speed-up; add it"
        if self.per_worker_batch in self.larger_batches:
            yield (
                "assignment.larger_batches",
                f"holds assignment.per_worker_batch, {self.per_worker_batch}, which is measured "
                "anyway; leave it out",
            )
        share = config.hardware.workers_per_node
        for workers in self.two_node_workers if share else ():
            if workers % 2:
                yield (
                    "assignment.two_node_workers",
                    f"{workers} workers cannot be shared by two nodes evenly; the nearest valid is "
                    f"{workers - 1 or 2}",
                )
            elif share and workers > 2 * share:
                yield (
                    "assignment.two_node_workers",
                    f"{workers} workers need more than hardware.workers_per_node = {share} on each "
                    f"of two nodes; the largest valid is {2 * share}",
                )


SECTIONS = {
    "assignment": (
        AssignmentConfig | None,
        Field(None, description="H1 to H6: the cluster-training assignment."),
    ),
}
