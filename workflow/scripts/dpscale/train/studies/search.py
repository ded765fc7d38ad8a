"""S1: steps to a goal error, trial by trial."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import torch

from dpscale.plan import Spec
from dpscale.plan.spec import Search
from dpscale.train.data import Dataset
from dpscale.train.device import set_float32_precision
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.studies.search_errors import Validation
from dpscale.train.studies.search_grouping import build_group
from dpscale.train.studies.search_groups import Group
from dpscale.train.studies.search_noise import noise_rows
from dpscale.train.studies.search_points import Point, draw_points
from dpscale.train.studies.search_race import Outcome, Rules, Trial, race
from dpscale.train.studies.search_supply import loader, supply
from dpscale.train.worker import Place

STAGES = 3  # of a batch size: the search, its finalists, the winner's repeats


def measure_search(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """Searches each batch size anew, and repeats each winner with other seeds."""
    assert spec.search is not None
    search = spec.search
    set_float32_precision(spec.training)
    log = _Log(spec, dataset)
    meter = Meter(spec.run, "stage", STAGES, parts=len(search.batch_sizes), shown=place.leads)
    for batch in search.batch_sizes:
        meter.begin(f"B = {batch}")
        ground = _Ground(spec, dataset, place.device, batch)
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


def choose(found: Sequence[Outcome], finals: Sequence[Outcome]) -> Point | None:
    """The point with the fewest steps to the goal, in the median over its seeds.

    A training that did not reach the goal counts as slower than all. Between equal medians the
    better mean, then the earlier place in the search decides. None where no trial reached it.
    """
    points = list(dict.fromkeys(one.trial.point for one in finals))
    if not points:
        return None
    steps: dict[Point, list[float]] = {point: [] for point in points}
    for one in [*found, *finals]:
        if one.trial.point in steps:
            steps[one.trial.point].append(one.steps_to_goal or math.inf)
    best = min(points, key=lambda point: (median(steps[point]), sum(steps[point])))
    return best if math.isfinite(median(steps[best])) else None


class _Ground:
    """One batch size of a search: its data, its rules, and its three stages."""

    def __init__(self, spec: Spec, dataset: Dataset, device: torch.device, batch: int) -> None:
        assert spec.search is not None
        self._spec, self._search, self._dataset = spec, spec.search, dataset
        self._device, self._batch = device, batch
        self._validation = Validation(dataset.validation, dataset, device)
        steps_per_epoch = len(loader(dataset, batch, 0, device))
        self._rules = rules(spec.search, batch, steps_per_epoch)

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
        batches = supply(self._dataset, self._batch, seeds, self._device)
        test = Validation(self._dataset.test, self._dataset, self._device) if tested else None
        return race(trials, self._group(trials), batches, given, self._validation, test)

    def _group(self, trials: Sequence[Trial]) -> Group:
        fresh = {
            seed: seeded_network(self._spec, self._dataset, seed)
            for seed in {trial.seed for trial in trials}
        }
        return build_group(
            [fresh[trial.seed] for trial in trials],
            [trial.point for trial in trials],
            self._device,
            at_once=self._search.stacked_samples // self._batch,
            nesterov=self._search.optimizer == "nesterov",
            weight_decay=self._spec.training.weight_decay,
        )


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

    def __init__(self, spec: Spec, dataset: Dataset) -> None:
        assert spec.search is not None
        self._spec, self._search, self._dataset = spec, spec.search, dataset
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
            self.rows["evaluations"] += [
                {
                    "trial": number, "step": seen.step, "epoch": self._epoch(seen.step, batch),
                    "validation_accuracy_frac": 1 - seen.error_frac,
                    "test_accuracy_frac": None
                    if seen.test_error_frac is None
                    else 1 - seen.test_error_frac,
                }
                for seen in one.evaluations
            ]  # fmt: skip
        return list(range(first, first + len(outcomes)))

    def add_noise(
        self, batch: int, numbers: Sequence[int], repeats: Sequence[Outcome], device: torch.device
    ) -> None:
        """Measures the squared norms of gradients along the repeats that reached the goal."""
        for number, one in zip(numbers, repeats, strict=True):
            if one.steps_to_goal is None:
                continue
            rows = noise_rows(
                self._spec, self._dataset, device,
                point=one.trial.point, seed=one.trial.seed, steps=one.steps_to_goal,
            )  # fmt: skip
            self.rows["evaluations"] += [
                {"trial": number, "epoch": self._epoch(row["step"], batch)} | row for row in rows
            ]

    def _epoch(self, step: int, batch: int) -> float:
        return step * batch / len(self._dataset.train)


def _protocol(spec: Spec) -> dict[str, Any]:
    assert spec.search is not None
    search = spec.search
    return {
        "model": spec.model.name,
        "optimizer": search.optimizer,
        "goal_error_frac": search.goal_error_frac,
        **search.space.model_dump(),
        **search.budget.model_dump(),
        **{key: getattr(search, key) for key in ("finalists", "stacked_samples", "expected")},
        "planned_trials": search.trials,
        "noise_batch": search.noise.batch,
        "batch_sizes": " ".join(str(size) for size in search.batch_sizes),
    }
