"""Scaling: epoch time, speed-up and efficiency of every planned cell, weak and strong."""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, in_study, one_worker_bases, sharing_launches
from dpscale.derive.columns import as_table, known
from dpscale.derive.contrasts import Prior
from dpscale.derive.formulas import efficiency
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    UNKNOWN,
    Estimate,
    estimate_of,
    interval_columns,
    like_pairs,
    median,
    together,
    verdict,
)
from dpscale.derive.verdicts import Trend, beside, side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.scaling import AGAIN, LEAST, PLANNED
from dpscale.studies.scaling.derive.arms import confidence_of
from dpscale.vocabulary import words

COLUMNS: Columns = (
    words("kind", ("weak", "strong"))
    | columns("workers nodes per_worker_batch global_batch status")
    | intervals("epoch_s speedup_ratio")
    | columns("efficiency_frac oversubscribed runs repeats efficiency_frac_low")
    | columns("efficiency_frac_high base_epoch_s base_status base_runs launches")
    | columns("launch_spread_frac")
    | side("pace", "speedup_ratio", 1.0)
    | side("to_ideal", "speedup_ratio", "workers")
    | words("to_least_batch to_weak")
    | intervals("over_fewest_ratio")
    | side("beside_fewest", "over_fewest_ratio", 1.0)
)
LESSON_COLUMNS: Columns = (
    columns("workers per_worker_batch cells")
    | intervals("best_ratio")
    | words("lesson")
    | words("to_fewest")
    | columns("everywhere fewest_everywhere")
    | columns("rising oversubscribed repeats runs base_runs")
)
STRONG_COLUMNS: Columns = words("compared", Trend) | columns("everywhere cells runs")
ARM = "with_loading"


def _speedup(
    cell: Cell, base: Cell | None, times: Launches, prior: Prior, confidence: float
) -> Estimate:
    """Return T_1/T_N of the cell against its base; the base against itself is exactly 1."""
    launches = len(times.epoch_s(cell, ARM))
    if cell == base and launches:
        return Estimate(1.0, 1.0, 1.0, launches)
    return times.ratio(base, cell, ARM, prior, confidence) if base else UNKNOWN


def _row(
    kind: str,
    cell: Cell,
    base: Cell | None,
    fewest: Estimate,
    times: Launches,
    prior: Prior,
    confidence: float,
) -> dict[str, Any]:
    time = median(times.epoch_s(cell, ARM), confidence)
    ratio = _speedup(cell, base, times, prior, confidence)
    share = [None if bound is None else efficiency(bound, cell.workers) for bound in ratio[:3]]
    return {
        "kind": kind,
        "workers": cell.workers,
        "nodes": cell.nodes,
        "per_worker_batch": cell.per_worker_batch,
        "global_batch": cell.global_batch,
        "status": cell.status,
        "epoch_s": time.value,
        "epoch_s_low": time.low,
        "epoch_s_high": time.high,
        "speedup_ratio": ratio.value,
        "speedup_ratio_low": ratio.low,
        "speedup_ratio_high": ratio.high,
        "efficiency_frac": share[0],
        "oversubscribed": cell.oversubscribed,
        "runs": " ".join(cell.runs),
        "repeats": time.repeats,
        "efficiency_frac_low": share[1],
        "efficiency_frac_high": share[2],
        "base_epoch_s": times.median_s(base, ARM) if base else None,
        "base_status": base.status if base else None,
        "base_runs": " ".join(base.runs) if base else None,
        **interval_columns("over_fewest_ratio", fewest),
        **times.columns(cell, ARM),
    }


def scaling(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return speed-up T_1/T_N and efficiency of every planned cell, loading included.

    Weak rows keep b: their base is one worker with the same b. Strong rows keep B: their base is
    one worker with b = B; of both count the launches that the other has too, base_epoch_s is
    their median. A cell planned for a strong series only (no one-worker run of its b is
    planned) has no weak row. A cell that did not run is a row with its status and nulls. Where open
    speed-ups are looked at again intervals are those of one of several looks (`plan.looks`).
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, PLANNED, AGAIN)
    confidence = confidence_of(runs)
    require_same_machine(planned)
    found = cells(planned)
    bases = one_worker_bases(found)
    times = Launches(epoch_times)
    sides: list[Against] = [
        ("weak", cell, bases.get(cell.per_worker_batch))
        for cell in found
        if cell.per_worker_batch in bases or cell.global_batch not in bases
    ]
    sides += [
        ("strong", cell, bases[cell.global_batch])
        for cell in sorted(found, key=lambda one: (one.global_batch, one.workers, one.nodes or 1))
        if cell.global_batch in bases
    ]
    return _beside_bases(sides, times, confidence)


Against = tuple[str, Cell, Cell | None]  # the kind of scaling, a cell, and its base


def _beside_bases(sides: Sequence[Against], times: Launches, confidence: float) -> pd.DataFrame:
    """The rows of cells beside their bases: of both count the launches that the other has too."""
    shared: list[Against] = [
        (kind, sharing_launches(cell, base), sharing_launches(base, cell))
        if base
        else (kind, cell, base)
        for kind, cell, base in sides
    ]
    pairs = [(base, cell) for _, cell, base in shared if base and base != cell]
    of_all = _prior_of(pairs, times), confidence
    fewest = _over_fewest(sides, times, confidence)
    rows = [
        _row(*found, fewest.get(given[:2], UNKNOWN), times, *of_all)
        for given, found in zip(sides, shared, strict=True)
    ]
    return as_table(rows, COLUMNS)


def _prior_of(pairs: Iterable[tuple[Cell, Cell]], times: Launches) -> Prior:
    """How the ratios of like pairs of cells scatter."""
    return like_pairs(filter(None, (times.log_pair(*pair, ARM) for pair in pairs)))


def _over_fewest(
    sides: Sequence[Against], times: Launches, confidence: float
) -> dict[tuple[str, Cell], Estimate]:
    """With b fixed the epoch of the fewest of several workers over that of more, of launches that
    both have: side by side two numbers of workers differ by less than each beside one worker."""
    several = [cell for kind, cell, _ in sides if kind == "weak" and cell.workers > 1]
    fewest: dict[int, Cell] = {}
    for cell in sorted(several, key=attrgetter("workers")):
        fewest.setdefault(cell.per_worker_batch, cell)
    pairs = {
        cell: (sharing_launches(few, cell), sharing_launches(cell, few))
        for cell in several
        if (few := fewest[cell.per_worker_batch]).workers < cell.workers
    }
    prior = _prior_of(pairs.values(), times)
    return {
        ("weak", cell): times.ratio(*pair, ARM, prior, confidence) for cell, pair in pairs.items()
    }


def least_batches(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return rows as `scaling` has them of weak scaling, of the least batches of strong scaling.

    Where one worker has it too; the lab asks for larger batches, so that its tables lack these.
    Raises MixedMachinesError for runs of different machines.
    """
    alone, planned = in_study(runs, LEAST), in_study(runs, PLANNED, AGAIN)
    require_same_machine(pd.concat([alone, planned]))
    bases, times = one_worker_bases(cells(alone)), Launches(epoch_times)
    found = [*bases.values(), *(one for one in cells(planned) if one.per_worker_batch in bases)]
    sides = [("weak", cell, bases[cell.per_worker_batch]) for cell in found]
    return _beside_bases(sides, times, confidence_of(runs))


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes where the speed-up of several workers lies beside that of other cells.

    to_least_batch: of weak scaling, beside the least b of the same N; to_weak: of strong scaling,
    beside weak scaling on the same base.
    """
    for row in rows:
        row |= dict.fromkeys(("to_least_batch", "to_weak"))
    weak = [row for row in rows if paced(row) and row["kind"] == "weak"]
    bases = {(row["workers"], row["per_worker_batch"]): row for row in weak}
    for _, own in groupby(weak, itemgetter("workers")):
        first, *larger = own
        for row in larger:
            row["to_least_batch"] = beside(row, first, "speedup_ratio")
    for row in rows:
        base = bases.get((row["workers"], row["global_batch"]))
        if base and paced(row) and row["kind"] == "strong":
            row["to_weak"] = beside(row, base, "speedup_ratio")


def paced(row: Any) -> bool:
    """Return whether a row is of several workers whose speed-up is known."""
    return bool(row["workers"] > 1 and known(row["speedup_ratio"]) is not None)


def speedup_lesson(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return what is gained at the best b of each number of several workers, with b fixed.

    best_ratio: the highest speed-up of the `cells`, with an interval that holds for all of them
    together, since the best of several is chosen by its luck too. lesson: `above` where such an
    interval of any cell is above 1, `below` where every cell is slower than one worker, else
    whether that is known. everywhere: every cell is faster than one worker; rising: the largest b
    has a higher speed-up than the least; to_fewest: where best_ratio lies of that of the fewest
    workers, at one b launch by launch; fewest_everywhere: so says each b by itself, launch by
    launch, and then to_fewest does too, since that all of several verdicts hold needs no
    correction for their number. No row
    without a speed-up.
    """
    weak = [row for row in scaling.to_dict("records") if paced(row) and row["kind"] == "weak"]
    rows, confidence = [], confidence_of(runs)
    for workers, own in groupby(weak, itemgetter("workers")):
        found = list(own)
        jointly = [_jointly(row, len(found), confidence) for row in found]
        sides = [verdict(one.low, one.high, 1.0) for one in jointly]
        best, gained, side_of_best = max(
            zip(found, jointly, sides, strict=True), key=lambda cell: cell[0]["speedup_ratio"]
        )
        paces = {row["pace"] for row in found}
        rows.append(
            {name: best[name] for name in ("per_worker_batch", "repeats", "runs", "base_runs")}
            | {"workers": workers, "cells": len(found)}
            | interval_columns("best_ratio", gained)
            | {"lesson": _lesson(sides, side_of_best, paces)}
            | {"everywhere": paces == {"above"}, "rising": found[-1]["to_least_batch"] == "above"}
            | {"oversubscribed": best["oversubscribed"]}
            | {"beside": {row["beside_fewest"] for row in found}}
            | {"side_by_side": _jointly(best, len(found), confidence, "over_fewest_ratio")}
        )
    for row in rows[1:]:
        lower = row["best_ratio"] < rows[0]["best_ratio"]
        row["fewest_everywhere"] = row["beside"] == {"below" if lower else "above"}
        apart = row["beside"].pop() if row["fewest_everywhere"] else None
        row["to_fewest"] = apart or _to_fewest(row, rows[0])
    return as_table(rows, LESSON_COLUMNS)


def _to_fewest(row: dict[str, Any], fewest: dict[str, Any]) -> str:
    """Where the best speed-up lies of that of the fewest: of one b launch by launch."""
    paired = row["side_by_side"]
    if row["per_worker_batch"] == fewest["per_worker_batch"] and paired.low is not None:
        return verdict(paired.low, paired.high, 1.0)
    return beside(row, fewest, "best_ratio")


def _lesson(sides: Sequence[str], side_of_best: str, paces: Collection[str]) -> str:
    """What the cells of a number of workers show together; see `speedup_lesson`."""
    if "above" in sides:
        return "above"
    if set(paces) == {"below"}:
        return "below"
    return "indistinct" if side_of_best == "below" else side_of_best


def _jointly(
    row: dict[str, Any], cells: int, confidence: float, column: str = "speedup_ratio"
) -> Estimate:
    """A row's ratio with an interval that holds for so many cells together."""
    ratio = estimate_of(row, column)._replace(repeats=row["repeats"])
    return together(ratio, cells, confidence)


def strong_lesson(scaling: pd.DataFrame) -> pd.DataFrame:
    """Return one row: how strong scaling lies of weak scaling on the same base, over all cells.

    compared: `both` where it is better in some and worse in others; everywhere: in all cells alike.
    No row without such cells.
    """
    pairs = scaling.dropna(subset="to_weak")
    if pairs.empty:
        return as_table([], STRONG_COLUMNS)
    found = set(pairs["to_weak"])
    apart = found & {"above", "below"}
    rest = "unknown" if "unknown" in found else "indistinct"
    row = {
        "compared": "both" if len(apart) > 1 else apart.pop() if apart else rest,
        "everywhere": len(found) == 1,
        "cells": len(pairs),
        "runs": " ".join(pairs["runs"]),
    }
    return as_table([row], STRONG_COLUMNS)
