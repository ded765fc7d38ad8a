"""Sections of the configuration for Q4: a large batch, and remedies."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.checks import has_residual_blocks
from dpscale.config.datasets import train_samples
from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import PositiveInt, Seeds

Remedy = Literal["linear_scaling", "warmup", "zero_gamma", "more_epochs"]


class LargeBatchConfig(StudySection):
    """Q4: a large batch against a small one, and remedies."""

    of_accuracy: ClassVar[bool] = True

    workers: PositiveInt = Field(4, description="Number of workers N.")
    small_per_worker_batch: PositiveInt = Field(128, description="Small batch per worker.")
    large_per_worker_batch: PositiveInt | None = Field(
        None, description="Large batch per worker; null: the largest that Q1 found to fit."
    )
    min_updates_per_epoch: PositiveInt = Field(
        1, description="The largest batch is cut so that an epoch keeps this many updates."
    )
    epochs: PositiveInt = Field(5, description="Epochs of training; the last one is compared.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    remedies: Annotated[tuple[Remedy, ...], Field(min_length=2)] = Field(
        ("linear_scaling", "warmup", "zero_gamma", "more_epochs"),
        description="Remedies to run at the large batch.",
    )
    warmup_epochs: Annotated[float, Field(ge=0)] = Field(
        2.0, description="Length of the gradual warm-up, in epochs."
    )
    more_epochs: PositiveInt = Field(15, description="Epochs of the remedy more_epochs.")

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the number of workers."""
        yield "workers", self.workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the small batch, and the large one where it is known."""
        yield "small_per_worker_batch", self.workers, self.small_per_worker_batch
        if self.large_per_worker_batch:
            yield "large_per_worker_batch", self.workers, self.large_per_worker_batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """A remedy that the network cannot have, and a large batch that nobody finds."""
        if "zero_gamma" in self.remedies and not has_residual_blocks(config):
            yield (
                "large_batch.remedies",
                f"zero_gamma needs residual blocks and {config.model.name} has none; leave it out",
            )
        if self.large_per_worker_batch is None and config.section("sweep") is None:
            yield (
                "large_batch.large_per_worker_batch",
                "null asks for the largest batch that Q1 finds, and sweep is null; give a number",
            )
        samples = train_samples(config.data)
        if samples is not None and samples < self.workers * self.min_updates_per_epoch:
            yield (
                "large_batch.min_updates_per_epoch",
                f"leaves no image a worker; the largest valid is {samples // self.workers}",
            )


SECTIONS = {
    "large_batch": (
        LargeBatchConfig | None,
        Field(LargeBatchConfig(), description="Q4: large batches and remedies."),
    ),
}
