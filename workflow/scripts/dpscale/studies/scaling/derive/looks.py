"""Looks: which verdicts were open at the first one, and what launching again made of them."""

from collections.abc import Callable, Collection
from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.split import SUMMANDS
from dpscale.derive.verdicts import ends, of_row
from dpscale.plan.looks import CONFIDENCE_OF_EACH, launches_at_looks
from dpscale.records.columns import Columns, columns
from dpscale.studies.scaling import AGAIN, LOOKED
from dpscale.studies.scaling.config import ENDED
from dpscale.studies.scaling.derive.arms import communication
from dpscale.studies.scaling.derive.speedup import paced, scaling
from dpscale.vocabulary import words

MARGIN_FRAC = 0.05  # of an epoch: a part within it, above or below zero, need not be told from zero
COLUMNS: Columns = (
    words("looked_at", ("speed-up", "part"))
    | columns("compared opened decided reopened again first_launches most_launches looks")
    | columns("repeat_budget_s confidence_frac margin_frac")
    | words("looks_ended", ENDED)
    | columns("runs")
)
CELL = ["workers", "nodes", "per_worker_batch"]
Verdicts = dict[tuple[Any, ...], bool]  # by what they are of: whether they are open


def is_open(row: Any) -> bool:
    """Return whether the speed-up of several workers is not told from that of one."""
    return paced(row) and bool(row["pace"] == "indistinct")


def open_parts(row: Any) -> Collection[str]:
    """Return the parts of the step of a cell that neither differ from zero nor are negligible."""
    return [part for part in split_parts(row) if _is_open_part(row, part)]


def split_parts(row: Any) -> list[str]:
    """Return the parts of `communication` that are known of a cell of several workers."""
    several = row["workers"] > 1
    return [part for part in SUMMANDS if several and ends(row, f"{part}_s") is not None]


def _is_open_part(row: Any, part: str) -> bool:
    bounds, margin_s = ends(row, f"{part}_s"), MARGIN_FRAC * row["epoch_s"]
    negligible = bounds is not None and max(map(abs, bounds)) <= margin_s
    return of_row(row, f"{part}_s") == "indistinct" and not negligible


def _of_speedups(scaling: pd.DataFrame) -> Verdicts:
    names = ["kind", *CELL, "global_batch"]
    rows = filter(paced, scaling.to_dict("records"))
    return {tuple(known(row[name]) for name in names): is_open(row) for row in rows}


def _of_parts(communication: pd.DataFrame) -> Verdicts:
    return {
        (part, *(known(row[name]) for name in CELL)): _is_open_part(row, part)
        for row in communication.to_dict("records")
        for part in split_parts(row)
    }


def looks(
    epoch_times: pd.DataFrame,
    spans: pd.DataFrame,
    runs: pd.DataFrame,
    latest: pd.DataFrame,
    latest_split: pd.DataFrame,
) -> pd.DataFrame:
    """Return what became of what was open at the first look, a row for speed-ups and one for parts.

    latest, latest_split: the tables `scaling` and `communication`; again: launches that were added;
    opened: verdicts, of the `compared`, that were open at the first look; decided: those of them
    that no longer are; reopened: others that now are, since their base has more launches. A part
    within margin_frac of the epoch is decided. No row without looks, or where nothing is compared.
    """
    looked = in_study(runs, LOOKED).to_dict("records")
    if not looked:
        return as_table([], COLUMNS)
    first = runs[runs["study"] != AGAIN]
    sides: dict[str, tuple[Callable[..., Verdicts], pd.DataFrame, pd.DataFrame]] = {
        "speed-up": (_of_speedups, scaling(epoch_times, first), latest),
        "part": (_of_parts, communication(epoch_times, spans, first), latest_split),
    }
    rows = [
        {"looked_at": name}
        | _outcome(verdicts(before), verdicts(after))
        | _launched(runs, looked[0])
        for name, (verdicts, before, after) in sides.items()
    ]
    return as_table([row for row in rows if row["compared"]], COLUMNS)


def _outcome(first: Verdicts, latest: Verdicts) -> dict[str, int]:
    opened, still_open = ({key for key, open_ in side.items() if open_} for side in (first, latest))
    return {
        "compared": len(latest),
        "opened": len(opened),
        "decided": len(opened - still_open),
        "reopened": len(still_open - opened),
    }


def _launched(runs: pd.DataFrame, look: dict[str, Any]) -> dict[str, Any]:
    again = in_study(runs, AGAIN)["run"]
    at_looks = launches_at_looks(int(look["first_launches"]))
    return {
        "again": len(again),
        "first_launches": at_looks[0],
        "most_launches": at_looks[-1],
        "looks": len(at_looks),
        "repeat_budget_s": look["repeat_budget_s"],
        "confidence_frac": CONFIDENCE_OF_EACH,
        "margin_frac": MARGIN_FRAC,
        "looks_ended": look["looks_ended"],
        "runs": " ".join([look["run"], *again]),
    }
