"""S9: seconds of a forward pass and samples per second, by the batch size."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import interval_columns, median
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import beside
from dpscale.records.columns import columns, intervals
from dpscale.vocabulary import words

COLUMNS = columns("per_worker_batch status samples_per_s repeats runs")
COLUMNS |= intervals("forward_s") | words("verdict")


def inference(runs: pd.DataFrame, inference_passes: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each batch size, of medians over its passes."""
    planned = in_study(runs, "inference")
    require_same_machine(planned)
    rows = []
    for run in planned.sort_values("per_worker_batch").to_dict("records"):
        passes = inference_passes[inference_passes.run == run["run"]]
        forward = median(passes.forward_s)
        row = {name: run[name] for name in ("per_worker_batch", "status")} | {"runs": run["run"]}
        row["samples_per_s"] = run["per_worker_batch"] / forward.value if forward.value else None
        rows.append(row | {"repeats": forward.repeats} | interval_columns("forward_s", forward))
    return as_table(rows, COLUMNS)


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes whether a batch takes longer than the smallest."""
    for row in rows:
        row["verdict"] = beside(row, rows[0], "forward_s")


TABLES = {"inference": Table(inference, ["runs", "inference_passes"], COLUMNS, judge)}
