"""Q3.2's what if with fewer bytes: compressed gradients and local steps where they matter."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import measured_table
from dpscale.reporting.answers.q3_cells import at, grouped
from dpscale.reporting.answers.q3_what_if import PLAIN, SHOWN, predicted

NAMES = {
    PLAIN: "gradients as they are",
    "fp16": "fp16 gradients",
    "bf16": "bf16 gradients",
    "powersgd": "PowerSGD",
    "local_4": "averaging every 4 steps",
    "local_16": "averaging every 16 steps",
}


def _efficiency(inputs: Inputs, row: Row) -> Value:
    return measured(row, "efficiency_frac", "fraction", inputs.runs_of(row))


def chosen(inputs: Inputs) -> list[Row]:
    """Return the variants of the one cell in which the best of them gains most; none if none does.

    Of the cells shown, those whose global batch the training set can fill.
    """
    rows = [
        row
        for row in predicted(inputs)
        if row["workers"] in SHOWN and not row.get("exceeds_dataset")
    ]
    groups = grouped(rows, lambda row: (row["link"], row["workers"], row["per_worker_batch"]))
    best = max(groups.values(), key=_gain, default=[])
    return best if best and _gain(best) > 0 else []


def _plain(rows: list[Row]) -> Row | None:
    return next((row for row in rows if row["variant"] == PLAIN), None)


def _gain(rows: list[Row]) -> float:
    plain = _plain(rows)
    if plain is None:
        return 0.0
    return float(max(row["efficiency_frac"] for row in rows) - plain["efficiency_frac"])


def paragraph(inputs: Inputs) -> str:
    """Return how compression and local steps change the prediction where they matter most."""
    rows = chosen(inputs)
    plain = _plain(rows)
    if plain is None:
        return ""
    base = prose.bare(_efficiency(inputs, plain))

    def change(row: Row) -> str:
        """What a variant does to the efficiency, in words."""
        if prose.bare(_efficiency(inputs, row)) == base:
            return "leaves it as it is"
        more = row["efficiency_frac"] > plain["efficiency_frac"]
        return "raises it" if more else "lowers it"

    parts = []
    for words, group in grouped([row for row in rows if row is not plain], change).items():
        listed = prose.join(
            [
                f"{NAMES.get(row['variant'], row['variant'])} "
                f"({prose.bare(_efficiency(inputs, row))})"
                for row in group
            ]
        )
        parts.append(f"{listed} {words if len(group) == 1 else _many(words)}")
    return (
        f"Fewer bytes matter most on {plain['link']} at {at(plain)}, where the model predicts an "
        f"efficiency of {base} for gradients as they are: {'; '.join(parts)}. Compression takes "
        "the measured bytes and the measured extra time of its step; averaging parameters every H "
        "steps sends S once in H steps, hidden behind nothing. Both train differently from plain "
        "gradients, and the accuracy that they reach is not predicted."
    )


def _many(words: str) -> str:
    return {"raises it": "raise it", "lowers it": "lower it"}.get(words, "leave it as it is")


def tables(inputs: Inputs) -> list[Table]:
    """Return the table of the variants in that cell; none where no variant gains."""
    rows = chosen(inputs)
    plain = _plain(rows)
    if plain is None:
        return []
    columns = [
        Column(key="variant", title="What is exchanged"),
        Column(key="step_s", title="Step", unit="s"),
        Column(key="exposed_step_s", title="of which waiting", unit="s"),
        Column(key="speedup_ratio", title="Speed-up", unit="ratio"),
        Column(key="efficiency_frac", title="Efficiency", unit="fraction"),
    ]
    caption = f"Predicted, not measured: fewer bytes on {plain['link']} at {at(plain)}."
    return [
        measured_table(
            inputs,
            caption,
            columns,
            rows,
            lambda row: {"variant": NAMES.get(row["variant"], row["variant"])},
        )
    ]
