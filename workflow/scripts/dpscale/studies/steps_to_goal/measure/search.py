"""S1: steps to a goal error: at each batch size a search, its finalists, the winner's repeats.

The quasi-random points of a search are of a scrambled Halton sequence, which covers a space more
evenly than independent ones (Bousquet, Gelly, Kurach, Teytaud and Vincent, Critical
Hyper-Parameters: No Random, No Cry, 2017, arXiv:1706.03200).
"""

import math
from collections.abc import Mapping, Sequence, Sized
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import qmc
from torch import Tensor, nn

from dpscale.plan import Spec
from dpscale.records.columns import TableRow
from dpscale.studies.steps_to_goal.config import Search
from dpscale.studies.steps_to_goal.measure.groups import Group, Point, build_group
from dpscale.studies.steps_to_goal.measure.noise import noise_rows
from dpscale.studies.steps_to_goal.measure.supply import Drawn, SeedBatches
from dpscale.studies.steps_to_goal.measure.validation import Validation, build_validation
from dpscale.train.data import Task, entries
from dpscale.train.machine.device import set_backends
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.training import (
    Goal,
    Stepper,
    Supply,
    Training,
    Trial,
    goal_stops,
    settings,
    tables,
)
from dpscale.train.worker import Place

STAGES = 3  # of a batch size: the search, its finalists, the winner's repeats


def measure_search(spec: "Spec[Search]", task: Task, place: Place) -> Measurement:
    """Searches each batch size anew, and repeats each winner with other seeds."""
    search = spec.protocol
    task.require_a_score("steps_to_goal")
    set_backends(spec.training)
    trials: list[Trial] = []
    squares: list[TableRow] = []
    meter = Meter(spec.run, "stage", STAGES, parts=len(search.batch_sizes), shown=place.leads)
    for batch in search.batch_sizes:
        meter.begin(f"B = {batch}")
        ground = _Ground(spec, task, place, batch)
        found = ground.search()
        meter.step(note=_told(found))
        finals = ground.finals(found)
        meter.step(note=_told(finals))
        winner = choose(found, finals)
        repeats = [] if winner is None else ground.repeats(winner)
        trials += [*found, *finals, *repeats]
        if batch == search.noise.batch:
            squares += _noise(spec, task, place, trials, repeats)
        meter.step(note=_told(repeats) if repeats else "")
    fields = tables(trials) | {"searches": [_protocol(spec)], "gradient_squares": squares}
    return Measurement(fields=fields)


def _noise(
    spec: "Spec[Search]",
    task: Task,
    place: Place,
    trials: Sequence[Trial],
    repeats: Sequence[Trial],
) -> list[TableRow]:
    """Squared norms of gradients along the repeats that reached the goal."""
    return [
        {"trial": number} | row
        for number, trial in enumerate(trials)
        if trial in repeats and trial.steps_to_goal is not None
        for row in noise_rows(
            spec,
            task,
            place.device,
            point=point_of(trial),
            seed=trial.seed,
            steps=trial.steps_to_goal,
        )
    ]


def draw_points(search: Search, batch: int) -> list[Point]:
    """The search's points for a batch size, other ones for each; the same for momentum's forms.

    The effective rate lr/(1 - momentum), and 1 - momentum where there is momentum, are uniform on
    a logarithmic axis: on the axes of rate and momentum the good points lie on a slope, and most
    of a rectangle around them would be wasted.
    """
    space = search.space
    bounds = [(space.effective_lr_low, space.effective_lr_high)]
    if search.optimizer != "sgd":
        bounds.append((space.momentum_rest_low, 1.0))
    rng = np.random.default_rng([search.selection_seeds[0], batch])
    units = qmc.Halton(len(bounds), scramble=True, rng=rng).random(search.trials)
    drawn = [low * (high / low) ** unit for (low, high), unit in zip(bounds, units.T, strict=True)]
    rests = drawn[1] if len(drawn) > 1 else np.ones(search.trials)
    pairs = zip((drawn[0] * rests).tolist(), rests.tolist(), strict=True)
    return [Point(rate, 1 - rest) for rate, rest in pairs]


def point_of(trial: Trial) -> Point:
    """The learning rate and the momentum of a trial."""
    return Point(trial.settings["lr"], trial.settings["momentum"])


def choose(found: Sequence[Trial], finals: Sequence[Trial]) -> Point | None:
    """The point with the fewest steps to the goal, in the median over its seeds.

    A training that did not reach the goal counts as slower than all. Between equal medians the
    better mean, then the earlier place in the search decides. None where no trial reached it.
    """
    steps: dict[Point, list[float]] = {point_of(one): [] for one in finals}
    if not steps:
        return None
    for one in [*found, *finals]:
        if point_of(one) in steps:
            steps[point_of(one)].append(one.steps_to_goal or math.inf)
    best = min(steps, key=lambda point: (median(steps[point]), sum(steps[point])))
    return best if math.isfinite(median(steps[best])) else None


class _Ground:
    """One batch size of a search: its data, and its three stages."""

    def __init__(self, spec: "Spec[Search]", task: Task, place: Place, batch: int) -> None:
        self._spec, self._search, self._task = spec, spec.protocol, task
        self._place, self._batch = place, batch
        self._splits = {"validation": self._split(task.validation)}
        if len(task.test):
            self._splits["test"] = self._split(task.test)

    def _split(self, split: Sized) -> Validation:
        """A split to evaluate on, with as many samples at a time as a stack trains on."""
        at_once = max(self._batch, self._search.stacked_samples // self._search.trials)
        return build_validation(split, self._task, self._place.device, at_once)

    def search(self) -> list[Trial]:
        """Every point, with the first of the search's seeds."""
        seed, budget = self._search.selection_seeds[0], self._search.budget
        pairs = [(point, seed) for point in draw_points(self._search, self._batch)]
        enough = self._search.finalists
        return self.train("search", pairs, patience=budget.patience, enough=enough)

    def finals(self, found: Sequence[Trial]) -> list[Trial]:
        """The points that were first to the goal, with the other seeds of the search."""
        reached = [one for one in found if one.steps_to_goal is not None]
        ranked = sorted(
            reached, key=lambda one: (one.steps, -one.curve[-1]["validation_accuracy_frac"])
        )
        points = [point_of(one) for one in ranked[: self._search.finalists]]
        pairs = [(point, seed) for seed in self._search.selection_seeds[1:] for point in points]
        return self.train("final", pairs, patience=self._search.budget.patience) if pairs else []

    def repeats(self, point: Point) -> list[Trial]:
        """The winner with the study's seeds, each up to the whole budget, and its test error."""
        tested = ["test"] if "test" in self._splits else []
        return self.train("repeat", [(point, seed) for seed in self._spec.seeds], at_end=tested)

    def train(
        self,
        role: str,
        pairs: Sequence[tuple[Point, int]],
        *,
        patience: float = math.inf,
        enough: float = math.inf,
        at_end: Sequence[str] = (),
    ) -> list[Trial]:
        """The trials of some points and seeds, trained together."""
        seeds = [seed for _, seed in pairs]
        fresh = {seed: seeded_network(self._spec, self._task, seed) for seed in set(seeds)}
        training, budget, search = self._spec.training, self._search.budget, self._search
        group = build_group(
            [fresh[seed] for seed in seeds],
            [point for point, _ in pairs],
            self._task,
            self._place.device,
            at_once=search.stacked_samples // self._batch,
            nesterov=training.nesterov,
            weight_decay=training.weight_decay,
        )
        drawn = SeedBatches(
            self._task, self._batch, seeds, self._place.device, self._spec.data.loader_workers
        )
        return Training(
            [self._trial(role, point, seed) for point, seed in pairs],
            SearchedGroup(group, self._splits, self._task, self._place),
            Supply(drawn),
            goal_stops(max(1, budget.evaluation_samples // self._batch)),
            max_steps=min(budget.max_steps, budget.max_epochs * len(drawn)),
            goal=Goal(search.goal_error_frac, patience, enough),
            splits=["validation"],
            at_end=at_end,
        ).run()

    def _trial(self, role: str, point: Point, seed: int) -> Trial:
        given = settings(
            self._spec,
            role=role,
            arm=self._search.optimizer,
            optimizer=self._search.optimizer,
            learners=1,
            per_learner_batch=self._batch,
            global_batch=self._batch,
            lr=point.lr,
            momentum=point.momentum,
        )
        return Trial(seed, given)


class SearchedGroup(Stepper):
    """A group of networks that take their steps together, and the splits it is evaluated on."""

    lr = None  # each has its own

    def __init__(
        self, group: Group, splits: Mapping[str, Validation], task: Task, place: Place
    ) -> None:
        super().__init__(task, place)
        self._group, self._splits = group, splits
        self._places: Sequence[int] | None = None  # of the batches' entries; None: all of them

    def step(self, batch: Drawn) -> Tensor:
        """One update of each; their losses before it."""
        drawn, shared = batch
        if not shared and self._places is not None:
            drawn = entries(drawn, self._places)
        return self._group.step(drawn, shared=shared)

    def network(self) -> nn.Module:
        """There is none that is all of them."""
        raise NotImplementedError

    def evaluated(
        self, splits: Sequence[str], places: Sequence[int], *, beyond: float, here: bool
    ) -> list[TableRow]:
        """See Stepper; without losses."""
        rows: list[TableRow] = [{} for _ in places]
        for name in splits:
            errors = self._splits[name].wrong_shares(self._group, places, beyond=beyond)
            for row, error_frac in zip(rows, errors.tolist(), strict=True):
                row[f"{name}_accuracy_frac"] = 1 - error_frac
        return rows

    def keep(self, places: Sequence[int]) -> None:
        """Go on with these networks alone."""
        self._group.keep(places)
        before = range(max(places) + 1) if self._places is None else self._places
        self._places = [before[place] for place in places]


def _told(trials: Sequence[Trial]) -> str:
    steps = [one.steps_to_goal for one in trials if one.steps_to_goal is not None]
    best = f", the first after {min(steps)} steps" if steps else ""
    return f"{len(steps)} of {len(trials)} trials reached the goal{best}"


def _protocol(spec: "Spec[Search]") -> dict[str, Any]:
    search = spec.protocol
    return {
        "model": spec.model.name,
        "optimizer": search.optimizer,
        "goal_error_frac": search.goal_error_frac,
        **search.space.model_dump(),
        **search.budget.model_dump(),
        "finalists": search.finalists,
        "stacked_samples": search.stacked_samples,
        "expected": search.expected,
        "planned_trials": search.trials,
        "noise_batch": search.noise.batch,
        "batch_sizes": " ".join(map(str, search.batch_sizes)),
    }
