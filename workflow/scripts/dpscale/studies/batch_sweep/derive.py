"""The batch-size sweep on one device, and the boundary where it ends."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, by_arm_and_run, cells, in_study, launches_of, rounds_of
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import epoch_seconds, full_steps, samples_per_second
from dpscale.derive.rows import RowsByKey
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import median
from dpscale.derive.tables import Table

SWEEP_COLUMNS: Columns = (
    integers("per_worker_batch")
    | texts("status")
    | floats("epoch_s epoch_s_low epoch_s_high samples_per_s")
    | integers("peak_memory_bytes")
    | floats("utilisation_frac")
    | integers("repeats steps_per_epoch")
    | floats("update_s forward_s backward_s copy_s")
    | texts("limit")
    | integers("train_samples memory_budget_bytes")
    | flags("repeated_data")
    | texts("message runs")
    | integers("launches")
    | floats("launch_spread_frac")
)
BOUNDARY_COLUMNS: Columns = (
    integers("largest_fit_batch smallest_failed_batch first_failure_batch")
    | texts("limit")
    | integers("fit_confirmations failure_confirmations memory_budget_bytes")
    | texts("runs")
)
ARM = "without_loading"
PHASES = ["update_s", "forward_s", "backward_s", "copy_s"]
LIMITS = {"out_of_memory": "memory", "exceeds_dataset": "dataset"}


def _phases_of_rank_0(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return seconds per epoch of D samples of each phase, a row for each (run, repeat)."""
    full = steps_of_full_batches(steps, runs)
    mine = full[(full["arm"] == ARM) & (full["rank"] == 0)]
    by_repeat = mine.groupby(["run", "repeat", "train_samples"], sort=False)
    sums = by_repeat[["samples", "step_s", *PHASES]].sum().reset_index()
    for phase in ["step_s", *PHASES]:
        sums[phase] = epoch_seconds(sums[phase], sums["samples"], sums["train_samples"])
    return sums


def _phase_seconds(parts: pd.DataFrame, epoch_s: float | None) -> dict[str, float | None]:
    """Return each phase's share of all repeats' time, of the epoch's median: they add up to it."""
    whole = parts["step_s"].sum()
    if epoch_s is None or not whole:
        return dict.fromkeys(PHASES)
    return {phase: epoch_s * parts[phase].sum() / whole for phase in PHASES}


def _largest(column: pd.Series) -> int | None:
    return known(column.astype("Int64").max())


def _row(cell: Cell, runs: pd.DataFrame, times: RowsByKey, phases: pd.DataFrame) -> dict[str, Any]:
    own = runs[runs["run"].isin(cell.runs)]
    time = median(rounds_of(cell, times, ARM))
    samples, batch = cell.train_samples, cell.per_worker_batch
    rate = samples_per_second(samples, time.value) if samples and time.value else None
    parts = phases[phases["run"].isin(cell.runs)]
    return {
        "per_worker_batch": batch,
        "status": cell.status,
        "epoch_s": time.value,
        "epoch_s_low": time.low,
        "epoch_s_high": time.high,
        "samples_per_s": rate,
        "peak_memory_bytes": _largest(own["peak_memory_bytes"]),
        "utilisation_frac": median(own["utilisation_frac"].astype("float64")).value,
        "repeats": time.repeats,
        "steps_per_epoch": full_steps(int(samples), batch) if samples else None,
        "limit": LIMITS.get(cell.status),
        "train_samples": samples,
        "memory_budget_bytes": _largest(own["memory_budget_bytes"]),
        "repeated_data": own["repeated_data"].astype("boolean").any() if len(own) else None,
        "message": " ".join(own["message"].dropna().unique()) or None,
        "runs": " ".join(cell.runs),
        **launches_of(cell, times, ARM),
    } | _phase_seconds(parts, time.value)


def sweep(runs: pd.DataFrame, steps: pd.DataFrame, epoch_times: pd.DataFrame) -> pd.DataFrame:
    """Return one row a per-worker batch, ascending, up to the first that does not fit.

    epoch_s is without loading, for D samples; update_s, forward_s, backward_s and copy_s are its
    parts on rank 0 (medians over repeats); steps_per_epoch counts full batches. The last row is
    the first out_of_memory (limit "memory") or exceeds_dataset (limit "dataset").
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "sweep")
    require_same_machine(planned)
    times, phases = by_arm_and_run(epoch_times), _phases_of_rank_0(steps, planned)
    rows = []
    for cell in cells(planned):
        rows.append(_row(cell, planned, times, phases))
        if cell.status in LIMITS:
            break
    return as_table(rows, SWEEP_COLUMNS)


def boundary(runs: pd.DataFrame, probes: pd.DataFrame) -> pd.DataFrame:
    """Return one row: the largest batch that fits, the smallest that fails, and their counts.

    largest_fit_batch never failed, nor did a smaller one; smallest_failed_batch never fitted, nor
    did a larger one; first_failure_batch is the smallest that failed in any process, below the
    former where batches fit in some processes only. A count is the number of processes, of the
    sweep and of the search alike, that tried that batch. limit is "memory" when any ran out of it,
    else "dataset" when any batch exceeded the dataset (then no batch failed), else null. No row
    when no sweep is planned. Raises MixedMachinesError for runs of different machines.
    """
    swept = in_study(runs, "sweep")
    require_same_machine(in_study(runs, "sweep", "boundary"))
    if swept.empty:
        return as_table([], BOUNDARY_COLUMNS)
    tried = pd.concat([swept[list(probes)], probes])
    failed = tried[tried["status"] == "out_of_memory"]
    fits = tried[tried["status"] == "complete"]
    first_failure = known(failed["per_worker_batch"].min())
    most = known(fits["per_worker_batch"].max())
    if first_failure is not None:
        fits = fits[fits["per_worker_batch"] < first_failure]
    if most is not None:
        failed = failed[failed["per_worker_batch"] > most]
    largest_fit = known(fits["per_worker_batch"].max())
    smallest_failed = known(failed["per_worker_batch"].min())
    fits = fits[fits["per_worker_batch"] == largest_fit] if len(fits) else fits
    failed = failed[failed["per_worker_batch"] == smallest_failed] if len(failed) else failed
    limits = [LIMITS[status] for status in LIMITS if (tried["status"] == status).any()]
    row = {
        "largest_fit_batch": largest_fit,
        "smallest_failed_batch": smallest_failed,
        "first_failure_batch": first_failure,
        "limit": limits[0] if limits else None,
        "fit_confirmations": len(fits),
        "failure_confirmations": len(failed),
        "memory_budget_bytes": _largest(swept["memory_budget_bytes"]),
        "runs": " ".join(dict.fromkeys([*fits["run"], *failed["run"]])) or None,
    }
    return as_table([row], BOUNDARY_COLUMNS)


TABLES = {
    "sweep": Table(sweep, ["runs", "steps", "epoch_times"], SWEEP_COLUMNS),
    "boundary": Table(boundary, ["runs", "probes"], BOUNDARY_COLUMNS),
}
