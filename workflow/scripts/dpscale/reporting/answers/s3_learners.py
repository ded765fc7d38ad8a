"""S3's learners on one device: the number that throughput chooses, and what it gains."""

from dpscale.reporting.answer import Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.units import format_value


def cells(inputs: Inputs) -> dict[tuple[str, int], list[Row]]:
    """Return the stacked rows of each (model, batch) that was timed, ascending in learners."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in inputs.rows("learners"):
        if row.get("stacked") and row.get("samples_per_s") is not None:
            found.setdefault((row["model"], row["per_learner_batch"]), []).append(row)
    return {
        cell: sorted(rows, key=lambda row: float(row["learners"])) for cell, rows in found.items()
    }


def chosen(rows: list[Row]) -> Row:
    """Return the row of the number of learners that the rule settles on."""
    return next(row for row in rows if row["chosen"])


def clauses(inputs: Inputs) -> list[str]:
    """Return the clause of the answer on learners; none where nothing was timed."""
    found = cells(inputs)
    if not found:
        return []
    numbers = [
        f"{round(chosen(rows)['learners'])} for {model} with b = {batch}"
        for (model, batch), rows in found.items()
    ]
    return [f"tuned by throughput, the learners on one device are {prose.join(numbers)}"]


def paragraph(inputs: Inputs) -> str:
    """Return the rule, where it stopped, and what the chosen number gains."""
    found = cells(inputs)
    if not found:
        return ""
    first = next(iter(found.values()))[0]
    threshold = f"{100 * first['threshold_frac']:g}%"
    each = " ".join(_cell(model, batch, rows) for (model, batch), rows in found.items())
    return (
        f"Learners are added while the next raises throughput by more than {threshold}, and the "
        "first that fails is taken back; all numbers up to the largest were timed, interleaved, "
        f"so the rule can be seen to stop. {each} A stack has a cost of its own, which more "
        "learners share: one network by itself, unstacked and not averaged, is the dashed line."
    )


def _cell(model: str, batch: int, rows: list[Row]) -> str:
    """Return what the rule found for one model and batch."""
    row, best = chosen(rows), max(rows, key=lambda one: float(one["samples_per_s"]))
    count = round(row["learners"])
    speed = prose.quantity(measured(row, "samples_per_s", "samples/s", []))
    text = f"For {model} with b = {batch} it settles on {count}, at {speed}"
    failed = next((one for one in rows if one["learners"] == row["learners"] + 1), None)
    if failed is None:
        text += ", the most that were tried"
    else:
        gain = prose.quantity(measured(failed, "gain_frac", "fraction", []))
        text += f", since one more changes throughput by {gain}{_doubt(failed)}"
    if best["learners"] > row["learners"]:
        more = best["samples_per_s"] / row["samples_per_s"] - 1
        text += f"; {round(best['learners'])} would give {format_value(more, 'fraction')} more"
    return f"{text}. {_against_plain(row)}"


def _doubt(failed: Row) -> str:
    low, high = failed.get("gain_frac_low"), failed.get("gain_frac_high")
    if low is None or high is None or not low <= failed["threshold_frac"] <= high:
        return ""
    return ", an interval in which the threshold lies"


def _against_plain(row: Row) -> str:
    """Return what the chosen number gives over the network trained by itself."""
    low, high = (row.get(f"against_plain_ratio_{end}") for end in ("low", "high"))
    if low is None or high is None:
        return ""
    ratio = prose.quantity(measured(row, "against_plain_ratio", "ratio", []))
    if low > 1:
        return f"That is {ratio} the throughput of the network by itself."
    if high < 1:
        return f"That is only {ratio} the throughput of the network by itself."
    return f"From the network by itself it cannot be told apart ({ratio})."


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the chosen number and its throughput for each model and batch."""
    made: dict[str, Value] = {}
    for (model, batch), rows in cells(inputs).items():
        row, name = chosen(rows), f"{model}_b{batch}"
        runs = inputs.runs_of(row)
        made[f"chosen_learners_{name}"] = Value(
            value=round(row["learners"]), unit="count", n=row["repeats"], runs=runs
        )
        for column, unit in {"samples_per_s": "samples/s", "against_one_ratio": "ratio"}.items():
            made[f"{column}_{name}"] = measured(row, column, unit, runs, row["repeats"])
    return made
