"""Looks: which speed-ups were open at the first one, and what launching again made of them."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table, known
from dpscale.plan.looks import CONFIDENCE_OF_EACH, launches_at_looks
from dpscale.records.columns import Columns, columns
from dpscale.studies.scaling import AGAIN, LOOKED
from dpscale.studies.scaling.config import ENDED
from dpscale.studies.scaling.derive.speedup import paced, scaling
from dpscale.vocabulary import words

COLUMNS: Columns = (
    columns("compared opened decided reopened again first_launches most_launches looks")
    | columns("repeat_budget_s confidence_frac")
    | words("looks_ended", ENDED)
    | columns("runs")
)
SPEEDUP = ["kind", "workers", "nodes", "per_worker_batch", "global_batch"]


def is_open(row: Any) -> bool:
    """Return whether the speed-up of several workers is not told from that of one."""
    return paced(row) and bool(row["pace"] == "indistinct")


def speedup_looks(
    epoch_times: pd.DataFrame, runs: pd.DataFrame, latest: pd.DataFrame
) -> pd.DataFrame:
    """Return one row: what became of the speed-ups that were open at the first look.

    latest: the table `scaling`; again: launches that were added; opened: speed-ups, of the
    `compared`, that were open at the first look; decided: those of them that no longer are;
    reopened: others that now are, since their base has more launches. No row without looks.
    """
    looked = in_study(runs, LOOKED).to_dict("records")
    if not looked:
        return as_table([], COLUMNS)
    first = scaling(epoch_times, runs[runs["study"] != AGAIN])
    opened, still_open = (
        {tuple(map(known, (row[name] for name in SPEEDUP))) for row in rows if is_open(row)}
        for rows in (first.to_dict("records"), latest.to_dict("records"))
    )
    again = in_study(runs, AGAIN)["run"]
    looks = launches_at_looks(int(looked[0]["first_launches"]))
    row = {
        "compared": sum(map(paced, latest.to_dict("records"))),
        "opened": len(opened),
        "decided": len(opened - still_open),
        "reopened": len(still_open - opened),
        "again": len(again),
        "first_launches": looks[0],
        "most_launches": looks[-1],
        "looks": len(looks),
        "repeat_budget_s": looked[0]["repeat_budget_s"],
        "confidence_frac": CONFIDENCE_OF_EACH,
        "looks_ended": looked[0]["looks_ended"],
        "runs": " ".join([looked[0]["run"], *again]),
    }
    return as_table([row], COLUMNS)
