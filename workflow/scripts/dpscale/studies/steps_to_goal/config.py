"""Section of the configuration that describes the study S1."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT, at_most
from dpscale.config.checks import one_network
from dpscale.config.goal import Budget, Goal
from dpscale.config.root import STACKED, Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    MOST_SAMPLES,
    Batch,
    Batches,
    DataConfig,
    Fraction,
    ModelName,
    PositiveInt,
    Rate,
    Repeats,
    Samples,
    Section,
    Seeds,
    Share,
    Text,
    WeightDecay,
)
from dpscale.plan.spec import RunProtocol

SearchOptimizer = Literal["sgd", "momentum", "nesterov"]
MOST_TRIALS = at_most(10_000, "no search gains by more")


class SearchedModel(Section):
    """A network of S1: what it must reach, and with which optimisers."""

    name: ModelName | None = Field(
        None, description="Name of the network; null: that of the configuration, or your own."
    )
    goal_error_frac: Share = Field(description="Validation error that a trial must reach.")
    optimizers: Annotated[tuple[SearchOptimizer, ...], Field(min_length=1), DISTINCT] = Field(
        ("sgd", "momentum", "nesterov"), description="Optimisers, each searched by itself."
    )
    batch_sizes: Batches | None = Field(
        None, description="Batch sizes of this network; null: those of the study."
    )

    def network(self, config: Config) -> str:
        """Return the name of the network."""
        return self.name or config.model.name


class SearchSpace(Section):
    """Where the metaparameters are looked for, both on logarithmic axes."""

    effective_lr_low: Rate = Field(
        0.01, description="Least effective learning rate lr/(1 - momentum)."
    )
    effective_lr_high: Rate = Field(
        100.0, description="Largest effective learning rate lr/(1 - momentum)."
    )
    momentum_rest_low: Annotated[Share, Field(ge=1e-6)] = Field(
        0.01, description="Least 1 - momentum; the largest is 1, no momentum at all."
    )


class NoiseScale(Section):
    """Where the gradient noise scale is measured, along the repeats of a winner."""

    batch: Batch = Field(32, description="Batch size of the training it is measured in.")
    points: Repeats = Field(5, description="Points between start and goal.")
    samples: Annotated[int, Field(ge=16), MOST_SAMPLES] = Field(
        1024, description="Training samples used; all, where there are fewer."
    )


class Search(RunProtocol):
    """What a search run (S1) looks for, at each of its batch sizes anew."""

    columns: ClassVar = ("optimizer", "expected")

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
    needs_correct: ClassVar[bool] = True

    expected: Text = Field("", description="The outcome expected, stated before the run.")
    models: Annotated[tuple[SearchedModel, ...], Field(min_length=1, max_length=100)] = Field(
        (
            SearchedModel(name="mlp", goal_error_frac=0.05),
            SearchedModel(name="softmax", goal_error_frac=0.06),
        ),
        description="Networks with their goals; your own training has to have one.",
    )
    batch_sizes: Batches = Field(
        (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        description="Batch sizes, the training set's size at most; without it those of these.",
    )
    validation_frac: Fraction = Field(
        0.28,
        description="Share of the training images that decides when the goal is reached; "
        "your own dataset splits itself.",
    )
    trials: Annotated[int, Field(ge=2), MOST_TRIALS] = Field(
        80, description="Quasi-random points of the search at each batch size."
    )
    space: SearchSpace = Field(SearchSpace(), description="The search space.")
    budget: Budget = Field(Budget(), description="Budget of a trial.")
    finalists: Annotated[int, Field(ge=1), MOST_TRIALS] = Field(
        6,
        description="Best trials of a search that are trained with more seeds before one wins; "
        "without it at most all.",
    )
    selection_seeds: Seeds = Field(
        (100, 101, 102, 103),
        description="Seeds of the search: the first trains all trials, the others the finalists. "
        "Without it those of these that `seeds` does not have.",
    )
    seeds: Seeds = Field(
        tuple(range(10)),
        description="Seeds of the winner's repeats, the ones reported; without it those of these "
        "that selection_seeds does not have.",
    )
    weight_decay: WeightDecay = Field(0.0, description="Weight decay.")
    stacked_samples: Samples = Field(
        4096,
        description="Samples that a stack of trials trains on in a step; at large batches "
        "there are more stacks of fewer trials, whose activations stay in the caches, and none "
        "where but a few would fit. 1: none at all. Fewer where networks need much memory.",
    )
    noise: NoiseScale = Field(NoiseScale(), description="The gradient noise scale.")
    equivalent_factor: Annotated[float, Field(gt=1), at_most(100, "any two are the same")] = Field(
        2.0,
        description="Critical batch sizes of two networks, and steps with two optimisers at the "
        "smallest batch sizes, are the same where the whole interval of their ratio is within this "
        "factor of 1; batch sizes are searched in steps of two.",
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return no more finalists than trials, and no seed for two ends."""
        return {
            "finalists": min(self.finalists, self.trials),
            "seeds": tuple(one for one in self.seeds if one not in self.selection_seeds),
            "selection_seeds": tuple(one for one in self.selection_seeds if one not in self.seeds),
        }

    def data(self, config: Config) -> DataConfig:
        """Return the data with the study's share for validation."""
        update = {"validation_frac": self.validation_frac, "augment": False}
        return config.data.model_copy(update=update)

    def goals(self, config: Config) -> Sequence[Goal]:
        """Return the goal of each network."""
        return [
            Goal(
                model.name,
                model.network(config),
                model.goal_error_frac,
                model.optimizers,
                model.batch_sizes or self.batch_sizes,
                self.budget,
                self.weight_decay,
                self.data(config),
            )
            for model in self.models
        ]

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the largest batch of the study, and those of networks with their own."""
        if any(model.batch_sizes is None for model in self.models):
            yield "batch_sizes", 1, max(self.batch_sizes)
        for place, model in enumerate(self.models):
            if model.batch_sizes:
                yield f"models.{place}.batch_sizes", 1, max(model.batch_sizes)

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what a stack of trainings, which the study makes, has no use for."""
        return (
            *STACKED,
            Unfollowed("fused", True, "updates the trials of a stack by an SGD of its own"),
        )

    def problems(self, config: Config) -> Iterator[Problem]:
        """Networks named twice, no data to choose by, and a search without space or trials."""
        if config.own and self.models == _default("models"):
            said = "your own training needs a goal, for example models: [{goal_error_frac: 0.1}]"
            yield "steps_to_goal.models", said
            return
        if config.own and self.validation_frac != _default("validation_frac"):
            said = "your own dataset splits itself; leave it out"
            yield "steps_to_goal.validation_frac", said
        low, high = self.space.effective_lr_low, self.space.effective_lr_high
        if high <= low:
            yield "steps_to_goal.space.effective_lr_high", f"must be above effective_lr_low = {low}"
        if self.finalists > self.trials:
            said = f"there are {self.trials} trials; use at most those"
            yield "steps_to_goal.finalists", said
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


def _default(field: str) -> object:
    return StepsToGoalConfig.model_fields[field].default


SECTIONS = {
    "steps_to_goal": (
        StepsToGoalConfig | None,
        Field(None, description="S1: steps to a goal error against the batch size."),
    )
}
