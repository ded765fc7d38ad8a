"""Section of the configuration that describes the study S3, and the protocols of its runs.

A run's spec holds one of the protocols: all that the run needs of the section, and nothing more.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT
from dpscale.config.checks import needs_validation, one_network
from dpscale.config.datasets import train_samples
from dpscale.config.root import STACKED, Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    Batch,
    DecayEpochs,
    Devices,
    Epochs,
    Fraction,
    Launches,
    ModelName,
    NotNegative,
    PositiveFloat,
    PositiveInt,
    Rate,
    Rates,
    Repeats,
    Seconds,
    Section,
    Seeds,
    Share,
    Steps,
    Text,
    WeightDecay,
    Workers,
)
from dpscale.plan.spec import RunProtocol

Alpha = Literal["1/k"] | Annotated[float, Field(gt=0, le=1)]
Alphas = Annotated[tuple[Alpha, ...], Field(min_length=1, max_length=100), DISTINCT]
Algorithm = Literal["sgd", "sma"]
DEALT = ("learners", "per_learner_batch")  # to the workers, evenly


class AveragingArm(Section):
    """One way to train on the same samples: synchronous SGD, or model averaging."""

    name: str = Field(description="Name of the arm.")
    role: Literal["arm", "rate"] = Field("arm", description="A result, or a rate on trial.")
    algorithm: Algorithm
    learners: PositiveInt = Field(description="Models in training; 1 for synchronous SGD.")
    batch: PositiveInt = Field(description="Samples of one step of one learner.")
    lr: PositiveFloat
    alpha: float | None = Field(None, description="Weight of a correction; null: none is made.")
    tau: PositiveInt | None = Field(None, description="Steps from one averaging to the next.")


class AveragingProtocol(RunProtocol):
    """A run of kind `averaging`: its arms, trained in turn, and how they are judged."""

    columns: ClassVar = ("expected",)

    expected: str
    arms: tuple[AveragingArm, ...]
    evaluations_per_epoch: PositiveInt
    target_accuracy_frac: Share
    median_of: PositiveInt


class LearnersProtocol(RunProtocol):
    """A run of kind `learners`: throughput against the number of learners on one device."""

    max_learners: PositiveInt
    threshold_frac: float
    repeats: PositiveInt
    repeat_s: PositiveFloat


class LearnersCell(Section):
    """A model and a batch whose number of learners is tuned."""

    model: ModelName | None = Field(description="Network; null: that of the configuration.")
    batch: Batch = Field(description="Batch of one learner.")


class ModelAveragingConfig(StudySection):
    """S3: synchronous model averaging with several learners a device."""

    of_accuracy: ClassVar[bool] = True
    tries: ClassVar[str] = "stacked"

    expected: Text = Field("", description="The outcome expected, stated before the run.")
    model: ModelName | None = Field(
        "mlp",
        description="Network of the trainings; null: that of the configuration, as for your own "
        "without this key.",
    )
    workers: Devices = Field(1, description="Processes that the learners are spread over.")
    learners: Workers = Field(
        8, description="Number of learners k; without it one that the workers share evenly."
    )
    per_learner_batch: Batch = Field(
        16,
        description="Small batch b of one learner; without it one that the workers share evenly, "
        "and at most what the data fill.",
    )
    lr: Rate = Field(
        0.02, description="Rate of synchronous SGD with the small batch; every arm has it too."
    )
    averaging_lr: Rate = Field(
        0.2, description="Rate of the model averaging whose rate was chosen for itself."
    )
    rates: Rates = Field(
        (), description="Rates tried on validation data, to judge lr; empty: none."
    )
    averaging_rates: Rates = Field(
        (), description="Rates tried on validation data, to judge averaging_lr; empty: none."
    )
    rate_seeds: Seeds = Field((100, 101), description="Seeds of the trainings that try rates.")
    rate_epochs: Epochs = Field(10, description="Epochs of the trainings that try rates.")
    momentum: Fraction = Field(
        0.9, description="Momentum of synchronous SGD, and of the central model."
    )
    weight_decay: WeightDecay = Field(1e-4, description="Weight decay.")
    alphas: Alphas = Field(("1/k", 0.1), description="Weights of the corrections.")
    tau: Steps = Field(1, description="Steps from one averaging to the next.")
    epochs: Epochs = Field(30, description="Epochs of each training.")
    decay_epochs: DecayEpochs = Field(
        (), description="Epochs at which the rate drops and model averaging restarts."
    )
    decay_factor: Share = Field(0.1, description="Factor of each drop.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    evaluations_per_epoch: Steps = Field(1, description="Evaluations of an epoch.")
    target_accuracy_frac: Share = Field(0.95, description="Test accuracy to be reached.")
    median_of: Steps = Field(
        5,
        description="The target counts as reached by the median of so many last evaluations; "
        "without it of all where there are fewer.",
    )
    cells: Annotated[tuple[LearnersCell, ...], Field(max_length=100)] = Field(
        (), description="Models and batches whose number of learners is tuned; empty: none."
    )
    max_learners: Workers = Field(8, description="Most learners on a device that the tuning tries.")
    threshold_frac: NotNegative = Field(
        0.05, description="A further learner must raise throughput by this share."
    )
    launches: Launches | None = Field(
        None,
        description="Launches in which numbers of learners are timed; null: as many as of other "
        "timed cells.",
    )
    repeats: Repeats = Field(
        4,
        description="Timed repeats of each number in a launch, in turns: the pace of a machine "
        "drifts, so four short ones tell more than one as long as all of them.",
    )
    repeat_s: Seconds = Field(0.025, description="Least length of a repeat, seconds.")

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return your own network, shares of the workers, no more evaluations than there are."""
        evaluations = self.evaluations_per_epoch * self.epochs
        dealt = {key: _dealt(getattr(self, key), self.workers) for key in DEALT}
        return dealt | {
            "model": None if config.own else self.model,
            "median_of": min(self.median_of, evaluations),
        }

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the batch of all learners, and those of one that is tuned."""
        yield "per_learner_batch", self.learners, self.per_learner_batch
        for cell in self.cells:
            yield "cells", 1, cell.batch

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what a stack of trainings, which the study makes, has no use for."""
        return (*STACKED, Unfollowed("nesterov", True, "trains by SGD without Nesterov's form"))

    def problems(self, config: Config) -> Iterator[Problem]:
        """Learners that the workers cannot share evenly, and networks beside a user's own."""
        yield from one_network(config, "model_averaging.model", self.model)
        for place, cell in enumerate(self.cells):
            yield from one_network(config, f"model_averaging.cells.{place}.model", cell.model)
        tuned = [(cell.model or config.model.name, cell.batch) for cell in self.cells]
        if len(set(tuned)) < len(tuned):
            yield "model_averaging.cells", "names a network with a batch twice; leave one out"
        if "1/k" in self.alphas and 1 / self.learners in self.alphas:
            yield "model_averaging.alphas", f"{1 / self.learners} is 1/k; leave one of them out"
        if self.median_of > (evaluations := self.evaluations_per_epoch * self.epochs):
            yield (
                "model_averaging.median_of",
                f"there are {evaluations} evaluations; use at most those",
            )
        for key in DEALT:
            if (count := getattr(self, key)) % self.workers:
                yield (
                    f"model_averaging.{key}",
                    f"cannot be dealt out to {self.workers} workers; the nearest valid is "
                    f"{_dealt(count, self.workers)}",
                )
        if self.rates or self.averaging_rates:
            yield from needs_validation(config, "model_averaging.rates")
        samples, batch = train_samples(config.data), self.learners * self.per_learner_batch
        if samples is None or batch > samples:
            return
        steps = samples // batch
        if self.evaluations_per_epoch > steps:
            words = f"an epoch has {steps} steps; use at most those"
            yield "model_averaging.evaluations_per_epoch", words
        if self.tau > steps * self.epochs:
            words = f"a training has {steps * self.epochs} steps, and would never average"
            yield "model_averaging.tau", words


def _dealt(count: int, workers: int) -> int:
    """The nearest number up to a count that so many workers share evenly."""
    return max(count // workers, 1) * workers


SECTIONS = {
    "model_averaging": (
        ModelAveragingConfig | None,
        Field(None, description="S3: synchronous model averaging with several learners a device."),
    )
}
