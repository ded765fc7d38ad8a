"""S4: mini-batch, local and post-local SGD: loss, accuracy and communication of each arm."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import first_known, in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import ring_allreduce_bytes
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    interval_columns,
    median,
    paired_median_difference,
)

STUDY = "local_sgd"
LARGE = "A2"  # the arm that the others are set against
MEASURES = ["train_loss", "train_accuracy_frac", "validation_accuracy_frac", "test_accuracy_frac"]
INTERVALS = " ".join(f"{name} {name}_low {name}_high" for name in MEASURES)
COLUMNS: Columns = (
    floats("label_noise_frac")
    | texts("arm title")
    | integers("workers per_worker_batch global_batch local_steps local_from_step")
    | texts("status")
    | floats("lr rate_factor")
    | integers("rates_tried")
    | texts("rate_place")
    | integers("epochs steps rounds")
    | floats("sent_bytes")
    | integers("seeds")
    | floats(INTERVALS)
    | floats("over_large_frac over_large_frac_low over_large_frac_high")
    | texts("runs message")
)
CURVES_COLUMNS: Columns = (
    floats("label_noise_frac")
    | texts("arm title")
    | floats("epoch switch_epoch")
    | integers("seeds")
    | floats(INTERVALS)
    | texts("runs")
)
TITLES = {
    "A1": "small mini-batch",
    "A2": "large mini-batch",
    "A3": "huge mini-batch",
    "A4": "local SGD",
    "A5": "post-local SGD",
}
ARM = ["label_noise_frac", "arm"]
SETTINGS = {  # column of `trials`: column here
    "learners": "workers",
    "per_learner_batch": "per_worker_batch",
    "global_batch": "global_batch",
    "local_steps": "local_steps",
    "local_from_step": "local_from_step",
    "lr": "lr",
    "rate_factor": "rate_factor",
}


def title(arm: str) -> str:
    """Return what an arm is called: `post-local SGD, H = 16` of `A5 H=16`."""
    name, _, steps = arm.partition(" H=")
    return f"{TITLES.get(name, name)}, H = {steps}" if steps else TITLES.get(name, name)


def results(trials: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the trials of S4 that are results: those that chose a rate are not."""
    own = in_study(runs, STUDY)["run"]
    return trials[trials["run"].isin(own) & (trials["role"] == "result")]


def last_evaluations(trials: pd.DataFrame, evaluations: pd.DataFrame) -> pd.DataFrame:
    """Return the last evaluation of each trial beside its seed and arm; of diverged ones none."""
    whole = trials.loc[trials["status"] == "complete", ["run", "trial", "seed", *ARM]]
    joined = evaluations.merge(whole, on=["run", "trial"])
    return joined.sort_values("step").groupby(["run", "trial"], as_index=False).tail(1)


def accuracy_difference(last: pd.DataFrame, trials: pd.DataFrame, arm: str, other: str) -> Estimate:
    """Return by how much an arm's test accuracy is above another's: medians, paired by seed.

    last: `last_evaluations` of one regime; trials: its results. Unknown where a seed of either
    diverged: an arm is not praised for its others.
    """
    if (trials.loc[trials["arm"].isin([arm, other]), "status"] == "diverged").any():
        return UNKNOWN
    own, others = (
        last[last["arm"] == name].set_index("seed")["test_accuracy_frac"] for name in (arm, other)
    )
    return paired_median_difference(own, others)


def _search(group: pd.DataFrame, tried: pd.DataFrame) -> dict[str, Any]:
    """Return how many rates the arm's run tried, and where the chosen one lies among them."""
    factors, chosen = sorted(set(tried["rate_factor"])), group["rate_factor"].iloc[0]
    if len(factors) < 2:
        return {"rates_tried": 0}
    place = {factors[0]: "lowest", factors[-1]: "highest"}.get(chosen, "inside")
    return {"rates_tried": len(factors), "rate_place": place}


def _estimates(rows: pd.DataFrame) -> dict[str, Any]:
    """Return medians and intervals of the measures; null where any value is unknown."""
    found: dict[str, Any] = {}
    for name in MEASURES:
        values = rows[name].to_numpy(dtype=float, na_value=np.nan)
        estimate: Estimate = median(values) if np.isfinite(values).all() else UNKNOWN
        found |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return found


def _arm(
    group: pd.DataFrame, tried: pd.DataFrame, last: pd.DataFrame, runs: pd.DataFrame
) -> dict[str, Any]:
    """Return the row of an arm in a regime from its results, all of one run.

    tried: the run's trials that chose the rate; last: the arm's last evaluations.
    """
    first = group.iloc[0]
    run = runs[runs["run"] == first["run"]].iloc[0]
    diverged = int((group["status"] == "diverged").sum())
    row = {name: first[source] for source, name in SETTINGS.items()} | {
        "label_noise_frac": first["label_noise_frac"], "arm": first["arm"],
        "title": title(str(first["arm"])), "epochs": run["epochs"], "seeds": len(group),
        "runs": first["run"],
        "status": "diverged" if diverged else "complete",
        "message": f"{diverged} of {len(group)} seeds diverged" if diverged else None,
    }  # fmt: skip
    row |= _search(group, tried)
    if diverged:
        return row
    rounds, payload = int(first["rounds"]), known(run["payload_bytes"])
    if payload is not None:
        row["sent_bytes"] = rounds * ring_allreduce_bytes(float(payload), float(row["workers"]))
    return row | {"steps": first["steps"], "rounds": rounds} | _estimates(last)


def local_sgd(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (regime, arm): medians over seeds after the last epoch.

    sent_bytes: of one worker, `formulas.ring_allreduce_bytes` of the parameters times the rounds
    that the training counted; over_large_frac: above the test accuracy of the large mini-batch, a
    difference of medians paired by seed; rates_tried: by the run that chose this arm's rate, and
    rate_place: where it lies among them, "lowest", "highest" or "inside". A run without a result
    is one row with its status; an arm of which any seed diverged has no numbers. Raises
    MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    chosen = results(trials, runs)
    last = last_evaluations(chosen, evaluations)
    rows: list[dict[str, Any]] = []
    for _, run in planned.iterrows():
        own = chosen[chosen["run"] == run["run"]]
        tried = trials[(trials["run"] == run["run"]) & (trials["role"] == "tuning")]
        if own.empty:
            rows.append({"arm": run["arm"], "status": run["status"], "runs": run["run"],
                         "message": run["message"]})  # fmt: skip
        for key, group in own.groupby("arm", sort=False):
            ended = last[(last["run"] == run["run"]) & (last["arm"] == key)]
            rows.append(_arm(group, tried, ended, planned))
    for row in rows:
        noise = row.get("label_noise_frac")
        if noise is not None and row["arm"] != LARGE:
            ends, trained = (one[one["label_noise_frac"] == noise] for one in (last, chosen))
            above = accuracy_difference(ends, trained, str(row["arm"]), LARGE)
            row |= interval_columns("over_large_frac", above)
    table = as_table(rows, COLUMNS)
    return table.sort_values(["label_noise_frac", "arm"], ignore_index=True, kind="stable")


def _curves(chosen: pd.DataFrame, evaluations: pd.DataFrame) -> Iterator[dict[str, Any]]:
    whole = chosen[chosen["status"] == "complete"]
    joined = evaluations.merge(
        whole[["run", "trial", "local_from_step", *ARM]], on=["run", "trial"]
    )
    for (noise, arm, epoch), group in joined.groupby([*ARM, "epoch"], sort=True):
        per_epoch = float(group["step"].iloc[0]) / float(epoch)
        switch = known(first_known(group["local_from_step"]))
        yield {
            "label_noise_frac": noise, "arm": arm, "title": title(str(arm)),
            "epoch": epoch, "seeds": len(group),
            "switch_epoch": None if switch is None else float(switch) / per_epoch,
            "runs": " ".join(group["run"].unique()),
        } | _estimates(group)  # fmt: skip


def local_sgd_curves(
    trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the curves of the arms: medians over the seeds that did not diverge, by epoch.

    switch_epoch: when local steps begin; null without any.
    """
    return as_table(_curves(results(trials, runs), evaluations), CURVES_COLUMNS)
