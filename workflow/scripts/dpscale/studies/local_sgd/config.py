"""Section of the configuration that describes the study S4, and the protocol of its runs."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, field_validator

from dpscale.config.checks import one_network, without_momentum
from dpscale.config.datasets import train_samples
from dpscale.config.root import STACKED, Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    Counts,
    Fraction,
    ModelName,
    PositiveFloat,
    PositiveInt,
    Section,
    Seeds,
    Workers,
    distinct,
)

Fractions = Annotated[tuple[Fraction, ...], Field(min_length=1), AfterValidator(distinct)]
Factors = Annotated[tuple[PositiveFloat, ...], Field(min_length=1), AfterValidator(distinct)]


class LocalArm(Section):
    """One way of training: how often the learners average, and from which epoch on."""

    name: str = Field(description="Name of the arm: A1 to A5.")
    local_steps: PositiveInt = Field(1, description="Local steps H from average to average.")
    local_from_epoch: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Epochs of mini-batch SGD before the local steps; null: no local steps."
    )


class LocalProtocol(Section):
    """What one run of S4 trains: the arms of one batch and one rate, in one regime.

    The first arm chooses the rate of all. Learners are spread evenly over the workers; the other
    settings are those of LocalSgdConfig.
    """

    expected: str = ""
    learners: PositiveInt
    arms: Annotated[tuple[LocalArm, ...], Field(min_length=1)]
    rate_factors: Factors
    rate_extensions: Annotated[int, Field(ge=0)] = 0
    tuning_seeds: Seeds
    label_noise_frac: Fraction
    evaluate_epochs: PositiveInt


class LocalSgdConfig(StudySection):
    """S4: local and post-local SGD."""

    of_accuracy: ClassVar[bool] = True
    tries: ClassVar[str] = "stacked"

    expected: str = Field("", description="The outcome expected, stated before the run.")
    model: ModelName | None = Field("mlp", description="Network; null: that of the configuration.")
    workers: Workers = Field(16, description="Learners K of the large batch and of local SGD.")
    processes: PositiveInt = Field(
        1, description="Processes that the learners are spread over; 1 stacks all on one device."
    )
    per_worker_batch: PositiveInt = Field(8, description="Batch b of one learner.")
    small_workers: PositiveInt = Field(2, description="Learners of the small mini-batch A1.")
    huge_factor: PositiveInt = Field(
        4, description="A3's batch per learner over b: with A4's H, as many rounds an epoch."
    )
    local_steps: PositiveInt = Field(4, description="Local steps H of local SGD, A4.")
    post_local_steps: Counts = Field((16,), description="Local steps H of post-local SGD, A5.")
    base_lr: PositiveFloat = Field(
        0.02, description="Rate of one learner's batch b; scaled linearly with the global batch."
    )
    rate_factors: Factors = Field(
        (1.0,),
        description="Shares of the linearly scaled rate to try; the accuracy on validation data "
        "chooses, for each batch and regime. A5 takes the rate of A2.",
    )
    rate_extensions: Annotated[int, Field(ge=0)] = Field(
        4, description="Further shares to try at most, beyond the end at which the best one is."
    )
    tuning_seeds: Seeds = Field((100,), description="Seeds of the trainings that choose.")
    momentum: Fraction = Field(0.9, description="Momentum of each learner's own SGD.")
    nesterov: bool = Field(True, description="Nesterov's form of the momentum.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(1e-4, description="Weight decay.")
    warmup_epochs: Annotated[float, Field(ge=0)] = Field(
        5.0, description="Gradual warm-up from the rate of one learner's batch, in epochs."
    )
    epochs: PositiveInt = Field(100, description="Epochs of training.")
    decay_epochs: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = Field(
        (50, 75), description="Epochs at which the rate falls; A5 goes local at the first."
    )
    decay_factor: PositiveFloat = Field(0.1, description="Factor of each fall of the rate.")
    label_noise_fracs: Fractions = Field(
        (0.0, 0.2), description="Regimes: share of training labels replaced by a wrong one."
    )
    augment: bool = Field(True, description="Random crops, and flips where they make sense.")
    evaluate_epochs: PositiveInt = Field(5, description="Epochs from evaluation to evaluation.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")

    @field_validator("decay_epochs")
    @classmethod
    def _ascending(cls, epochs: tuple[int, ...]) -> tuple[int, ...]:
        if list(epochs) != sorted(set(epochs)):
            raise ValueError("name the epochs in ascending order, each once")
        return epochs

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the number of processes."""
        yield "processes", self.processes

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what a stack of trainings, which the study makes, has no use for."""
        return STACKED

    def problems(self, config: Config) -> Iterator[Problem]:
        """Rates that never fall, learners unevenly spread, and batches beyond the dataset."""
        samples = train_samples(config.data)
        yield from one_network(config, "local_sgd.model", self.model)
        if config.own and any(self.label_noise_fracs):
            yield (
                "local_sgd.label_noise_fracs",
                "nobody knows what a wrong target of own.file is; the nearest valid is [0.0]",
            )
        if config.own and self.augment:
            yield "local_sgd.augment", "your own dataset augments its samples; set it to false"
        if self.nesterov and not self.momentum:
            yield "local_sgd.nesterov", without_momentum("local_sgd")
        if self.decay_epochs[-1] >= self.epochs:
            yield (
                "local_sgd.decay_epochs",
                f"{self.decay_epochs[-1]} is not before the end; the latest valid is "
                f"{self.epochs - 1} of local_sgd.epochs = {self.epochs}",
            )
        if self.workers % self.processes:
            yield (
                "local_sgd.processes",
                f"{self.workers} learners do not spread evenly over {self.processes} processes; "
                f"the nearest valid is {math.gcd(self.workers, self.processes)}",
            )
        if config.data.validation_frac == 0 and len(self.rate_factors) > 1 and not config.own:
            yield (
                "local_sgd.rate_factors",
                "needs validation data to choose; set data.validation_frac",
            )
        huge = self.workers * self.per_worker_batch * self.huge_factor
        if samples is not None and huge > samples:
            yield (
                "local_sgd.per_worker_batch",
                f"a huge batch of {huge:,} exceeds the {samples:,} training images of "
                f"{config.data.dataset}; the largest valid is "
                f"{samples // (self.workers * self.huge_factor)}",
            )


SECTIONS = {
    "local_sgd": (
        LocalSgdConfig | None,
        Field(None, description="S4: local and post-local SGD."),
    ),
}
