"""S1: trials of one batch size, trained in step until they reach the goal or a budget ends.

Since all trials take their n-th step together, the first to reach the goal needs the fewest
steps, and a search may end soon after it without knowing less about its winner.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from dpscale.studies.steps_to_goal.measure.groups import Group, Point
from dpscale.studies.steps_to_goal.measure.supply import Drawn
from dpscale.studies.steps_to_goal.measure.validation import Validation
from dpscale.train.data import entries

Status = Literal["complete", "incomplete", "infeasible"]


@dataclass(frozen=True)
class Trial:
    """One training to be made: its point, and the seed of its initial values and data order."""

    point: Point
    seed: int


@dataclass(frozen=True)
class Evaluation:
    """Validation error after a step; the test error where it was asked for."""

    step: int
    error_frac: float
    test_error_frac: float | None = None


@dataclass
class Outcome:
    """How a trial ended: it reached the goal, its budget ended first, or its loss was not finite.

    steps: made; steps_to_goal: None unless complete; evaluations: after steps 1, 2, 4, 8 … and at
    the goal.
    """

    trial: Trial
    status: Status = "incomplete"
    steps: int = 0
    steps_to_goal: int | None = None
    evaluations: list[Evaluation] = field(default_factory=list)


@dataclass(frozen=True)
class Rules:
    """When trials are evaluated (each `interval` steps) and when they end."""

    goal_error_frac: float
    max_steps: int
    patience: float  # math.inf: every trial has all its steps
    interval: int
    enough: float = math.inf  # trials that reached the goal, after which the others end

    def last(self, reached: Sequence[int]) -> float:
        """The last step of any trial, where some `reached` the goal after these steps."""
        if len(reached) >= self.enough:
            return sorted(reached)[int(self.enough) - 1]
        return min(self.max_steps, self.patience * min(reached, default=math.inf))


def race(
    trials: Sequence[Trial], group: Group, batches: Iterator[Drawn], rules: Rules,
    validation: Validation, test: Validation | None = None,
) -> list[Outcome]:  # fmt: skip
    """The outcomes of the trials, which `group` holds in this order.

    batches: without end. test: the test split, evaluated for trials that reach the goal.
    """
    outcomes = [Outcome(trial) for trial in trials]
    running = list(range(len(trials)))
    finite = torch.ones(len(running), dtype=torch.bool)
    steps_to_goal: list[int] = []
    for step, (batch, shared) in enumerate(batches, 1):
        own = batch if shared else entries(batch, running)
        finite &= group.step(own, shared=shared).isfinite()
        noted = step.bit_count() == 1  # 1, 2, 4, 8 ...
        if step % rules.interval and not noted and step + 1 <= rules.last(steps_to_goal):
            continue
        # Most evaluations only ask who is at the goal; those that are recorded are of all samples.
        beyond = math.inf if noted else rules.goal_error_frac
        errors = validation.wrong_shares(group, range(len(running)), beyond=beyond)
        reached = finite & (errors <= rules.goal_error_frac)
        steps_to_goal += [step] * int(reached.sum())
        ended = reached | ~finite | (step + 1 > rules.last(steps_to_goal))
        if not noted and (missed := _places(ended & finite & ~reached)):
            errors[missed] = validation.wrong_shares(group, missed)
        tests: dict[int, float] = {}
        if test is not None and (at_goal := _places(reached)):
            shares = test.wrong_shares(group, at_goal)
            tests = dict(zip(at_goal, shares.tolist(), strict=True))
        for place, index in enumerate(running):
            one = outcomes[index]
            if finite[place] and (noted or ended[place]):
                one.evaluations.append(Evaluation(step, float(errors[place]), tests.get(place)))
            if ended[place]:
                one.steps = step
                if reached[place]:
                    one.status, one.steps_to_goal = "complete", step
                elif not finite[place]:
                    one.status = "infeasible"
        if ended.all():
            return outcomes
        if ended.any():
            kept = _places(~ended)
            group.keep(kept)
            running, finite = [running[place] for place in kept], finite[kept]
    raise ValueError("the batches ended before the trials")


def _places(chosen: Tensor) -> list[int]:
    return chosen.nonzero().flatten().tolist()
