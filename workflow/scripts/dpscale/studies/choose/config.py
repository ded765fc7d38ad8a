"""Section of the configuration for E2: how many workers, and which batch size."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpscale.config.bounds import DISTINCT, at_most
from dpscale.config.datasets import train_samples
from dpscale.config.goal import Goal
from dpscale.config.root import Config, Problem, StudySection, Unfollowed
from dpscale.config.sections import (
    Batches,
    Counts,
    DataConfig,
    MemorySize,
    ModelName,
    PositiveInt,
    Repeats,
    Seconds,
    Section,
    Seeds,
    Workers,
)
from dpscale.plan.spec import Needs, RunProtocol

SEARCH = "steps_to_goal"  # what messages call the section whose steps are chosen by
Aim = Literal["time", "cost"]
Amount = Annotated[float, Field(gt=0), at_most(10**12, "nobody has so much")]


class Limits(Section):
    """What a choice has to keep to; null: no limit."""

    deadline_s: Amount | None = Field(None, description="Seconds to the goal at most.")
    worker_hours: Amount | None = Field(None, description="Hours of all workers together at most.")
    price_per_worker_hour: Amount | None = Field(
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
    optimizer: str = Field(
        "momentum",
        description="Optimiser, one of that network's there; without it the first, where momentum "
        "is none of them.",
    )
    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N to measure, one worker among them."
    )
    per_worker_batches: Batches = Field(
        (4, 8, 16, 32, 64, 128, 256),
        description="Batches per worker b to measure, at every N; without it those that N makes a "
        "batch of the search of, where these give an N none.",
    )
    predicted_workers: Annotated[tuple[Workers, ...], Field(max_length=100), DISTINCT] = Field(
        (8, 16, 32, 64),
        description="Numbers of workers to predict by the ring model; without it those of these "
        "that are not measured.",
    )
    repeats: Repeats = Field(5, description="Repeats of each cell in a launch.")
    repeat_s: Seconds = Field(0.1, description="Seconds that the steps of a repeat take, about.")
    seeds: Seeds = Field(
        (200, 201, 202, 203, 204), description="Seeds of the trainings that check the advice."
    )
    aim: Aim | None = Field(
        None,
        description="What is made least, time or cost; null: cost where there is a deadline "
        "and no budget of worker_hours, time elsewhere.",
    )
    limits: Limits = Field(Limits(), description="What the choice has to keep to.")
    prediction_factor: Annotated[float, Field(gt=1), at_most(100, "any prediction holds")] = Field(
        2.0,
        description="A predicted time holds where the whole interval of the trained time over it "
        "is within this factor of 1.",
    )

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return what the search and the measured workers leave of the defaults."""
        predicted = tuple(n for n in self.predicted_workers if n not in self.workers)
        found = self.goal(config)
        if found is None:
            return {"predicted_workers": predicted}
        sizes = found.batch_sizes
        each = {size // n for n in self.workers for size in sizes if size % n == 0}
        most = (train_samples(self.data(config)) or math.inf) / max(self.workers)
        fitting = tuple(sorted(batch for batch in each if batch <= most))
        return {
            "optimizer": min(found.optimizers, key=lambda one: one != self.optimizer),
            "per_worker_batches": fitting if self._idle(sizes) else self.per_worker_batches,
            "predicted_workers": predicted,
        }

    def _idle(self, sizes: Sequence[int]) -> list[int]:
        """Numbers of workers that no measured batch makes a batch of the search."""
        return [n for n in self.workers if not any(n * b in sizes for b in self.per_worker_batches)]

    def data(self, config: Config) -> DataConfig:
        """Return the data of the search."""
        goals = config.goals()
        return goals[0].data if goals else config.data

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield the largest batch on the most workers."""
        yield "per_worker_batches", max(self.workers), max(self.per_worker_batches)

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return what the search, whose rates are used, does not train with."""
        return (
            Unfollowed("compile", True, "trains as steps_to_goal does, which compiles no network"),
        )

    def goal(self, config: Config) -> Goal | None:
        """Return the goal of the network that is chosen for; None where none is searched."""
        named = (goal for goal in config.goals() if self.model in (None, goal.network))
        return next(named, None)

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield what the search does not give: the study, the network, its optimiser, batches."""
        goals, found = config.goals(), self.goal(config)
        if not goals:
            yield "choose", f"takes its steps from {SEARCH}, which is null; ask both, or neither"
        elif found is None:
            names = " or ".join(goal.network for goal in goals)
            yield "choose.model", f"is not in {SEARCH}.models; there is {names}"
        elif self.optimizer not in found.optimizers:
            names = " or ".join(found.optimizers)
            yield "choose.optimizer", f"is not searched for {found.network}; there is {names}"
        else:
            sizes = found.batch_sizes
            for workers in self._idle(sizes):
                fitting = [size // workers for size in sizes if size % workers == 0]
                times = f"times {workers} workers is a batch of {SEARCH}"
                if fitting:
                    words = f"none of them {times}; for example {max(fitting)}"
                    yield "choose.per_worker_batches", words
                else:
                    yield "choose.workers", f"no batch {times}; leave that number out"
        if 1 not in self.workers:
            yield "choose.workers", "leaves out 1, over which more workers gain; add it"
        if both := sorted(set(self.workers) & set(self.predicted_workers)):
            yield "choose.predicted_workers", f"{both[0]} is measured; leave it out"


class GridProtocol(RunProtocol):
    """What a run times at one number of workers."""

    per_worker_batches: tuple[PositiveInt, ...]
    repeats: PositiveInt
    repeat_s: float


class GoalProtocol(RunProtocol):
    """A training to the goal of the search, by its rules."""

    goal_error_frac: float
    evaluation_samples: PositiveInt
    max_steps: PositiveInt
    max_epochs: PositiveInt
    rank_of_workers: PositiveInt = Field(1, description="Which cell of its N is trained, by rank.")
    deadline_s: float | None = Field(None, description="Seconds to the goal; null: no limit.")
    worker_hours: float | None = Field(None, description="Hours of all workers; null: no limit.")
    memory_bytes: PositiveInt | None = Field(description="Memory of a worker; null: no limit.")

    @property
    def needs(self) -> Needs:
        """Its time is compared with what timed runs predict."""
        return Needs(alone=True)


SECTIONS = {
    "choose": (
        ChooseConfig | None,
        Field(None, description="E2: how many workers, and which batch size."),
    )
}
