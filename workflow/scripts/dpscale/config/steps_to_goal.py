"""Section of the configuration that describes the study S1."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from dpscale.config.sections import Fraction, ModelName, PositiveFloat, PositiveInt, Section
from dpscale.config.studies import Counts, Seeds

SearchOptimizer = Literal["sgd", "momentum", "nesterov"]
Share = Annotated[float, Field(gt=0, lt=1)]


class SearchedModel(Section):
    """A network of S1: what it must reach, and with which optimisers."""

    name: ModelName = Field(description="Name of the network.")
    goal_error_frac: Share = Field(description="Validation error that a trial must reach.")
    optimizers: Annotated[tuple[SearchOptimizer, ...], Field(min_length=1)] = Field(
        ("sgd", "momentum", "nesterov"), description="Optimisers, each searched by itself."
    )
    batch_sizes: Counts | None = Field(
        None, description="Batch sizes of this network; null: those of the study."
    )


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
        3.0,
        description="A search ends at this multiple of the steps of the first trial that reached "
        "the goal, or as soon as there are enough finalists.",
    )
    evaluation_samples: PositiveInt = Field(
        32, description="Training samples from one evaluation to the next, one step at least."
    )


class NoiseScale(Section):
    """Where the gradient noise scale is measured, along the repeats of a winner."""

    batch: PositiveInt = Field(32, description="Batch size of the training it is measured in.")
    points: Annotated[int, Field(ge=1)] = Field(5, description="Points between start and goal.")
    samples: Annotated[int, Field(ge=16)] = Field(1024, description="Training samples used.")


class StepsToGoalConfig(Section):
    """S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

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
        0.28, description="Share of the training images that decides when the goal is reached."
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
        4096,
        description="Samples that a stack of trials trains on in a step; at large batches there "
        "are more stacks of fewer trials, whose activations stay in the caches, and none where "
        "but a few would fit. 1: none at all.",
    )
    noise: NoiseScale = Field(NoiseScale(), description="The gradient noise scale.")
