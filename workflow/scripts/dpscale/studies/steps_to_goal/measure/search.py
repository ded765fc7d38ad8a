"""S1: steps to a goal error: at each batch size a search, its finalists, the winner's repeats.

The quasi-random points of a search are of a scrambled Halton sequence, which covers a space more
evenly than independent ones (Bousquet, Gelly, Kurach, Teytaud and Vincent, Critical
Hyper-Parameters: No Random, No Cry, 2017, arXiv:1706.03200).
"""

import math
from collections.abc import Sequence, Sized
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.stats import qmc

from dpscale.plan import Spec
from dpscale.studies.steps_to_goal.config import Search
from dpscale.studies.steps_to_goal.measure.groups import Point, build_group
from dpscale.studies.steps_to_goal.measure.noise import noise_rows
from dpscale.studies.steps_to_goal.measure.race import Outcome, Rules, Trial, race
from dpscale.studies.steps_to_goal.measure.supply import loader, supply
from dpscale.studies.steps_to_goal.measure.validation import Validation, build_validation
from dpscale.train.data import Task
from dpscale.train.device import set_backends
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.worker import Place

STAGES = 3  # of a batch size: the search, its finalists, the winner's repeats


def measure_search(spec: "Spec[Search]", task: Task, place: Place) -> Measurement:
    """Searches each batch size anew, and repeats each winner with other seeds."""
    search = spec.protocol
    task.require_a_score("steps_to_goal")
    set_backends(spec.training)
    log = _Log(spec, task)
    meter = Meter(spec.run, "stage", STAGES, parts=len(search.batch_sizes), shown=place.leads)
    for batch in search.batch_sizes:
        meter.begin(f"B = {batch}")
        ground = _Ground(spec, task, place.device, batch)
        found = ground.search()
        log.add("search", batch, found)
        meter.step(note=_told(found))
        finals = ground.finals(found)
        log.add("final", batch, finals)
        meter.step(note=_told(finals))
        winner = choose(found, finals)
        if winner is not None:
            repeats = ground.repeats(winner)
            numbers = log.add("repeat", batch, repeats)
            if batch == search.noise.batch:
                log.add_noise(batch, numbers, repeats, place.device)
        meter.step(note="" if winner is None else _told(repeats))
    return Measurement(fields=log.rows)


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


def choose(found: Sequence[Outcome], finals: Sequence[Outcome]) -> Point | None:
    """The point with the fewest steps to the goal, in the median over its seeds.

    A training that did not reach the goal counts as slower than all. Between equal medians the
    better mean, then the earlier place in the search decides. None where no trial reached it.
    """
    steps: dict[Point, list[float]] = {one.trial.point: [] for one in finals}
    if not steps:
        return None
    for one in [*found, *finals]:
        if one.trial.point in steps:
            steps[one.trial.point].append(one.steps_to_goal or math.inf)
    best = min(steps, key=lambda point: (median(steps[point]), sum(steps[point])))
    return best if math.isfinite(median(steps[best])) else None


class _Ground:
    """One batch size of a search: its data, its rules, and its three stages."""

    def __init__(self, spec: "Spec[Search]", task: Task, device: torch.device, batch: int) -> None:
        self._spec, self._search, self._task = spec, spec.protocol, task
        self._device, self._batch = device, batch
        self._validation = self._split(task.validation)
        self._rules = rules(self._search, batch, len(loader(task, batch, 0, device)))

    def _split(self, split: Sized) -> Validation:
        """A split to evaluate on, with as many samples at a time as a stack trains on."""
        at_once = max(self._batch, self._search.stacked_samples // self._search.trials)
        return build_validation(split, self._task, self._device, at_once)

    def search(self) -> list[Outcome]:
        """Every point, with the first of the search's seeds."""
        seed = self._search.selection_seeds[0]
        points = draw_points(self._search, self._batch)
        given = replace(self._rules, enough=self._search.finalists)
        return self.train([Trial(point, seed) for point in points], given)

    def finals(self, found: Sequence[Outcome]) -> list[Outcome]:
        """The points that were first to the goal, with the other seeds of the search."""
        reached = [one for one in found if one.steps_to_goal is not None]
        ranked = sorted(reached, key=lambda one: (one.steps, one.evaluations[-1].error_frac))
        points = [one.trial.point for one in ranked[: self._search.finalists]]
        seeds = self._search.selection_seeds[1:]
        trials = [Trial(point, seed) for seed in seeds for point in points]
        return self.train(trials, self._rules) if trials else []

    def repeats(self, point: Point) -> list[Outcome]:
        """The winner with the study's seeds, each up to the whole budget, and its test error."""
        trials = [Trial(point, seed) for seed in self._spec.seeds]
        return self.train(trials, replace(self._rules, patience=math.inf), tested=True)

    def train(
        self, trials: Sequence[Trial], given: Rules, *, tested: bool = False
    ) -> list[Outcome]:
        """The outcomes of the trials."""
        seeds = [trial.seed for trial in trials]
        fresh = {seed: seeded_network(self._spec, self._task, seed) for seed in set(seeds)}
        training = self._spec.training
        group = build_group(
            [fresh[seed] for seed in seeds], [trial.point for trial in trials], self._task,
            self._device, at_once=self._search.stacked_samples // self._batch,
            nesterov=training.nesterov, weight_decay=training.weight_decay,
        )  # fmt: skip
        batches = supply(
            self._task, self._batch, seeds, self._device, self._spec.data.loader_workers
        )
        test = self._split(self._task.test) if tested and len(self._task.test) else None
        return race(trials, group, batches, given, self._validation, test)


def rules(search: Search, batch: int, steps_per_epoch: int) -> Rules:
    """The rules of a batch size; `steps_per_epoch` whole batches are an epoch."""
    budget = search.budget
    return Rules(
        goal_error_frac=search.goal_error_frac,
        max_steps=min(budget.max_steps, budget.max_epochs * steps_per_epoch),
        patience=budget.patience,
        interval=max(1, budget.evaluation_samples // batch),
    )


def _told(outcomes: Sequence[Outcome]) -> str:
    steps = [one.steps_to_goal for one in outcomes if one.steps_to_goal is not None]
    best = f", the first after {min(steps)} steps" if steps else ""
    return f"{len(steps)} of {len(outcomes)} trials reached the goal{best}"


class _Log:
    """Rows of the record: the protocol, every trial, and the trials' curves."""

    def __init__(self, spec: "Spec[Search]", task: Task) -> None:
        self._spec, self._search, self._task = spec, spec.protocol, task
        self.rows: dict[str, list[dict[str, Any]]] = {
            "searches": [_protocol(spec)], "trials": [], "evaluations": [],
        }  # fmt: skip

    def add(self, role: str, batch: int, outcomes: Sequence[Outcome]) -> list[int]:
        """Notes the outcomes of a stage; the numbers that they have in the record."""
        first = len(self.rows["trials"])
        for number, one in enumerate(outcomes, first):
            self.rows["trials"].append({
                "trial": number, "seed": one.trial.seed, "role": role,
                "arm": self._search.optimizer, "model": self._spec.model.name,
                "optimizer": self._search.optimizer, "status": one.status,
                "learners": 1, "per_learner_batch": batch, "global_batch": batch,
                "lr": one.trial.point.lr, "momentum": one.trial.point.momentum,
                "steps": one.steps, "steps_to_goal": one.steps_to_goal,
            })  # fmt: skip
            for seen in one.evaluations:
                test = seen.test_error_frac
                self._note(number, batch, {
                    "step": seen.step, "validation_accuracy_frac": 1 - seen.error_frac,
                    "test_accuracy_frac": None if test is None else 1 - test,
                })  # fmt: skip
        return list(range(first, first + len(outcomes)))

    def add_noise(
        self, batch: int, numbers: Sequence[int], repeats: Sequence[Outcome], device: torch.device
    ) -> None:
        """Measures the squared norms of gradients along the repeats that reached the goal."""
        for number, one in zip(numbers, repeats, strict=True):
            if one.steps_to_goal is not None:
                for row in noise_rows(
                    self._spec, self._task, device,
                    point=one.trial.point, seed=one.trial.seed, steps=one.steps_to_goal,
                ):  # fmt: skip
                    self._note(number, batch, row)

    def _note(self, number: int, batch: int, row: dict[str, Any]) -> None:
        epoch = row["step"] * batch / len(self._task.train)
        self.rows["evaluations"].append({"trial": number, "epoch": epoch, **row})


def _protocol(spec: "Spec[Search]") -> dict[str, Any]:
    search = spec.protocol
    return {
        "model": spec.model.name, "optimizer": search.optimizer,
        "goal_error_frac": search.goal_error_frac,
        **search.space.model_dump(), **search.budget.model_dump(),
        "finalists": search.finalists, "stacked_samples": search.stacked_samples,
        "expected": search.expected, "planned_trials": search.trials,
        "noise_batch": search.noise.batch, "batch_sizes": " ".join(map(str, search.batch_sizes)),
    }  # fmt: skip
