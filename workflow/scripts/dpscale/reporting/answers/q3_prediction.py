"""Q3.1's prediction: steps of more workers from the smallest number measured, and their score."""

from typing import Literal

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.q3_cells import at, grouped, lab_rows, places

CLOSE_FRAC = 0.15  # of the measured step
Score = Literal["close", "off", "undecided"]
FORMULA = [
    r"t_{\text{step}} = t_{\text{compute}} + t_{\text{exposed}}, \qquad "
    r"t_{\text{exposed}} = \kappa \sum_i t_i - \omega \, t_{\text{hidden}}"
]


def scored(inputs: Inputs) -> list[Row]:
    """Return the predictions that a measured step scores."""
    rows = lab_rows(inputs, "prediction")
    return [row for row in rows if row.get("error_frac") is not None]


def score(row: Row) -> Score:
    """Return whether a prediction is within 15% of the step, for its whole interval or none."""
    ends = [row.get("measured_step_s_low"), row.get("measured_step_s_high")]
    if None in ends:
        return "undecided"
    errors = sorted(row["predicted_step_s"] / end - 1 for end in ends if end)
    if errors[0] >= -CLOSE_FRAC and errors[-1] <= CLOSE_FRAC:
        return "close"
    return "off" if errors[0] > CLOSE_FRAC or errors[-1] < -CLOSE_FRAC else "undecided"


def _error(inputs: Inputs, row: Row) -> Value:
    return measured(row, "error_frac", "fraction", inputs.runs_of(row))


def _verdict(inputs: Inputs, rows: list[Row]) -> str:
    close = f"{CLOSE_FRAC:.0%}"
    words: dict[Score, str] = {
        "close": f"within {close} of the measured step",
        "off": f"off by more than {close}",
        "undecided": f"not decided to be within {close} or not",
    }
    parts = [f"{words[kind]} {places(group, rows)}" for kind, group in grouped(rows, score).items()]
    worst = max(rows, key=lambda row: abs(row["error_frac"]))
    size = prose.bare(_error(inputs, worst).model_copy(update={"value": abs(worst["error_frac"])}))
    side = "above" if worst["error_frac"] > 0 else "below"
    farthest = f" The farthest is {size} {side} the measured step, at {at(worst)}."
    return f"The prediction is {'; '.join(parts)}.{farthest if worst['error_frac'] else ''}"


def paragraph(inputs: Inputs) -> str:
    """Return how the steps of more workers were predicted, and how well; empty without any."""
    rows, planned = scored(inputs), lab_rows(inputs, "prediction")
    if not rows:
        notes = list(dict.fromkeys(row["note"] for row in planned if row.get("note")))
        return f"Larger numbers of workers are not predicted: {'; '.join(notes)}." if notes else ""
    fits = prose.join([f"N = {n}" for n in sorted({row["fit_workers"] for row in rows})])
    return (
        f"Is this split understood? Then the runs with {fits} must predict the steps of more "
        "workers, which they have not seen. From them come the computation of a step (where "
        "workers share a device, as many times longer), the buckets and when each is full, how "
        "much of what the backward pass could hide it did hide ($\\omega$), and how much longer "
        "than alone a transfer takes beside the computation ($\\kappa$); the time $t_i$ of each "
        f"bucket comes from the link's formula (Q3.2). {_verdict(inputs, rows)}"
    )


def values(inputs: Inputs) -> dict[str, Value]:
    """Return predicted and measured steps and their difference, by cell."""
    units = {"predicted_step_s": "s", "measured_step_s": "s", "error_frac": "fraction"}
    return {
        f"{column}_n{row['workers']}_b{row['per_worker_batch']}": measured(
            row, column, unit, inputs.runs_of(row)
        )
        for row in scored(inputs)
        for column, unit in units.items()
    }


def tables(inputs: Inputs) -> list[Table]:
    """Return the table of predicted and measured steps; none without a scored prediction."""
    rows = scored(inputs)
    columns = [
        WORKERS,
        BATCH,
        Column(key="fit_workers", title="Fitted at N", unit="setting"),
        Column(key="predicted_step_s", title="Predicted step", unit="s"),
        Column(key="measured_step_s", title="Measured step", unit="s"),
        Column(key="error_frac", title="Predicted against measured", unit="fraction"),
    ]
    caption = "A step of more workers than the fit has seen: predicted, and measured."
    return [measured_table(inputs, caption, columns, rows)] if rows else []
