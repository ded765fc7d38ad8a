"""Section of the configuration for E2: how many workers, and which batch size."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator

from dpscale.config.root import Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    Counts,
    MemorySize,
    ModelName,
    PositiveFloat,
    PositiveInt,
    Section,
    Seeds,
    Workers,
    distinct,
)

SEARCH = "steps_to_goal"  # the section whose steps are chosen by
Aim = Literal["time", "cost"]


class Limits(Section):
    """What a choice has to keep to; null: no limit."""

    deadline_s: PositiveFloat | None = Field(None, description="Seconds to the goal at most.")
    worker_hours: PositiveFloat | None = Field(
        None, description="Hours of all workers together at most."
    )
    price_per_worker_hour: PositiveFloat | None = Field(
        None, description="Price of a worker's hour, in a currency of your own: costs are shown."
    )
    memory: MemorySize = Field(
        None, description="Memory of a worker, for example 16 GiB, that training has to fit."
    )


class ChooseConfig(StudySection):
    """E2: time and worker-seconds to the goal for every number of workers and batch."""

    of_accuracy: ClassVar[bool] = True

    model: ModelName | None = Field(
        None, description="Network, one of steps_to_goal.models; null: the first of them."
    )
    optimizer: str = Field("momentum", description="Optimiser, one of that network's there.")
    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N to measure, one worker among them."
    )
    per_worker_batches: Counts = Field(
        (4, 8, 16, 32, 64, 128, 256), description="Batches per worker b to measure, at every N."
    )
    predicted_workers: Annotated[tuple[Workers, ...], AfterValidator(distinct)] = Field(
        (8, 16, 32, 64), description="Numbers of workers to predict by the ring model."
    )
    repeats: PositiveInt = Field(5, description="Repeats of each cell in a launch.")
    repeat_s: PositiveFloat = Field(
        0.1, description="Seconds that the steps of a repeat take, about."
    )
    seeds: Seeds = Field(
        (200, 201, 202, 203, 204), description="Seeds of the trainings that check the advice."
    )
    aim: Aim | None = Field(
        None, description="What is made least, time or cost; null: cost where there is a deadline "
        "and no budget of worker_hours, time elsewhere."
    )  # fmt: skip
    limits: Limits = Field(Limits(), description="What the choice has to keep to.")

    @field_validator("workers")
    @classmethod
    def _with_one(cls, workers: tuple[int, ...]) -> tuple[int, ...]:
        if 1 not in workers:
            raise ValueError("needs 1 among them: what more workers gain is over one")
        return workers

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the numbers of workers."""
        for workers in self.workers:
            yield "workers", workers

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the largest batch on the most workers."""
        yield "per_worker_batches", max(self.workers), max(self.per_worker_batches)

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what the search, whose rates are used, does not train with."""
        return (
            Unfollowed("compile", True, "trains as steps_to_goal does, which compiles no network"),
        )

    def searched(self, config: Config) -> Any | None:
        """Return the entry of steps_to_goal.models that is chosen for; None where there is none."""
        models = config.section(SEARCH).models if config.section(SEARCH) else ()
        named = [one for one in models if self.model in (None, one.network(config))]
        return next(iter(named), None)

    def sizes(self, config: Config) -> tuple[int, ...]:
        """Return the global batches whose steps to the goal are searched."""
        found = self.searched(config)
        return found.batch_sizes or config.section(SEARCH).batch_sizes if found else ()

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield what the search does not give: the study, the network, its optimiser, batches."""
        search, found = config.section(SEARCH), self.searched(config)
        if search is None:
            yield "choose", f"takes its steps from {SEARCH}, which is null; ask both, or neither"
        elif found is None:
            names = " or ".join(one.network(config) for one in search.models)
            yield "choose.model", f"{self.model} is not in {SEARCH}.models; there is {names}"
        elif self.optimizer not in found.optimizers:
            names = " or ".join(found.optimizers)
            yield (
                "choose.optimizer",
                f"{self.optimizer} is not searched for {found.network(config)}; there is {names}",
            )
        else:
            sizes = self.sizes(config)
            for workers in self.workers:
                if not any(workers * batch in sizes for batch in self.per_worker_batches):
                    yield (
                        "choose.per_worker_batches",
                        f"none of them times {workers} workers is a batch of {SEARCH}; for "
                        f"example {max(1, max(sizes) // workers)}",
                    )


class GridProtocol(Section):
    """What a run times at one number of workers."""

    per_worker_batches: tuple[PositiveInt, ...]
    repeats: PositiveInt
    repeat_s: float


class GoalProtocol(Section):
    """A training to the goal of the search, by its rules."""

    goal_error_frac: float
    evaluation_samples: PositiveInt
    max_steps: PositiveInt
    max_epochs: PositiveInt
    configured: dict[str, list[dict[str, int | None]]] = Field(
        description="The rows of `limits` as far as they decide what is trained."
    )


SECTIONS = {
    "choose": (
        ChooseConfig | None,
        Field(None, description="E2: how many workers, and which batch size."),
    ),
}
