"""Q1's paragraphs: how the sweep was measured, and why the epoch's time changes as it does."""

from collections.abc import Sequence

from dpscale.reporting.answer import Column, Table
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row
from dpscale.reporting.answers.q1_trend import Trend
from dpscale.units import format_value

PHASES = {
    "copy": "copy to the device",
    "forward": "forward pass",
    "backward": "backward pass",
    "update": "update",
}


def protocol(inputs: Inputs, rows: Sequence[Row]) -> str:
    """Return how the times of the complete sweep rows were got."""
    runs = inputs.tidy_rows("runs", study="sweep", status="complete")
    samples = sorted({run["train_samples"] for run in runs if run["train_samples"]})
    total = prose.join([format_value(number, "count") for number in samples]) or "all"
    repeated = any(run.get("repeated_data") for run in runs)
    note = (
        " To let the sweep reach its boundary the training images were repeated; these runs "
        "serve timing only, and no accuracy is taken from them."
        if repeated
        else ""
    )
    repeats = [row["repeats"] for row in rows]
    timed = (
        "one epoch was timed at each size, and a time here is that of this epoch, without an "
        "interval."
        if max(repeats, default=1) == 1
        else f"{prose.span(repeats)} epochs were timed at each size; a time here is their median, "
        "with the 95% bootstrap interval in brackets."
    )
    if max(repeats, default=1) > 1 and all(len(inputs.runs_of(row)) == 1 for row in rows):
        timed += (
            " Each size ran in one process, so the interval holds the spread of its epochs and "
            "not that between processes."
        )
    return (
        f"{_subject(runs)}Every batch size ran in a fresh process. After a warm-up that is "
        f"not counted, {timed} An epoch includes the copy of each "
        "batch to the device, the forward pass, the backward pass and the update; loading is "
        "left out, since the batches lie in host memory before the clock starts. Only full "
        "batches are timed, and the time $t_i$ per batch of $n_i$ samples is scaled to "
        f"exactly $D$ samples ({total}), so that batch sizes that do not divide $D$ compare "
        f"fairly.{note}"
    )


def _subject(runs: Sequence[Row]) -> str:
    """What was trained on what, in one sentence; empty where no run tells."""
    if not runs or not runs[0].get("parameters"):
        return ""
    run = runs[0]
    return (
        f"One worker (device: {run['device']}) trains the network {run['model']}, which has "
        f"{format_value(run['parameters'], 'count')} trainable parameters, on the dataset "
        f"{run['dataset']} with the optimiser {run['optimizer']}. "
    )


def _changes(start: Row, end: Row) -> dict[str, float]:
    """Seconds per epoch that each phase gains from one row to another, where both are known."""
    return {
        name: end[f"{name}_s"] - start[f"{name}_s"]
        for name in PHASES
        if start.get(f"{name}_s") is not None and end.get(f"{name}_s") is not None
    }


def _phase_list(changes: dict[str, float], sign: int) -> str:
    """Phases that gained (sign 1) or lost (-1) time, the largest first, with the seconds."""
    moved = sorted(
        ((sign * change, name) for name, change in changes.items() if sign * change > 0),
        reverse=True,
    )
    return prose.join([f"the {PHASES[name]} {format_value(change, 's')}" for change, name in moved])


def launches(found: Trend) -> str:
    """Return why the time changes from the smallest to the fastest or largest batch."""
    first = found.first
    end = found.last if found.best is first else found.best
    small, large = first["per_worker_batch"], end["per_worker_batch"]
    if small == large:
        return "One batch size alone cannot show how the time depends on it."
    per_epoch = [row["steps_per_epoch"] for row in (first, end)]
    growth = large / small
    longer = end["epoch_s"] / first["epoch_s"] * growth
    each = [
        format_value(row["epoch_s"] / steps, "s")
        for row, steps in zip((first, end), per_epoch, strict=True)
    ]
    facts = (
        f"An epoch makes {format_value(per_epoch[0], 'count')} "
        f"{prose.verb(int(per_epoch[0]), 'iteration', 'iterations')} at b = {small} and "
        f"{format_value(per_epoch[1], 'count')} at b = {large}; each iteration launches the "
        "operators of one forward and one backward pass and makes one update of all "
        f"parameters. One iteration takes {each[0]} at b = {small} and {each[1]} at "
        f"b = {large}: {format_value(growth, 'number')} times the samples in "
        f"{format_value(longer, 'number')} times the time."
    )
    return f"{facts} {_why(found, _changes(first, end), small, large)}"


def _why(found: Trend, changes: dict[str, float], small: int, large: int) -> str:
    if found.shape.startswith("falls"):
        lost = _phase_list(changes, -1)
        phases = f" Of the time saved per epoch, by phase: {lost}." if lost else ""
        updates = [format_value(row.get("update_s"), "s") for row in (found.first, found.best)]
        return (
            "So an iteration has a part that does not grow with the batch: starting each "
            "operator (Paszke et al., 2019, describe how the host issues them one by one) and "
            "updating every parameter. A larger batch spreads it over more samples: all "
            f"updates of an epoch take {updates[0]} at b = {small} and {updates[1]} at "
            f"b = {large}.{phases}"
        )
    if found.shape == "rises":
        gained = _phase_list(changes, 1)
        phases = f" What the epoch gains, by phase: {gained}." if gained else ""
        return (
            f"The device is busy already at b = {small}: fewer launches and updates save less "
            f"than the work on each sample costs more in larger batches.{phases}"
        )
    if found.shape == "same":
        return (
            f"The time of an iteration grows in proportion to its samples, so the device has "
            f"enough work already at b = {small}; the launches and updates that "
            f"b = {large} saves are too few to show above the spread of the repeats."
        )
    return "With one repeat at a batch size no difference can be told from the spread of repeats."


def after_the_knee(found: Trend, rows: Sequence[Row]) -> str:
    """Return what happens at the large end of the sweep: saturated, still falling, rising."""
    knee, last, best = found.knee, found.last, found.best
    rate = format_value(best["samples_per_s"], "samples/s")
    if found.shape == "falls then rises":
        gained = _phase_list(_changes(best, last), 1)
        phases = f" By phase the increase is: {gained}." if gained else ""
        return (
            f"Throughput peaks at b = {best['per_worker_batch']} with {rate}; beyond it the "
            f"epoch takes longer although it makes fewer iterations.{phases} Intermediate "
            "results that outgrow the caches would explain this; caches were not measured."
        )
    if found.shape == "falls then flat":
        return (
            f"From b = {knee['per_worker_batch']} on the epoch's interval meets that of the "
            f"fastest size, b = {best['per_worker_batch']} with {rate}, so no further gain or "
            "loss shows above the noise: what an iteration still saves in launches is small "
            "beside the work on the samples, which is the same for every batch size."
        )
    if found.shape == "falls":
        return _still_falling(rows, rate)
    if found.shape in ("same", "unknown", "single"):
        return f"The highest throughput seen is {rate}, at b = {best['per_worker_batch']}."
    return (
        f"Throughput is highest at the smallest batch size, with {rate}, and falls to "
        f"{format_value(last['samples_per_s'], 'samples/s')} at "
        f"b = {last['per_worker_batch']}."
    )


def _still_falling(rows: Sequence[Row], rate: str) -> str:
    before, last = rows[-2], rows[-1]
    saved = 1 - last["epoch_s"] / before["epoch_s"]
    text = (
        f"The sweep ends before the device is saturated: its last step, from "
        f"b = {before['per_worker_batch']} to {last['per_worker_batch']}, still saves "
        f"{format_value(saved, 'fraction')} of the epoch, and throughput rises to {rate}."
    )
    if len(rows) > 2 and saved < 1 - rows[1]["epoch_s"] / rows[0]["epoch_s"]:
        first = format_value(1 - rows[1]["epoch_s"] / rows[0]["epoch_s"], "fraction")
        text += f" The first step saved {first}, so the gain shrinks: the curve flattens."
    return text


def phase_table(rows: Sequence[Row]) -> Table:
    """Return the seconds of each phase per epoch, a row a batch size."""
    columns = [
        Column(key="per_worker_batch", title="Batch b", unit="setting"),
        *(
            Column(key=f"{name}_s", title=prose.capitalised(title), unit="s")
            for name, title in PHASES.items()
        ),
    ]
    return Table(
        caption="Where the time of one epoch goes: seconds per phase, by batch size.",
        columns=columns,
        rows=[{column.key: row.get(column.key) for column in columns} for row in rows],
    )
