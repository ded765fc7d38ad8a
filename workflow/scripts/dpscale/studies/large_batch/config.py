"""Sections of the configuration for Q4: a large batch, and remedies."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT
from dpscale.config.datasets import train_samples
from dpscale.config.root import Config, Problem, StudySection
from dpscale.config.sections import Batch, Devices, Epochs, EpochsFloat, Seeds, Steps
from dpscale.studies.large_batch.remedies import REMEDIES

if TYPE_CHECKING:
    Remedy = str
else:
    Remedy = Literal[tuple(REMEDIES)]


class LargeBatchConfig(StudySection):
    """Q4: a large batch against a small one, and remedies."""

    of_accuracy: ClassVar[bool] = True
    follows_schedule: ClassVar[bool] = True

    workers: Devices = Field(
        4, description="Number of workers N; without it at most as many as there are devices."
    )
    small_per_worker_batch: Batch = Field(
        128, description="Small batch per worker; without it at most half of the large one."
    )
    large_per_worker_batch: Batch | None = Field(
        None, description="Large batch per worker; null: the largest that Q1 found to fit."
    )
    min_updates_per_epoch: Steps = Field(
        1, description="The largest batch is cut so that an epoch keeps this many updates."
    )
    epochs: Epochs = Field(5, description="Epochs of training; the last one is compared.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    remedies: Annotated[tuple[Remedy, ...], Field(min_length=2), DISTINCT] = Field(
        tuple(REMEDIES),
        description="Remedies to run at the large batch; without it those that the network can "
        "have: zero_gamma and zero_gamma_alone (without warm-up) need residual blocks.",
    )
    warmup_epochs: EpochsFloat = Field(
        2.0,
        description="Length of the gradual warm-up, in epochs; without it two fifths of `epochs`.",
    )
    more_epochs: Epochs = Field(
        15, description="Epochs of the remedy more_epochs; without it three times `epochs`."
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return the remedies that the network can have, and lengths by that of the training."""
        samples = train_samples(config.data)
        small = self.small_per_worker_batch
        if self.large_per_worker_batch is not None:
            small = min(small, self.large_per_worker_batch // 2)
        elif samples is not None:  # a large batch of twice that is to fit
            small = min(small, samples // (2 * self.workers * self.min_updates_per_epoch))
        return {
            "small_per_worker_batch": small,
            "remedies": tuple(one for one in self.remedies if REMEDIES[one].possible(config)),
            "warmup_epochs": 0.4 * self.epochs,
            "more_epochs": 3 * self.epochs,
        }

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the small batch, and the large one where it is known."""
        yield "small_per_worker_batch", self.workers, self.small_per_worker_batch
        if self.large_per_worker_batch:
            yield "large_per_worker_batch", self.workers, self.large_per_worker_batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """A remedy that the network cannot have, and a large batch that is none."""
        if "more_epochs" in self.remedies and self.more_epochs <= self.epochs:
            yield (
                "large_batch.more_epochs",
                f"is no more than large_batch.epochs = {self.epochs}; the least valid is "
                f"{self.epochs + 1}",
            )
        large = self.large_per_worker_batch
        if large is not None and large <= self.small_per_worker_batch:
            yield (
                "large_batch.large_per_worker_batch",
                f"is no more than the small one of {self.small_per_worker_batch}; give a larger "
                "one, or null for the largest that fits",
            )
        network = "own.file" if config.own else config.model.name
        for name in self.remedies:
            if not REMEDIES[name].possible(config):
                yield (
                    "large_batch.remedies",
                    f"{name} needs residual blocks and {network} has none; leave it out",
                )
        if self.large_per_worker_batch is None and config.section("sweep") is None:
            yield (
                "large_batch.large_per_worker_batch",
                "null asks for the largest batch that Q1 finds, and sweep is null; give a number",
            )
        samples, least = (
            train_samples(config.data),
            self.workers * (self.small_per_worker_batch + 1),
        )
        if large is None and samples is not None and samples < least * self.min_updates_per_epoch:
            most = samples // least
            yield (
                "large_batch.min_updates_per_epoch",
                f"leaves no batch above the small one of {self.small_per_worker_batch} a worker; "
                + (
                    f"the largest valid is {most}"
                    if most
                    else "set large_batch.small_per_worker_batch lower"
                ),
            )


SECTIONS = {
    "large_batch": (
        LargeBatchConfig | None,
        Field(LargeBatchConfig(), description="Q4: large batches and remedies."),
    )
}
