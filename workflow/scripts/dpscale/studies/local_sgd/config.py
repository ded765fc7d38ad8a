"""Section of the configuration that describes the study S4, and the protocol of its runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from dpscale.config.bounds import ASCENDING, DISTINCT
from dpscale.config.checks import needs_validation, one_network, without_momentum
from dpscale.config.root import STACKED, Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    MOST_EPOCHS,
    Batch,
    Counts,
    Devices,
    Epochs,
    EpochsFloat,
    Fraction,
    ModelName,
    PositiveInt,
    Processes,
    Rate,
    Samples,
    Section,
    Seeds,
    Share,
    Text,
    WeightDecay,
    Workers,
)
from dpscale.plan.spec import RunProtocol

Fractions = Annotated[tuple[Fraction, ...], Field(min_length=1, max_length=100), DISTINCT]
Factors = Annotated[tuple[Rate, ...], Field(min_length=1, max_length=100), DISTINCT]
Falls = Annotated[tuple[Epochs, ...], Field(min_length=1, max_length=100), ASCENDING]


class LocalArm(Section):
    """One way of training: how often the learners average, and from which epoch on."""

    name: str = Field(description="Name of the arm: A1 to A5.")
    local_steps: PositiveInt = Field(1, description="Local steps H from average to average.")
    local_from_epoch: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Epochs of mini-batch SGD before the local steps; null: no local steps."
    )


class LocalProtocol(RunProtocol):
    """What one run of S4 trains: the arms of one batch and one rate, in one regime.

    The first arm chooses the rate of all. Learners are spread evenly over the workers; the other
    settings are those of LocalSgdConfig.
    """

    columns: ClassVar = ("expected",)

    expected: str = ""
    learners: PositiveInt
    arms: Annotated[tuple[LocalArm, ...], Field(min_length=1)]
    rate_factors: Factors
    rate_extensions: Annotated[int, Field(ge=0)] = 0
    tuning_seeds: Seeds
    label_noise_frac: Fraction
    evaluate_epochs: PositiveInt
    stacked_samples: PositiveInt = 1


class LocalSgdConfig(StudySection):
    """S4: local and post-local SGD."""

    of_accuracy: ClassVar[bool] = True
    tries: ClassVar[str] = "stacked"

    expected: Text = Field("", description="The outcome expected, stated before the run.")
    model: ModelName | None = Field(
        "mlp",
        description="Network; null: that of the configuration, as for your own without this key.",
    )
    workers: Workers = Field(16, description="Learners K of the large batch and of local SGD.")
    processes: Devices = Field(
        1, description="Processes that the learners are spread over; 1 stacks all on one device."
    )
    per_worker_batch: Batch = Field(
        8, description="Batch b of one learner; without it at most what the data fill."
    )
    small_workers: Devices = Field(
        2, description="Learners of the small mini-batch A1, fewer than `workers`; at least 1."
    )
    huge_factor: Batch = Field(
        4, description="A3's batch per learner over b: with A4's H, as many rounds an epoch."
    )
    local_steps: Batch = Field(4, description="Local steps H of local SGD, A4.")
    post_local_steps: Counts = Field((16,), description="Local steps H of post-local SGD, A5.")
    base_lr: Rate = Field(
        0.02, description="Rate of one learner's batch b; scaled linearly with the global batch."
    )
    rate_factors: Factors = Field(
        (1.0,),
        description="Shares of the linearly scaled rate to try; the accuracy on validation data "
        "chooses, for each batch and regime. A5 takes the rate of A2.",
    )
    rate_extensions: Processes = Field(
        4, description="Further shares to try at most, beyond the end at which the best one is."
    )
    tuning_seeds: Seeds = Field((100,), description="Seeds of the trainings that choose.")
    momentum: Fraction = Field(0.9, description="Momentum of each learner's own SGD.")
    nesterov: bool = Field(
        True, description="Nesterov's form of the momentum; without it, where there is momentum."
    )
    weight_decay: WeightDecay = Field(1e-4, description="Weight decay.")
    warmup_epochs: EpochsFloat = Field(
        5.0,
        description="Gradual warm-up from the rate of one learner's batch, in epochs; without it a "
        "twentieth of `epochs`.",
    )
    epochs: Annotated[int, Field(ge=2), MOST_EPOCHS] = Field(100, description="Epochs of training.")
    decay_epochs: Falls = Field(
        (50, 75),
        description="Epochs at which the rate falls; A5 goes local at the first. Without it after "
        "half and three quarters of them.",
    )
    decay_factor: Share = Field(0.1, description="Factor of each fall of the rate.")
    label_noise_fracs: Fractions = Field(
        (0.0, 0.2),
        description="Regimes: share of training labels replaced by a wrong one; your own data have "
        "0 alone, and without this key.",
    )
    augment: bool = Field(
        True,
        description="Random crops, and flips where they make sense; without it, where the data are "
        "not your own.",
    )
    evaluate_epochs: Epochs = Field(
        5, description="Epochs from evaluation to evaluation; without it at most `epochs`."
    )
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    stacked_samples: Samples = Field(
        8192,
        description="Samples that the seeds of a stack train on in a step, side by side; seeds for "
        "which there is no room have stacks of their own. 1: each has.",
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return what data, a training of your own and the epochs leave of the defaults."""
        falls = (share * self.epochs // 4 for share in (2, 3))
        return {
            "model": None if config.own else self.model,
            "small_workers": min(self.small_workers, self.workers - 1),
            "nesterov": self.momentum > 0,
            "warmup_epochs": self.epochs / 20,
            "decay_epochs": tuple(sorted({one for one in falls if 0 < one < self.epochs})),
            "label_noise_fracs": (0.0,) if config.own else self.label_noise_fracs,
            "augment": config.own is None,
            "evaluate_epochs": min(self.evaluate_epochs, self.epochs),
        }

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the number of processes."""
        yield "processes", self.processes

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the huge batch of all learners."""
        yield "per_worker_batch", self.workers * self.huge_factor, self.per_worker_batch

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what a stack of trainings, which the study makes, has no use for."""
        return STACKED

    def problems(self, config: Config) -> Iterator[Problem]:
        """What your own training cannot have, and learners too few or unevenly spread."""
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
        if self.small_workers >= self.workers:
            yield (
                "local_sgd.small_workers",
                f"is no fewer than local_sgd.workers = {self.workers}; the largest valid is "
                f"{self.workers - 1}",
            )
        if self.evaluate_epochs > self.epochs:
            yield "local_sgd.evaluate_epochs", f"the training has {self.epochs}; use at most those"
        if self.workers % self.processes:
            yield (
                "local_sgd.processes",
                f"{self.workers} learners do not spread evenly over {self.processes} processes; "
                f"the nearest valid is {math.gcd(self.workers, self.processes)}",
            )
        if len(self.rate_factors) > 1:
            yield from needs_validation(config, "local_sgd.rate_factors")


SECTIONS = {
    "local_sgd": (LocalSgdConfig | None, Field(None, description="S4: local and post-local SGD."))
}
