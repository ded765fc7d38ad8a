"""Section of the configuration that describes the study S1."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from dpscale.config.checks import one_network
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
)

SearchOptimizer = Literal["sgd", "momentum", "nesterov"]
Share = Annotated[float, Field(gt=0, lt=1)]


class SearchedModel(Section):
    """A network of S1: what it must reach, and with which optimisers."""

    name: ModelName | None = Field(
        None, description="Name of the network; null: that of the configuration, or your own."
    )
    goal_error_frac: Share = Field(description="Validation error that a trial must reach.")
    optimizers: Annotated[tuple[SearchOptimizer, ...], Field(min_length=1)] = Field(
        ("sgd", "momentum", "nesterov"), description="Optimisers, each searched by itself."
    )
    batch_sizes: Counts | None = Field(
        None, description="Batch sizes of this network; null: those of the study."
    )

    def network(self, config: Config) -> str:
        """Return the name of the network."""
        return self.name or config.model.name


class SearchSpace(Section):
    """Where the metaparameters are looked for, both on logarithmic axes."""

    effective_lr_low: PositiveFloat = Field(
        0.01, description="Least effective learning rate lr/(1 - momentum)."
    )
    effective_lr_high: PositiveFloat = Field(
        100.0, description="Largest effective learning rate lr/(1 - momentum)."
    )
    momentum_rest_low: Share = Field(
        0.01, description="Least 1 - momentum; the largest is 1, no momentum at all."
    )

    @field_validator("effective_lr_high")
    @classmethod
    def _above_the_least(cls, value: float, info: ValidationInfo) -> float:
        if value <= info.data.get("effective_lr_low", 0):
            raise ValueError("must be above effective_lr_low")
        return value


class Budget(Section):
    """When a trial that has not reached the goal ends."""

    max_steps: PositiveInt = Field(4000, description="Steps of a trial at most.")
    max_epochs: PositiveInt = Field(400, description="Epochs of a trial at most.")
    patience: Annotated[float, Field(ge=1)] = Field(
        3.0, description="A search ends at this multiple of the steps of the first trial that "
        "reached the goal, or as soon as there are enough finalists."
    )  # fmt: skip
    evaluation_samples: PositiveInt = Field(
        32, description="Training samples from one evaluation to the next, one step at least."
    )


class NoiseScale(Section):
    """Where the gradient noise scale is measured, along the repeats of a winner."""

    batch: PositiveInt = Field(32, description="Batch size of the training it is measured in.")
    points: Annotated[int, Field(ge=1)] = Field(5, description="Points between start and goal.")
    samples: Annotated[int, Field(ge=16)] = Field(1024, description="Training samples used.")


class Search(Section):
    """What a search run (S1) looks for, at each of its batch sizes anew."""

    optimizer: SearchOptimizer
    batch_sizes: tuple[PositiveInt, ...]
    goal_error_frac: float
    trials: PositiveInt
    space: SearchSpace
    budget: Budget
    finalists: PositiveInt
    selection_seeds: tuple[int, ...]
    stacked_samples: PositiveInt
    noise: NoiseScale
    expected: str = Field("", description="The outcome expected, stated before the run.")


class StepsToGoalConfig(StudySection):
    """S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

    of_accuracy: ClassVar[bool] = True
    tries: ClassVar[str] = "stacked"

    expected: str = Field("", description="The outcome expected, stated before the run.")
    models: Annotated[tuple[SearchedModel, ...], Field(min_length=1)] = Field(
        (
            SearchedModel(name="mlp", goal_error_frac=0.05),
            SearchedModel(name="softmax", goal_error_frac=0.06),
        ),
        description="Networks with their goals.",
    )
    batch_sizes: Counts = Field(
        (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), description="Batch sizes, the training set's "
        "size at most."
    )  # fmt: skip
    validation_frac: Fraction = Field(
        0.28,
        description="Share of the training images that decides when the goal is reached; "
        "your own dataset splits itself.",
    )
    trials: Annotated[int, Field(ge=2)] = Field(
        80, description="Quasi-random points of the search at each batch size."
    )
    space: SearchSpace = Field(SearchSpace(), description="The search space.")
    budget: Budget = Field(Budget(), description="Budget of a trial.")
    finalists: PositiveInt = Field(
        6, description="Best trials of a search that are trained with more seeds before one wins."
    )
    selection_seeds: Seeds = Field(
        (100, 101, 102, 103),
        description="Seeds of the search: the first trains all trials, the others the finalists.",
    )
    seeds: Seeds = Field(
        tuple(range(10)), description="Seeds of the winner's repeats, the ones reported."
    )
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="Weight decay.")
    stacked_samples: PositiveInt = Field(
        4096, description="Samples that a stack of trials trains on in a step; at large batches "
        "there are more stacks of fewer trials, whose activations stay in the caches, and none "
        "where but a few would fit. 1: none at all. Fewer where networks need much memory."
    )  # fmt: skip
    noise: NoiseScale = Field(NoiseScale(), description="The gradient noise scale.")

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what a stack of trainings, which the study makes, has no use for."""
        return (
            *STACKED,
            Unfollowed("fused", True, "updates the trials of a stack by an SGD of its own"),
        )

    def problems(self, config: Config) -> Iterator[Problem]:
        """Networks named twice, no data to choose by, and batches beyond the dataset."""
        for place, model in enumerate(self.models):
            yield from one_network(config, f"steps_to_goal.models.{place}.name", model.name)
        if len({model.network(config) for model in self.models}) < len(self.models):
            said = "names a network twice; give each all its optimisers at once"
            yield "steps_to_goal.models", said
        if set(self.seeds) & set(self.selection_seeds):
            yield "steps_to_goal.seeds", "shares seeds with selection_seeds; a winner needs others"
        if self.validation_frac == 0 and not config.own:
            said = "leaves nothing to choose by; the default is 0.28"
            yield "steps_to_goal.validation_frac", said
        data = config.data.model_copy(update={"validation_frac": self.validation_frac})
        samples = train_samples(data)
        own = {f".models.{place}": model.batch_sizes for place, model in enumerate(self.models)}
        for key, batches in ({"": self.batch_sizes} | own).items():
            if samples is not None and batches and max(batches) > samples:
                yield (
                    f"steps_to_goal{key}.batch_sizes",
                    f"{max(batches)} is more than the {samples:,} training images of "
                    f"{config.data.dataset} without those for validation; the largest power of two "
                    f"is {1 << (samples.bit_length() - 1)}",
                )


SECTIONS = {
    "steps_to_goal": (
        StepsToGoalConfig | None,
        Field(None, description="S1: steps to a goal error against the batch size."),
    ),
}
