"""Q3.2's what if: speed-up and efficiency that the model predicts for links it was only told of."""

from itertools import takewhile
from typing import Any

from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row
from dpscale.reporting.words import by
from dpscale.units import format_value

SHOWN = (2, 8, 64, 1024)  # workers
PLAIN = "none"
HALF = 0.5  # of the ideal speed-up


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
        "speedups": across(shown, "speedup_ratio"),
        "efficiencies": across(shown, "efficiency_frac"),
        "outlook": outlook(known),
        "refused": [min(own, key=lambda row: row["workers"]) for _, own in refused],
        "variants": variants(known),
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


def outlook(known: list[Row]) -> list[Row]:
    """Return each link's row of most workers at the largest batch.

    keeps: whether half of the ideal speed-up is kept, up to kept_to workers; slower: whether some
    number of workers is slower than one.
    """
    batch = max((row["per_worker_batch"] for row in known), default=None)
    plain = [row for row in known if row["variant"] == PLAIN and row["per_worker_batch"] == batch]
    found = []
    for _, own in by(sorted(plain, key=lambda row: row["workers"]), "link"):
        kept = list(takewhile(lambda row: row["efficiency_frac"] >= HALF, own))
        kept_to = kept[-1].value("workers", "count") if kept else None
        slower = any(row["speedup_ratio"] < 1 for row in own)
        found.append(own[-1] | {"keeps": bool(kept), "kept_to": kept_to, "slower": slower})
    return found


def variants(known: list[Row]) -> list[Row]:
    """Return the variants of the one cell in which the best of them gains most; none if none does.

    Of the cells shown, those whose global batch the training set can fill. change: where a
    variant's efficiency, as it is printed, lies against that of the plain exchange.
    """
    rows = [row for row in known if row["workers"] in SHOWN and not row["exceeds_dataset"]]
    groups = by(rows, "link", "workers", "per_worker_batch")
    best = max((own for _, own in groups), key=_gain, default=[])
    if not best or _gain(best) <= 0:
        return []
    base = _plain_frac(best)
    return [row | {"change": _change(row["efficiency_frac"], base)} for row in best]


def _plain_frac(rows: list[Row]) -> float | None:
    return next((row["efficiency_frac"] for row in rows if row["variant"] == PLAIN), None)


def _gain(rows: list[Row]) -> float:
    plain = _plain_frac(rows)
    return 0.0 if plain is None else max(row["efficiency_frac"] for row in rows) - plain


def _change(frac: float, base: float | None) -> str:
    if format_value(frac, "fraction") == format_value(base, "fraction"):
        return "none"
    return "raises" if base is not None and frac > base else "lowers"


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the predicted efficiencies of the tables, by link, batch and workers."""
    return {
        f"predicted_efficiency_{row['link'].replace(' ', '_')}"
        f"_n{row['workers']}_b{row['per_worker_batch']}": row.efficiency_frac
        for row in _shown(inputs)
        if row["efficiency_frac"] is not None
    }
