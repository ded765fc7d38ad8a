"""The registry of derived tables: what makes each, from which tables, with which columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter

import pandas as pd

from dpscale.derive import (
    accuracy,
    assignment,
    assignment_split,
    assignment_utilisation,
    assignment_verdicts,
    averaging_pairs,
    averaging_rates,
    bandwidth,
    communication,
    compression,
    ddp_at_one,
    epoch_times,
    iteration_times,
    learners,
    ledger,
    link,
    local_sgd,
    local_sgd_times,
    local_sgd_verdicts,
    lr_scaling,
    lr_scaling_curves,
    lr_scaling_elbow,
    lr_scaling_verdicts,
    model_averaging,
    noise_scale,
    order,
    phases,
    prediction,
    published_model_averaging,
    replicas,
    scaling,
    scaling_contrasts,
    scaling_fit,
    scaling_verdicts,
    search_budget,
    steps_to_goal,
    sweep,
    what_if,
)
from dpscale.derive.columns import Columns

TIDY = (
    "runs", "steps", "epochs", "replicas", "orders", "collectives", "wire", "buckets", "spans",
    "messages", "trials", "evaluations", "throughputs", "searches", "links",
)  # fmt: skip

# name: (function, its inputs in the order of its arguments). An input named in TIDY is the tidy
# table, any other a derived one (`replicas` and `wire` name one of each; no input is the derived).
DERIVED: dict[str, tuple[Callable[..., pd.DataFrame], list[str]]] = {
    "epoch_times": (epoch_times.epoch_times, ["steps", "runs"]),
    "sweep": (sweep.sweep, ["runs", "steps", "epoch_times"]),
    "boundary": (sweep.boundary, ["runs"]),
    "scaling": (scaling.scaling, ["epoch_times", "runs"]),
    "communication": (communication.communication, ["epoch_times", "spans", "runs"]),
    "ddp_at_one": (ddp_at_one.ddp_at_one, ["epoch_times", "runs"]),
    "link": (link.link, ["messages", "runs"]),
    "message_times": (link.message_times, ["messages", "link", "runs"]),
    "bandwidth": (bandwidth.bandwidth, ["communication", "link", "links", "runs"]),
    "compression": (compression.compression, ["epoch_times", "collectives", "wire", "runs"]),
    "prediction": (
        prediction.prediction,
        ["communication", "link", "phases", "buckets", "runs"],
    ),
    "what_if": (
        what_if.what_if,
        [
            "communication",
            "link",
            "prediction",
            "compression",
            "phases",
            "buckets",
            "links",
            "runs",
        ],
    ),
    "ledger": (ledger.ledger, ["collectives", "runs"]),
    "wire": (ledger.wire, ["wire", "collectives", "runs"]),
    "accuracy": (accuracy.accuracy, ["epochs", "runs"]),
    "order": (order.order, ["orders", "runs"]),
    "replicas": (replicas.replicas, ["replicas", "runs"]),
    "phases": (phases.phases, ["steps", "runs"]),
    "assignment": (assignment.assignment, ["epochs", "steps", "runs"]),
    "assignment_utilisation": (
        assignment_utilisation.utilisation,
        ["epochs", "steps", "runs"],
    ),
    "assignment_split": (assignment_split.split, ["epoch_times", "spans", "steps", "runs"]),
    "assignment_published": (
        assignment_verdicts.beside_published,
        ["assignment", "accuracy", "assignment_utilisation"],
    ),
    "model_averaging": (model_averaging.model_averaging, ["trials", "evaluations", "runs"]),
    "averaging_curves": (model_averaging.curves, ["trials", "evaluations", "runs"]),
    "averaging_rates": (averaging_rates.rates, ["trials", "evaluations", "runs"]),
    "averaging_pairs": (averaging_pairs.pairs, ["trials", "evaluations", "runs"]),
    "learners": (learners.learners, ["throughputs", "runs"]),
    "published_model_averaging": (
        published_model_averaging.published,
        ["averaging_pairs", "learners"],
    ),
    "lr_scaling": (lr_scaling.lr_scaling, ["trials", "evaluations", "runs"]),
    "lr_scaling_elbow": (lr_scaling_elbow.elbow, ["lr_scaling"]),
    "lr_scaling_curves": (lr_scaling_curves.curves, ["lr_scaling", "trials", "evaluations"]),
    "iteration_times": (iteration_times.iteration_times, ["scaling", "runs"]),
    "published_lr_scaling": (
        lr_scaling_verdicts.published_lr_scaling,
        ["lr_scaling", "iteration_times", "trials", "evaluations"],
    ),
    "local_sgd": (local_sgd.local_sgd, ["trials", "evaluations", "runs"]),
    "local_sgd_curves": (local_sgd.local_sgd_curves, ["trials", "evaluations", "runs"]),
    "published_local_sgd": (
        local_sgd_verdicts.published_local_sgd,
        ["trials", "evaluations", "runs"],
    ),
    "local_sgd_times": (local_sgd_times.local_sgd_times, ["what_if", "trials", "runs"]),
    "noise_scale": (noise_scale.noise_scale, ["evaluations", "trials", "runs"]),
    "scaling_fit": (scaling_fit.scaling_fit, ["trials", "evaluations", "runs"]),
    "scaling_contrasts": (scaling_contrasts.scaling_contrasts, ["trials", "runs"]),
    "steps_to_goal": (
        steps_to_goal.steps_to_goal,
        ["trials", "evaluations", "searches", "scaling_fit", "runs"],
    ),
    "scaling_verdicts": (
        scaling_verdicts.scaling_verdicts,
        ["scaling_fit", "scaling_contrasts"],
    ),
    "budget": (search_budget.budget, ["trials", "evaluations", "searches", "runs"]),
}

COLUMNS: dict[str, Columns] = {
    "epoch_times": epoch_times.COLUMNS,
    "sweep": sweep.SWEEP_COLUMNS,
    "boundary": sweep.BOUNDARY_COLUMNS,
    "scaling": scaling.COLUMNS,
    "communication": communication.COLUMNS,
    "ddp_at_one": ddp_at_one.COLUMNS,
    "link": link.LINK_COLUMNS,
    "message_times": link.TIMES_COLUMNS,
    "bandwidth": bandwidth.COLUMNS,
    "compression": compression.COLUMNS,
    "prediction": prediction.COLUMNS,
    "what_if": what_if.COLUMNS,
    "ledger": ledger.LEDGER_COLUMNS,
    "wire": ledger.WIRE_COLUMNS,
    "accuracy": accuracy.COLUMNS,
    "order": order.COLUMNS,
    "replicas": replicas.COLUMNS,
    "phases": phases.COLUMNS,
    "assignment": assignment.COLUMNS,
    "assignment_utilisation": assignment_utilisation.COLUMNS,
    "assignment_split": assignment_split.COLUMNS,
    "assignment_published": assignment_verdicts.COLUMNS,
    "model_averaging": model_averaging.COLUMNS,
    "averaging_curves": model_averaging.CURVE_COLUMNS,
    "averaging_rates": averaging_rates.COLUMNS,
    "averaging_pairs": averaging_pairs.COLUMNS,
    "learners": learners.COLUMNS,
    "published_model_averaging": published_model_averaging.COLUMNS,
    "lr_scaling": lr_scaling.COLUMNS,
    "lr_scaling_elbow": lr_scaling_elbow.COLUMNS,
    "lr_scaling_curves": lr_scaling_curves.COLUMNS,
    "iteration_times": iteration_times.COLUMNS,
    "published_lr_scaling": lr_scaling_verdicts.COLUMNS,
    "local_sgd": local_sgd.COLUMNS,
    "local_sgd_curves": local_sgd.CURVES_COLUMNS,
    "published_local_sgd": local_sgd_verdicts.COLUMNS,
    "local_sgd_times": local_sgd_times.COLUMNS,
    "noise_scale": noise_scale.COLUMNS,
    "scaling_fit": scaling_fit.COLUMNS,
    "scaling_contrasts": scaling_contrasts.COLUMNS,
    "steps_to_goal": steps_to_goal.COLUMNS,
    "scaling_verdicts": scaling_verdicts.COLUMNS,
    "budget": search_budget.COLUMNS,
}


def derived_inputs(name: str) -> list[str]:
    """Return the inputs of the derived table `name` that are derived tables themselves."""
    return [given for given in DERIVED[name][1] if given not in TIDY]


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names so that a table comes after those of them that it is made from."""
    asked = set(names)
    graph = {name: derived_inputs(name) for name in DERIVED}
    return [name for name in TopologicalSorter(graph).static_order() if name in asked]


class Derived(Mapping[str, pd.DataFrame]):
    """The derived tables of some tidy tables (all of TIDY), each made when it is first read.

    What a reader is given is a copy: to change it changes no other table.
    """

    def __init__(self, tidy: Mapping[str, pd.DataFrame]) -> None:
        self._tidy = {name: tidy[name].copy() for name in TIDY}
        self._made: dict[str, pd.DataFrame] = {}
        self._instead: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        return (self._instead[name] if name in self._instead else self._make(name)).copy()

    def __or__(self, instead: Mapping[str, pd.DataFrame]) -> "Derived":
        """Return these tables with some replaced; the others are made as if none were."""
        changed = Derived(self._tidy)
        changed._made, changed._instead = self._made, {**self._instead, **instead}
        return changed

    def __iter__(self) -> Iterator[str]:
        return iter(DERIVED)

    def __len__(self) -> int:
        return len(DERIVED)

    def _make(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            function, inputs = DERIVED[name]
            given = [self._tidy[one] if one in TIDY else self._make(one) for one in inputs]
            self._made[name] = function(*given)
        return self._made[name]
