"""H1 to H6, derived: every training, one worker's utilisation, and where an epoch goes."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, in_study, over_launches
from dpscale.derive.columns import as_table, known
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import (
    efficiency,
    epoch_seconds,
    full_run_seconds,
    full_steps,
    run_steps,
)
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import split_of
from dpscale.derive.statistics import (
    Estimate,
    estimate_of,
    interval_columns,
    median,
    median_ratio,
    over_seeds,
)
from dpscale.derive.tables import Table
from dpscale.derive.trainings import TRIAL, evaluations, tested_apart, trained
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.assignment import published, verdicts
from dpscale.studies.assignment.plan import LARGER_BATCH, LINEAR, SPLIT_STUDY, STUDY
from dpscale.studies.assignment.published import FULL_EPOCHS
from dpscale.studies.assignment.verdicts import LOSSES, RULES
from dpscale.vocabulary import words

TRAINING_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch")
    | words("rule", RULES)
    | columns("epochs steps seeds")
    | intervals("test_accuracy_frac train_s evaluation_s speedup_ratio efficiency_frac full_run_s")
    | intervals("epochs_efficiency_frac test_accuracy_difference_frac")
    | columns("startup_s lr global_batch train_samples test_samples planned_steps counted_workers")
    | columns("full_run_epochs full_run_steps oversubscribed status message dataset model")
    | columns("optimizer device runs base_status base_runs")
    | verdicts.TRAINING_COLUMNS
)


def trainings(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a training of the assignment: medians over its seeds, 95% intervals.

    train_s is what a user waits for once it trains: the wall time of all epochs, loading included,
    of the slowest worker, and of it evaluation_s for the evaluation after each; startup_s, not in
    it, from the start of the processes to the first step. Accuracies hold the sampling of the test
    images; test_accuracy_difference_frac is less that of one worker with the linear rule, paired by
    seed. steps and counted_workers are counted in
    the recorded steps, planned_steps is epochs * floor(D/B). full_run_s scales train_s to
    FULL_EPOCHS. Speed-up and efficiency are those of train_s against one worker with the linear
    rule, epochs_efficiency_frac that without the evaluations, which every worker makes whole. A run
    without a record is a row with its status and nulls. Raises MixedMachinesError for runs of
    different machines.
    """
    planned = in_study(runs, STUDY)
    require_same_machine(planned)
    asked = planned[planned["arm"] != LARGER_BATCH]
    bases = asked[(asked["arm"] == LINEAR) & (asked["workers"] == 1)]
    base = bases.iloc[0] if len(bases) else None
    by_run, ends = RowsByKey(steps, "run"), RowsByKey(_seeds(asked, trials, curves), "run")
    ones = None if base is None else ends.of(base["run"])
    rows = []
    for _, run in asked.iterrows():
        row = _planned(run)
        if base is not None:
            row |= {"base_runs": base["run"], "base_status": base["status"]}
        if run["status"] == "complete":
            row |= _counted(by_run.of(run["run"]))
            row |= _timed(run, ends.of(run["run"]).copy(), base, ones)
        rows.append(row)
    return as_table(rows, TRAINING_COLUMNS)


def _planned(run: pd.Series) -> dict[str, Any]:
    """Return what a run was planned to do: B, D and the steps of full batches."""
    samples = known(run["train_samples"])
    an_epoch = full_steps(int(samples), int(run["global_batch"])) if samples else None
    return {
        **{name: run[name] for name in TRAINING_COLUMNS if name in run.index and name != "seeds"},
        "rule": run["arm"],  # `runs` has a rule of its own, that of S2
        "runs": run["run"],
        "planned_steps": an_epoch and run_steps(an_epoch, int(run["epochs"])),
        "full_run_epochs": FULL_EPOCHS,
        "full_run_steps": an_epoch and run_steps(an_epoch, FULL_EPOCHS),
    }


def _counted(steps: pd.DataFrame) -> dict[str, int | None]:
    """Return the steps that one seed's training made and the workers that made them."""
    one = steps[steps["seed"] == steps["seed"].min()]
    made = one[["epoch", "step"]].drop_duplicates()
    return {"steps": len(made) or None, "counted_workers": one["rank"].nunique() or None}


def _seeds(runs: pd.DataFrame, trials: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return train_s, of it epochs_s and evaluation_s, and the last accuracy of each seed."""
    models = trained(trials, runs)
    seen = evaluations(models, curves).groupby(TRIAL)
    sums = seen[["wall_s", "evaluation_s"]].sum(min_count=1)
    made = sums.assign(
        train_s=sums["wall_s"] + sums["evaluation_s"],
        epochs_s=sums["wall_s"],
        test_accuracy_frac=seen["test_accuracy_frac"].last(),
    ).astype(float)
    made["test_right"] = seen["test_right"].last()
    return models[["run", "trial", "seed"]].join(made, on=TRIAL).set_index("seed")


def _timed(
    run: pd.Series, own: pd.DataFrame, base: pd.Series | None, ones: pd.DataFrame | None
) -> dict[str, Any]:
    """Return accuracy and times over the seeds, T_1/T_N and T_1/(N T_N) against the base's."""
    workers, images = int(run["workers"]), known(run["test_samples"])
    own["full_run_s"] = full_run_seconds(own["train_s"], int(run["epochs"]), FULL_EPOCHS)
    row: dict[str, Any] = {"seeds": len(own)}
    for name in ("train_s", "evaluation_s", "full_run_s"):
        row |= interval_columns(name, median(own[name].to_numpy()))
    reached = own["test_accuracy_frac"]
    row |= interval_columns("test_accuracy_frac", over_seeds(reached, images))
    if base is None or ones is None or base["status"] != "complete":
        return row
    if base["epochs"] != run["epochs"]:
        return row
    alone = run["run"] == base["run"]
    if not alone:
        apart = tested_apart(own, ones, images)
        row |= interval_columns("test_accuracy_difference_frac", apart)
    for name, share in (("train_s", "efficiency_frac"), ("epochs_s", "epochs_efficiency_frac")):
        ratio = median_ratio(ones[name].to_numpy(), own[name].to_numpy())
        if alone:
            ratio = Estimate(1.0, 1.0, 1.0, len(own))
        value, low, high = (None if end is None else efficiency(end, workers) for end in ratio[:3])
        row |= interval_columns(share, Estimate(value, low, high, ratio.repeats))
        if name == "train_s":
            row |= interval_columns("speedup_ratio", ratio)
    return row


UTILISATION = "utilisation_frac samples_per_s load_frac compute_frac"
COMPUTE = ["forward_s", "backward_s", "update_s"]
UTILISATION_COLUMNS: Columns = (
    columns("per_worker_batch status")
    | intervals(UTILISATION)
    | columns("repeats device dataset runs message")
    | verdicts.UTILISATION_COLUMNS
)


def utilisation(
    trials: pd.DataFrame, curves: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a batch of one worker, ascending: its utilisation while it trains.

    utilisation_frac: on a GPU NVML's share of time with a kernel running, on a CPU processor time
    over wall time and threads, loading in this process included. load_frac: share of the wall time
    in which the device waits for the loader; compute_frac: that of forward pass, backward pass and
    update, an idle device between two kernels included. Medians over epochs and seeds, the first
    epoch left out.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, STUDY)
    alone = planned[(planned["workers"] == 1) & planned["arm"].isin([LINEAR, LARGER_BATCH])]
    require_same_machine(alone)
    seen = RowsByKey(evaluations(trained(trials, alone), curves), "run")
    rows = []
    for _, run in alone.sort_values("per_worker_batch").iterrows():
        row = {name: run[name] for name in ("per_worker_batch", "status", "device", "dataset")}
        row |= {"runs": run["run"], "message": run["message"]}
        if run["status"] == "complete":
            own = _warm_epochs(seen.of(run["run"]), steps)
            row["repeats"] = len(own)
            for name in UTILISATION.split():
                found = median(own[name].to_numpy(float, na_value=np.nan))
                row |= interval_columns(name, found)
        rows.append(row)
    return as_table(rows, UTILISATION_COLUMNS)


def _warm_epochs(seen: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of each epoch of a run but the first of each seed, which warms up."""
    keys, measured = ["seed", "epoch"], ["samples", "load_s", *COMPUTE]
    sums = steps[steps["run"].isin(seen["run"])].groupby(keys)[measured].sum(min_count=1)
    own = seen[seen["epoch"] > 1].join(sums, on=keys)
    return own.assign(
        samples_per_s=own["samples"] / own["wall_s"],
        load_frac=own["load_s"] / own["wall_s"],
        compute_frac=own[COMPUTE].sum(axis=1) / own["wall_s"],
    )


PARTS = (*LOSSES, "computation")  # the last is the rest of the epoch
DIRECT = {
    "stragglers": "straggler_s",
    "overhead": "overhead_s",
    "exposed": "exposed_s",
    "sharing": "sharing_s",
}
ARM = "with_loading"
SPLIT_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status")
    | intervals("epoch_s")
    | columns(" ".join(f"{part}_{unit}" for unit in ("s", "frac") for part in PARTS))
    | columns(" ".join(f"{part}_frac_{end}" for part in LOSSES for end in ("low", "high")))
    | columns("oversubscribed repeats runs message")
    | verdicts.SPLIT_COLUMNS
)


def split(
    epoch_times: pd.DataFrame, spans: pd.DataFrame, steps: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the parts of an epoch of D samples with loading, a row for each (workers, nodes).

    load and copy are phases of the steps with loading; exposed (communication that computation
    does not hide), overhead (of DDP), stragglers (the slowest copy against the mean one) and
    sharing (the rest of what copies side by side cost each other) are differences of arms without
    loading; computation is the rest, so that the parts add up to epoch_s. Shares are of epoch_s.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, SPLIT_STUDY)
    arms = split_of(planned, epoch_times, spans)
    times, full = Launches(epoch_times), steps_of_full_batches(steps, planned)
    rows = []
    for cell in cells(planned):
        same = (arms["workers"] == cell.workers) & (arms["nodes"] == cell.nodes)
        rows.append(_split_row(cell, arms[same], times, full))
    return as_table(rows, SPLIT_COLUMNS)


def _split_row(
    cell: Cell, arms: pd.DataFrame, times: Launches, steps: pd.DataFrame
) -> dict[str, Any]:
    epoch = median(times.epoch_s(cell, ARM))
    row = cell._asdict() | {"runs": " ".join(cell.runs), "repeats": epoch.repeats}
    row |= interval_columns("epoch_s", epoch)
    if not epoch.value:
        return row
    parts = _loading(cell, steps) | (_direct(arms.iloc[0]) if len(arms) else {})
    seconds = [part.value for part in parts.values() if part.value is not None]
    if len(seconds) == len(LOSSES):
        parts["computation"] = Estimate(epoch.value - sum(seconds), None, None, 0)
    for part, estimate in parts.items():
        row[f"{part}_s"] = estimate.value
        for end, value in zip(("", "_low", "_high"), estimate[:3], strict=True):
            row[f"{part}_frac{end}"] = None if value is None else value / epoch.value
    return row


def _loading(cell: Cell, steps: pd.DataFrame) -> dict[str, Estimate]:
    """Return the seconds of loading and copying in an epoch of D samples, medians over launches.

    The mean over ranks: a rank that waits for another's loading does so in its backward pass.
    """
    own = steps[steps["run"].isin(cell.runs) & (steps["arm"] == ARM)].groupby(["run", "repeat"])
    ranks, samples = own["rank"].nunique(), own["samples"].sum()
    found = {}
    for part in ("load", "copy"):
        mean_s = own[f"{part}_s"].sum() / ranks
        whole = epoch_seconds(mean_s, samples, cell.train_samples or np.nan).astype(float)
        found[part] = median(over_launches(whole))
    return found


def _direct(arms: pd.Series) -> dict[str, Estimate]:
    """Return the parts that the arms measured."""
    return {part: estimate_of(arms, column) for part, column in DIRECT.items()}


TABLES = {
    "assignment": Table(
        trainings, ["trials", "curves", "steps", "runs"], TRAINING_COLUMNS, verdicts.trainings
    ),
    "assignment_utilisation": Table(
        utilisation,
        ["trials", "curves", "steps", "runs"],
        UTILISATION_COLUMNS,
        verdicts.utilisation,
    ),
    "assignment_split": Table(
        split, ["epoch_times", "spans", "steps", "runs"], SPLIT_COLUMNS, verdicts.losses
    ),
    "assignment_published": Table(
        published.beside_published,
        ["assignment", "accuracy", "assignment_utilisation"],
        published.COLUMNS,
    ),
}
