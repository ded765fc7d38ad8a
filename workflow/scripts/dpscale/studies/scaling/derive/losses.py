"""Q2's why: what N workers save of an epoch, and what they add, part by part."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.cells import Cell, Launches, cells, in_study, one_worker_bases, sharing_launches
from dpscale.derive.columns import as_table
from dpscale.derive.factors import (
    Sides,
    Weights,
    cause_of,
    columns_of,
    sum_columns,
    weighted_sums,
    with_leads,
)
from dpscale.derive.formulas import compute_seconds
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import ARMS, DDP, SUMMANDS
from dpscale.derive.verdicts import side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.scaling import AGAIN, PLANNED
from dpscale.studies.scaling.derive.arms import confidence_of
from dpscale.studies.scaling.derive.speedup import ARM
from dpscale.vocabulary import words

LOSSES: dict[str, Weights] = {
    "loading": {"loaded": 1, "ddp": -1, "one": 1, "one_loaded": -1},
    **SUMMANDS,
}
SUMS = with_leads(LOSSES, "parts")
COLUMNS: Columns = (
    columns("workers nodes per_worker_batch status epoch_s base_epoch_s saved_s")
    | intervals("added_s")
    | side("added_side", "added_s")
    | intervals(" ".join(SUMS))
    | columns("oversubscribed repeats runs base_runs")
    | words("cause", LOSSES)
)


def speedup_losses(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return what several workers save and add in each cell of Q2 with the batch per worker fixed.

    With loading: of T_1, base_epoch_s, N workers save saved_s = T_1 - T_1/N and add added_s =
    T_N - T_1/N, so that T_N = T_1 - saved_s + added_s. parts_s, of the launches of N that timed all
    arms of `communication`, is the sum of loading_s (what loading lengthens the epoch of N by, less
    an N-th of the same of one) and the parts there; added_s is of all launches. Raises
    MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, PLANNED, AGAIN)
    require_same_machine(planned)
    found, times = cells(planned), Launches(epoch_times)
    bases, confidence = one_worker_bases(found), confidence_of(runs)
    pairs = [
        (sharing_launches(cell, base), sharing_launches(base, cell))
        for cell in found
        if cell.workers > 1 and (base := bases.get(cell.per_worker_batch))
    ]
    sides = [_sides(cell, base, times) for cell, base in pairs]
    added = weighted_sums(sides, {"loaded": 1, "one_loaded": -1}, confidence)
    whole = [[_whole(of_n), one] for of_n, one in sides]
    both = zip(columns_of({"added_s": added}), sum_columns(whole, SUMS, confidence), strict=True)
    rows = [
        _row(*pair, times) | {"repeats": more.repeats} | of_all | of_parts
        for pair, more, (of_all, of_parts) in zip(pairs, added, both, strict=True)
    ]
    return as_table(rows, COLUMNS)


def _sides(cell: Cell, base: Cell, times: Launches) -> Sides:
    """The arms of a cell, and the share of its base; both with loading too."""
    one = times.together(base, {"one": (DDP, "epoch_s"), "one_loaded": (ARM, "epoch_s")})
    of_n = times.together(cell, ARMS | {"loaded": (ARM, "epoch_s")})
    return [of_n, compute_seconds(one, cell.workers)]


def _whole(of_n: pd.DataFrame) -> pd.DataFrame:
    """The launches that timed all arms of the parts."""
    timed = np.all([of_n[arm].notna() for arm in ("ddp", "noop", "copies")], axis=0)
    return of_n if timed.all() else of_n.iloc[timed.nonzero()[0]]


def _row(cell: Cell, base: Cell, times: Launches) -> dict[str, Any]:
    epoch_s, base_epoch_s = (times.median_s(one, ARM) for one in (cell, base))
    share_s = compute_seconds(base_epoch_s, cell.workers)
    return {
        **cell.columns(),
        "epoch_s": epoch_s,
        "base_epoch_s": base_epoch_s,
        "saved_s": base_epoch_s - share_s,
        "base_runs": " ".join(base.runs),
    }


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes the part that is at least half of what the parts add, by its interval."""
    for row in rows:
        row["cause"] = cause_of(row, list(LOSSES), "parts")
