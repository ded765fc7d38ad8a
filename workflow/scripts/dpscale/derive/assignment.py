"""The cluster-training assignment: steps, accuracy, time and efficiency of every training."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.formulas import efficiency, full_run_seconds, full_steps, run_steps
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, Estimate, interval_columns, median, median_ratio
from dpscale.plan.assignment import LARGER_BATCH, LINEAR, STUDY

FULL_EPOCHS = 40  # of the assignment
_ESTIMATES = (
    "test_accuracy_frac train_s evaluation_s speedup_ratio efficiency_frac full_run_s "
    "epochs_efficiency_frac"
)
COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | texts("rule")
    | integers("epochs steps seeds")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in _ESTIMATES.split()))
    | floats("startup_s lr")
    | integers("global_batch train_samples test_samples planned_steps counted_workers")
    | integers("full_run_epochs full_run_steps")
    | flags("oversubscribed")
    | texts("status message dataset model optimizer runs base_status base_runs")
)


def _seeds(run: str, epochs: pd.DataFrame) -> pd.DataFrame:
    """Return train_s, of it epochs_s and evaluation_s, and the last accuracy of each seed."""
    own = epochs[epochs["run"] == run].sort_values(["seed", "epoch"])
    by_seed = own.groupby("seed")
    epochs_s, evaluation_s = (by_seed[name].sum(min_count=1) for name in ("wall_s", "evaluation_s"))
    return pd.DataFrame(
        {
            "train_s": epochs_s + evaluation_s,
            "epochs_s": epochs_s,
            "evaluation_s": evaluation_s,
            "test_accuracy_frac": by_seed["test_accuracy_frac"].last(),
        }
    ).astype(float)


def _counted(run: str, steps: pd.DataFrame) -> dict[str, int]:
    """Return the steps that one training made and the workers that made them, both counted."""
    own = steps[steps["run"] == run]
    if own.empty:
        return {}
    one = own[own["seed"] == own["seed"].min()]
    return {
        "steps": len(one[["epoch", "step"]].drop_duplicates()),
        "counted_workers": int(one["rank"].nunique()),
    }


def _plan_of(run: pd.Series) -> dict[str, Any]:
    """Return what a run was planned to do: B, D and the steps of full batches."""
    epochs, samples = int(run["epochs"]), known(run["train_samples"])
    an_epoch = full_steps(int(samples), int(run["global_batch"])) if samples else None
    return {
        **{name: run[name] for name in COLUMNS if name in run.index and name != "seeds"},
        "rule": run["arm"],  # `runs` has a rule of its own, that of S2
        "runs": run["run"],
        "planned_steps": an_epoch and run_steps(an_epoch, epochs),
        "full_run_epochs": FULL_EPOCHS,
        "full_run_steps": an_epoch and run_steps(an_epoch, FULL_EPOCHS),
    }


def _row(
    run: pd.Series, base: pd.Series | None, epochs: pd.DataFrame, steps: pd.DataFrame
) -> dict[str, Any]:
    row = _plan_of(run) | {
        "base_runs": None if base is None else base["run"],
        "base_status": None if base is None else base["status"],
    }
    if run["status"] != "complete":
        return row
    own = _seeds(run["run"], epochs)
    row |= {"seeds": len(own)} | _counted(run["run"], steps)
    for name in ("test_accuracy_frac", "train_s", "evaluation_s"):
        row |= interval_columns(name, median(own[name].to_numpy()))
    full = full_run_seconds(own["train_s"], int(run["epochs"]), FULL_EPOCHS)
    row |= interval_columns("full_run_s", median(full.to_numpy()))
    ones = None
    if base is not None and base["status"] == "complete" and base["epochs"] == run["epochs"]:
        ones = _seeds(base["run"], epochs)
    return row | _speedup(run, ones, own, alone=base is not None and run["run"] == base["run"])


def _speedup(
    run: pd.Series, ones: pd.DataFrame | None, own: pd.DataFrame, *, alone: bool
) -> dict[str, Any]:
    """Return T_1/T_N and T_1/(N T_N), also without the evaluations.

    alone: the run is the base itself, whose ratios are 1.
    """
    workers, ratios = int(run["workers"]), {}
    for name in ("train_s", "epochs_s"):
        ratios[name] = UNKNOWN
        if alone:
            ratios[name] = Estimate(1.0, 1.0, 1.0, len(own))
        elif ones is not None:
            ratios[name] = median_ratio(ones[name].to_numpy(), own[name].to_numpy())
    return (
        interval_columns("speedup_ratio", ratios["train_s"])
        | interval_columns("efficiency_frac", _share(ratios["train_s"], workers))
        | interval_columns("epochs_efficiency_frac", _share(ratios["epochs_s"], workers))
    )


def _share(ratio: Estimate, workers: int) -> Estimate:
    """Return the efficiency of a speed-up."""
    value, low, high = (None if end is None else efficiency(end, workers) for end in ratio[:3])
    return Estimate(value, low, high, ratio.repeats)


def assignment(epochs: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row a training of the assignment: medians over its seeds, 95% intervals.

    train_s is what a user waits for once it trains: the wall time of all epochs, loading included,
    of the slowest worker, and of it evaluation_s for the evaluation after each; startup_s, not in
    it, from the start of the processes to the first step. steps and counted_workers are counted in
    the recorded steps, planned_steps is epochs * floor(D/B). full_run_s scales train_s to
    FULL_EPOCHS. Speed-up and efficiency are those of train_s against one worker with the linear
    rule, epochs_efficiency_frac that without the evaluations, which every worker makes whole. A run
    without a record is a row with its status and nulls. Raises MixedMachinesError for runs of
    different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    trained = planned[planned["arm"] != LARGER_BATCH]
    bases = trained[(trained["arm"] == LINEAR) & (trained["workers"] == 1)]
    base = bases.iloc[0] if len(bases) else None
    rows = [_row(run, base, epochs, steps) for _, run in trained.iterrows()]
    return as_table(rows, COLUMNS)
