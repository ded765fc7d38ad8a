"""The batch-size sweep on one device, and the boundary where it ends."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import epoch_seconds, full_steps, samples_per_second
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import median
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import beside, trend
from dpscale.records.columns import Columns, columns, intervals
from dpscale.vocabulary import Verdict, words

SWEEP_COLUMNS: Columns = (
    columns("per_worker_batch status")
    | intervals("epoch_s")
    | columns("samples_per_s peak_memory_bytes utilisation_frac repeats steps_per_epoch update_s")
    | columns("forward_s backward_s copy_s limit train_samples memory_budget_bytes repeated_data")
    | columns("message runs launches launch_spread_frac")
)
Shape = Literal[
    "single", "unknown", "same", "mixed", "rises", "falls", "falls then flat", "falls then rises"
]
# Batches of the sweep that its trend speaks of.
MARKS = ("first", "start", "knee", "best", "finish", "last", "least", "slowest")
TREND_COLUMNS: Columns = (
    words("shape", Shape)
    | columns(" ".join(f"{mark}_batch" for mark in MARKS))
    | words("last_step", Verdict)
    | columns("utilisation_differs runs")
)
BOUNDARY_COLUMNS: Columns = (
    columns("largest_fit_batch smallest_failed_batch first_failure_batch limit")
    | columns("fit_confirmations failure_confirmations memory_budget_bytes runs gap_frac")
    | columns("sometimes")
)
ARM = "without_loading"
PHASES = ["update_s", "forward_s", "backward_s", "copy_s"]
BUSIER_FRAC = 0.01  # of the time: what a device is busier at some batch sizes than at others
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


def _row(cell: Cell, runs: pd.DataFrame, times: Launches, phases: pd.DataFrame) -> dict[str, Any]:
    own = runs[runs["run"].isin(cell.runs)]
    time = median(times.epoch_s(cell, ARM))
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
        **times.columns(cell, ARM),
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
    times, phases = Launches(epoch_times), _phases_of_rank_0(steps, planned)
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


def judge_boundary(rows: list[dict[str, Any]]) -> None:
    """Notes how far the batch that fails is above the one that fits, as a fraction of that.

    sometimes: a batch below the smallest that always fails failed in some process.
    """
    for row in rows:
        largest, failed = row["largest_fit_batch"], row["smallest_failed_batch"]
        row["gap_frac"] = failed / largest - 1 if failed and largest else None
        row["sometimes"] = (row["first_failure_batch"] or 0) < (failed or 0)


def sweep_trend(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return one row: how the epoch's time changes over the batch sizes that have one.

    Of every two batch sizes, not of the ends alone: a larger one that takes less time is a fall,
    one that takes more a rise. `best` is the batch whose interval ends lowest, so that it is told
    apart from every one that is told apart from any faster; `start` and `finish` are the first and
    the last that it is told apart from, `knee` the one from which on it is told apart from none;
    `last_step` sets the last batch against the one before. utilisation_differs: by a percent.
    """
    rows = sweep[sweep["status"] == "complete"].to_dict("records")
    if not rows:
        return as_table([], TREND_COLUMNS)
    timed = [row for row in rows if known(row["epoch_s_high"]) is not None]
    best = min(timed or rows, key=lambda row: row["epoch_s_high"] if timed else row["epoch_s"])
    slower = [row for row in rows if beside(row, best, "epoch_s") == "above"]
    start, finish = (slower[0], slower[-1]) if slower else (rows[0], rows[-1])
    knee = rows[min(rows.index(finish) + 1, rows.index(best))] if slower else rows[0]
    ranked = sorted(rows, key=lambda row: float(row["epoch_s"]))
    found = dict(
        zip(
            MARKS,
            (rows[0], start, knee, best, finish, rows[-1], ranked[0], ranked[-1]),
            strict=True,
        )
    )
    busy = [row["utilisation_frac"] for row in rows if known(row["utilisation_frac"]) is not None]
    row = {f"{mark}_batch": one["per_worker_batch"] for mark, one in found.items()}
    row |= {
        "shape": _shape(rows, rows.index(best), rows.index(knee)),
        "last_step": beside(rows[-1], rows[-2], "epoch_s") if rows[1:] else None,
        "utilisation_differs": bool(busy) and max(busy) - min(busy) >= BUSIER_FRAC,
        "runs": " ".join(row["runs"] for row in rows),
    }
    return as_table([row], TREND_COLUMNS)


def _shape(rows: Sequence[dict[str, Any]], best: int, knee: int) -> Shape:
    """The shape of the curve, with the places of the best batch and of the knee."""
    if len(rows) < 2:
        return "single"
    moves = trend(rows, "epoch_s")
    if moves == "both":
        turns = trend(rows[: best + 1], "epoch_s"), trend(rows[best:], "epoch_s")
        return "falls then rises" if turns == ("below", "above") else "mixed"
    if moves == "below":
        return "falls" if knee == len(rows) - 1 else "falls then flat"
    return "unknown" if moves == "unknown" else "rises" if moves == "above" else "same"


TABLES = {
    "sweep": Table(sweep, ["runs", "steps", "epoch_times"], SWEEP_COLUMNS),
    "sweep_trend": Table(sweep_trend, ["sweep"], TREND_COLUMNS),
    "boundary": Table(boundary, ["runs", "probes"], BOUNDARY_COLUMNS, judge_boundary),
}
