"""The batch-size sweep on one device, and the boundary where it ends."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpscale.derive.cells import Cell, Launches, by_launch_end, cells, in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import Prior, prior_of
from dpscale.derive.epoch_times import steps_of_full_batches
from dpscale.derive.formulas import (
    epoch_seconds,
    full_steps,
    iterations_per_epoch,
    samples_per_second,
)
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    among,
    interval_columns,
    like_pairs,
    median,
    paired_median_ratio,
)
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import Trend, ends, overall, side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.vocabulary import Verdict, words

SWEEP_COLUMNS: Columns = (
    columns("per_worker_batch status")
    | intervals("epoch_s")
    | columns("samples_per_s peak_memory_bytes utilisation_frac repeats steps_per_epoch update_s")
    | columns("forward_s backward_s copy_s limit train_samples memory_budget_bytes repeated_data")
    | columns("message runs launches launch_spread_frac iteration_s")
)
Shape = Literal[
    "single",
    "unknown",
    "undecided",
    "same",
    "mixed",
    "rises",
    "falls",
    "falls then flat",
    "falls then undecided",
    "falls then rises",
]
# Batches of the sweep that its trend speaks of.
MARKS = ("first", "start", "bulk", "knee", "best", "finish", "last", "least", "slowest")
TREND_COLUMNS: Columns = (
    words("shape", Shape)
    | columns(" ".join(f"{mark}_batch" for mark in MARKS))
    | words("last_step", Verdict)
    | columns("growth_ratio longer_ratio first_saving_frac last_saving_frac")
    | columns("fixed_s per_sample_s line_off_frac")
    | columns("runs")
)
PAIR_COLUMNS: Columns = (
    columns("per_worker_batch to_batch")
    | intervals("epoch_ratio")
    | side("epoch_moves", "epoch_ratio", 1.0)
    | columns("runs")
)
PHASES = ("copy", "forward", "backward", "update")
PHASE_COLUMNS: Columns = (
    words("move", ("saved", "added"))
    | words("phase", PHASES)
    | columns("per_worker_batch to_batch moved_s moved_frac runs")
)
BOUNDARY_COLUMNS: Columns = (
    columns("largest_fit_batch smallest_failed_batch first_failure_batch limit")
    | columns("fit_confirmations failure_confirmations memory_budget_bytes runs gap_frac")
    | columns("sometimes")
)
ARM = "without_loading"
SAME_FRAC = 0.25  # of an epoch: what batches that take the same differ by at most
BULK_FRAC = 0.75  # of what the best batch saves
SHOWN_FRAC = 0.01  # of the difference of two epochs: what a phase moves at least
LIMITS = {"out_of_memory": "memory", "exceeds_dataset": "dataset"}


def _phases_of_rank_0(steps: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return seconds per epoch of D samples of each phase, a row for each (run, repeat)."""
    full = steps_of_full_batches(steps, runs)
    mine = full[(full["arm"] == ARM) & (full["rank"] == 0)]
    by_repeat = mine.groupby(["run", "repeat", "train_samples"], sort=False)
    parts = [f"{phase}_s" for phase in PHASES]
    sums = by_repeat[["samples", "step_s", *parts]].sum().reset_index()
    for phase in ["step_s", *parts]:
        sums[phase] = epoch_seconds(sums[phase], sums["samples"], sums["train_samples"])
    return sums


def _phase_seconds(parts: pd.DataFrame, epoch_s: float | None) -> dict[str, float | None]:
    """Return each phase's share of all repeats' time, of the epoch's median: they add up to it."""
    whole = parts["step_s"].sum()
    names = [f"{phase}_s" for phase in PHASES]
    if epoch_s is None or not whole:
        return dict.fromkeys(names)
    return {name: epoch_s * parts[name].sum() / whole for name in names}


def _largest(column: pd.Series) -> int | None:
    return known(column.astype("Int64").max())


def _row(
    cell: Cell, runs: pd.DataFrame, times: Launches, phases: pd.DataFrame, prior: Prior
) -> dict[str, Any]:
    own = runs[runs["run"].isin(cell.runs)]
    time = median(times.epoch_s(cell, ARM), prior=prior)
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

    epoch_s is without loading, for D samples, iteration_s = epoch_s / (D/b); update_s, forward_s,
    backward_s and copy_s are parts of the epoch on rank 0 (medians over repeats); steps_per_epoch
    counts full batches. The last row is the first out_of_memory (limit "memory") or exceeds_dataset
    (limit "dataset"). Few launches borrow the spread of those of the other batches. Raises
    MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "sweep")
    require_same_machine(planned)
    times, phases = Launches(epoch_times), _phases_of_rank_0(steps, planned)
    rows, found = [], list(cells(planned))
    prior = prior_of(np.log(times.epoch_s(cell, ARM).to_numpy(float)) for cell in found)
    for cell in found:
        rows.append(_row(cell, planned, times, phases, prior))
        if cell.status in LIMITS:
            break
    return as_table(rows, SWEEP_COLUMNS)


def judge_sweep(rows: list[dict[str, Any]]) -> None:
    """Notes the seconds of an iteration: those of the epoch over D/b."""
    for row in rows:
        row["iteration_s"] = None
        if row["epoch_s"] and row["train_samples"]:
            iterations = iterations_per_epoch(row["train_samples"], 1, row["per_worker_batch"])
            row["iteration_s"] = row["epoch_s"] / iterations


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


def sweep_pairs(runs: pd.DataFrame, epoch_times: pd.DataFrame) -> pd.DataFrame:
    """Return of every two batch sizes how many times as long an epoch takes at the larger one.

    Paired by launch, so that the machine's pace, which changes for minutes, leaves the interval;
    how the ratios of neighbouring batch sizes scatter tells how those of any two do. The intervals
    hold together in 95 of 100. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "sweep")
    require_same_machine(planned)
    times = Launches(epoch_times)
    timed = [
        (cell, seconds if (labelled := by_launch_end(seconds)) is None else labelled)
        for cell in cells(planned)
        if len(seconds := times.epoch_s(cell, ARM))
    ]
    logs = [np.log(seconds) for _, seconds in timed]
    prior = like_pairs(pairwise(logs))
    confidence = among(math.comb(len(timed), 2))
    rows = [
        {"per_worker_batch": cell.per_worker_batch, "to_batch": larger.per_worker_batch}
        | interval_columns("epoch_ratio", paired_median_ratio(longer, seconds, prior, confidence))
        | {"runs": " ".join([*cell.runs, *larger.runs])}
        for (cell, seconds), (larger, longer) in combinations(timed, 2)
    ]
    return as_table(rows, PAIR_COLUMNS)


class _Pairs:
    """What is known of any two batch sizes."""

    def __init__(self, pairs: pd.DataFrame) -> None:
        places = pairs.set_index(["per_worker_batch", "to_batch"])
        self._rows = dict(zip(places.index, places.to_dict("records"), strict=True))

    def of(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the row of the epoch at a larger batch over that at a smaller one."""
        return self._rows[one["per_worker_batch"], other["per_worker_batch"]]

    def slower(
        self, row: Mapping[str, Any], rows: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the rows whose epoch is measurably longer than that of one of them."""
        place = rows.index(row)
        before = [one for one in rows[:place] if self.of(one, row)["epoch_moves"] == "below"]
        return before + [
            one for one in rows[place + 1 :] if self.of(row, one)["epoch_moves"] == "above"
        ]

    def best(self, rows: Sequence[dict[str, Any]]) -> int:
        """Return the place of the row that fewest are faster than; of several, faster than most."""
        slower_than = [self.slower(row, rows) for row in rows]
        faster = [sum(row in slower for slower in slower_than) for row in rows]
        ranked = zip(faster, (-len(slower) for slower in slower_than), rows, strict=True)
        keys = [(more, less, row["epoch_s"]) for more, less, row in ranked]
        return keys.index(min(keys))

    def trend(self, rows: Sequence[dict[str, Any]]) -> Trend:
        """Return how the time of an epoch goes over batch sizes."""
        return overall(self.of(*pair)["epoch_moves"] for pair in combinations(rows, 2))

    def alike(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Whether epochs are the same within a margin, and not just not measurably different."""
        spans = [ends(self.of(*pair), "epoch_ratio") for pair in combinations(rows, 2)]
        most = 1 + SAME_FRAC
        return all(span and 1 / most <= span[0] and span[1] <= most for span in spans)


def sweep_trend(sweep: pd.DataFrame, sweep_pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row: how the epoch's time changes over the batch sizes that have one.

    Of every two batch sizes, not of the ends alone: a larger one that takes measurably less time is
    a fall, one that takes more a rise. `best` is a batch that none is measurably faster than, of
    those the one that is faster than most; `undecided` where no two differ measurably, nor are all
    the same within a quarter, as `falls then undecided` from the knee on; `start` and `finish` are
    the first and the last that `best` is faster than, `bulk` the first with three quarters of what
    it saves beside `start`, `knee` the one from which on it is faster than none; `last_step` sets
    the last batch against the one before. fixed_s, per_sample_s and line_off_frac are of
    `straight_line`, of three batch sizes and more.
    """
    rows = sweep[(sweep["status"] == "complete") & sweep["epoch_s"].notna()].to_dict("records")
    if not rows:
        return as_table([], TREND_COLUMNS)
    pairs = _Pairs(sweep_pairs)
    place = pairs.best(rows)
    best, slower = rows[place], pairs.slower(rows[place], rows)
    start, finish = (slower[0], slower[-1]) if slower else (rows[0], rows[-1])
    knee = rows[min(rows.index(finish) + 1, place)] if slower else rows[0]
    ranked = sorted(rows, key=lambda row: float(row["epoch_s"]))
    shape = _shape(pairs, rows, place, rows.index(knee))
    marks = {
        "first": rows[0],
        "start": start,
        "bulk": _bulk(rows, start, best),
        "knee": knee,
        "best": best,
        "finish": finish,
        "last": rows[-1],
        "least": ranked[0],
        "slowest": ranked[-1],
    }
    row = {f"{mark}_batch": marks[mark]["per_worker_batch"] for mark in MARKS} | {
        "shape": shape,
        "last_step": pairs.of(rows[-2], rows[-1])["epoch_moves"] if rows[1:] else None,
        "runs": " ".join(row["runs"] for row in rows),
    }
    one, other = (_of_batch(rows, batch) for batch in ends_of(row)[:2])
    other = rows[-1] if one is other else other
    row["growth_ratio"] = other["per_worker_batch"] / one["per_worker_batch"]
    row["longer_ratio"] = other["iteration_s"] / one["iteration_s"]
    if rows[1:]:
        row["first_saving_frac"] = 1 - rows[1]["epoch_s"] / rows[0]["epoch_s"]
        row["last_saving_frac"] = 1 - rows[-1]["epoch_s"] / rows[-2]["epoch_s"]
    return as_table([row | _line(rows)], TREND_COLUMNS)


def _line(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The columns of the straight line through iterations; none of fewer than three."""
    timed = [row for row in rows if known(row["iteration_s"]) is not None]
    if len(timed) < 3:
        return {}
    batches, seconds = (
        [row[name] for row in timed] for name in ("per_worker_batch", "iteration_s")
    )
    line = straight_line(batches, seconds)
    return dict(zip(("fixed_s", "per_sample_s", "line_off_frac"), line, strict=True))


def straight_line(
    batches: Sequence[int], iteration_s: Sequence[float]
) -> tuple[float, float, float]:
    """Return a and c of the line a + c b through iterations of b samples, and how far it is off.

    In seconds an iteration, seconds a sample, and the largest deviation as a fraction of what was
    measured. Least squares of such fractions, since iterations scatter by a share of their length.
    """
    seconds = np.asarray(iteration_s, dtype=float)
    terms = np.column_stack([1 / seconds, np.asarray(batches) / seconds])
    (fixed_s, per_sample_s), *_ = np.linalg.lstsq(terms, np.ones(len(seconds)))
    off = terms @ (fixed_s, per_sample_s) - 1
    return float(fixed_s), float(per_sample_s), float(abs(off).max())


def _bulk(
    rows: Sequence[dict[str, Any]], start: dict[str, Any], best: dict[str, Any]
) -> dict[str, Any]:
    """The smallest batch that saves most of what the best one saves beside the start."""
    most_s = start["epoch_s"] - BULK_FRAC * (start["epoch_s"] - best["epoch_s"])
    between = rows[rows.index(start) : rows.index(best)]
    return next((row for row in between if row["epoch_s"] <= most_s), best)


def ends_of(found: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the batches between which the epoch's time falls, and up to which it then rises."""
    shape = str(found["shape"])
    first = found["start_batch" if shape.startswith("falls") else "first_batch"]
    last = found["finish_batch" if shape.endswith("rises") else "last_batch"]
    return first, found["best_batch"], last


def _of_batch(rows: Sequence[dict[str, Any]], batch: int) -> dict[str, Any]:
    return next(row for row in rows if row["per_worker_batch"] == batch)


def sweep_phases(sweep: pd.DataFrame, sweep_trend: pd.DataFrame) -> pd.DataFrame:
    """Return the phases that take less of an epoch where its time falls, and more where it rises.

    saved: from the batch before the fall to the best, added: from the best to that after the rise;
    the most seconds first, none that moves less than a percent. moved_frac: over the difference of
    the two epochs.
    """
    rows = sweep[sweep["status"] == "complete"].to_dict("records")
    found: list[dict[str, Any]] = []
    for of_sweep in sweep_trend.to_dict("records"):
        first, best, last = (_of_batch(rows, batch) for batch in ends_of(of_sweep))
        found += _moved("saved", first, best) + _moved("added", last, best)
    return as_table(found, PHASE_COLUMNS)


def _moved(move: str, more: dict[str, Any], less: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the phases that take longer at one batch than at another."""
    whole = more["epoch_s"] - less["epoch_s"]
    batches = sorted((more["per_worker_batch"], less["per_worker_batch"]))
    row = {"move": move, "per_worker_batch": batches[0], "to_batch": batches[1]}
    row["runs"] = f"{more['runs']} {less['runs']}"
    moved = {phase: more[f"{phase}_s"] - less[f"{phase}_s"] for phase in PHASES}
    least = SHOWN_FRAC * max(whole, 0)
    longer = sorted((one for one in PHASES if moved[one] > least), key=lambda one: -moved[one])
    return [
        row
        | {"phase": phase, "moved_s": moved[phase]}
        | {"moved_frac": moved[phase] / whole if whole > 0 else None}
        for phase in longer
    ]


def _shape(pairs: _Pairs, rows: Sequence[dict[str, Any]], best: int, knee: int) -> Shape:
    """The shape of the curve, with the places of the best batch and of the knee."""
    if len(rows) < 2:
        return "single"
    moves = pairs.trend(rows)
    if moves == "both":
        turns = pairs.trend(rows[: best + 1]), pairs.trend(rows[best:])
        return "falls then rises" if turns == ("below", "above") else "mixed"
    if moves == "below":
        if knee == len(rows) - 1:
            return "falls"
        return "falls then flat" if pairs.alike(rows[knee:]) else "falls then undecided"
    if moves == "indistinct":
        return "same" if pairs.alike(rows) else "undecided"
    return "unknown" if moves == "unknown" else "rises"


TABLES = {
    "sweep": Table(sweep, ["runs", "steps", "epoch_times"], SWEEP_COLUMNS, judge_sweep),
    "sweep_pairs": Table(sweep_pairs, ["runs", "epoch_times"], PAIR_COLUMNS),
    "sweep_trend": Table(sweep_trend, ["sweep", "sweep_pairs"], TREND_COLUMNS),
    "sweep_phases": Table(sweep_phases, ["sweep", "sweep_trend"], PHASE_COLUMNS),
    "boundary": Table(boundary, ["runs", "probes"], BOUNDARY_COLUMNS, judge_boundary),
}
