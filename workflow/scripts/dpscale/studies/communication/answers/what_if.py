"""Q3.2's what if: the efficiency that the model predicts for links it was only told of."""

from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.words import by
from dpscale.units import format_value

SHOWN = (2, 8, 64, 1024)  # workers
PLAIN = "none"


def said(inputs: Inputs) -> dict[str, list[Any]]:
    """Return what is predicted, in what cells it is shown, and where it is refused.

    refused: the row of fewest workers that is, for each link and batch.
    """
    rows = inputs.rows("what_if")
    known = [row for row in rows if row["speedup_ratio"] is not None]
    sizes = {row["per_worker_batch"] for row in known}
    shown = [row for row in _shown(inputs) if row["per_worker_batch"] in sizes]
    refused = by([row for row in rows if row["status"] == "refused"], "link", "per_worker_batch")
    return {
        "predicted": known,
        "shown": sorted({row["workers"] for row in shown}),
        "efficiencies": across(shown, "efficiency_frac"),
        "refused": [min(own, key=lambda row: row["workers"]) for _, own in refused],
    }


def _shown(inputs: Inputs) -> list[Row]:
    return [row for row in inputs.rows("what_if", variant=PLAIN) if row["workers"] in SHOWN]


def across(rows: list[Row], column: str) -> list[Row]:
    """Return a row for each link and batch, with a column of `rows` at each N.

    Bandwidth and latency are text, each in a scale of its own: they differ by orders of magnitude.
    """
    return [
        Row(
            link=link,
            bytes_per_s=format_value(own[0]["bytes_per_s"], "bytes/s"),
            latency_s=format_value(own[0]["latency_s"], "s"),
            per_worker_batch=batch,
            **{str(row["workers"]): getattr(row, column) for row in own},
        )
        for (link, batch), own in by(rows, "link", "per_worker_batch")
    ]


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the predicted efficiencies of the tables, by link, batch and workers."""
    return {
        f"predicted_efficiency_{row['link'].replace(' ', '_')}"
        f"_n{row['workers']}_b{row['per_worker_batch']}": row.efficiency_frac
        for row in _shown(inputs)
        if row["efficiency_frac"] is not None
    }
