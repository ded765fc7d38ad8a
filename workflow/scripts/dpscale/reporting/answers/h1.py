"""H1: how busy one worker's device is at each batch size, and what would raise it."""

from dpscale.reporting.answer import Answer, Column, Value
from dpscale.reporting.answers import assignment, assignment_published, prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking
from dpscale.reporting.answers.measured_table import measured_table
from dpscale.reporting.answers.references import NVML

QUESTION = (
    "How busy is the device at the assignment's batch per worker and at larger ones, and how "
    "can its utilisation be raised?"
)
FORMULA = [r"u = \frac{\text{time in which the device works}}{\text{wall time}}"]
TABLE = "assignment_utilisation"
UNITS = {
    "utilisation_frac": "fraction",
    "load_frac": "fraction",
    "compute_frac": "fraction",
    "samples_per_s": "samples/s",
}
NEARLY_ALL = 0.95  # of the time; what is left is less than any remedy would show
CROWDED = 0.1  # of the time: computing without a core, more than the clocks' granularity


def _value(inputs: Inputs, row: Row, column: str) -> Value:
    return assignment.value(inputs, row, column, UNITS[column])


def _on_cpu(row: Row) -> bool:
    return "cpu" in str(row.get("device")).lower()


def answer(inputs: Inputs) -> Answer:
    """Return the answer to H1."""
    rows = inputs.rows(TABLE)
    found = [row for row in assignment.complete(rows) if row.get("utilisation_frac") is not None]
    missing = lacking(rows, {"per_worker_batch": "b"}, TABLE)
    missing += [] if found or missing else [f"{TABLE}: no batch size has a utilisation"]
    values = {
        f"{column}_b{row['per_worker_batch']}": _value(inputs, row, column)
        for row in rows
        for column in UNITS
    } or {"utilisation_frac": prose.nothing("fraction")}
    table = measured_table(
        inputs,
        "One worker while it trains, by batch; the first epoch, which warms up, is left out.",
        [
            Column(key="per_worker_batch", title="Batch b", unit="setting"),
            Column(key="utilisation_frac", title="Utilisation", unit="fraction"),
            Column(key="load_frac", title="Waiting for the loader", unit="fraction"),
            Column(key="compute_frac", title="Forward, backward, update", unit="fraction"),
            Column(key="samples_per_s", title="Throughput", unit="samples/s"),
        ],
        rows,
    )
    if missing:
        return prose.withheld(
            id="H1", question=QUESTION, missing=missing, values=values, tables=[table],
            figures=[TABLE], formula=FORMULA,
        )  # fmt: skip
    quoted = assignment_published.figures(inputs, "utilisation_frac")
    texts = [
        _meaning(found[0]),
        _crowd(inputs, found) or _raise(inputs, found),
        "" if any(map(crowded, found)) else _pace(inputs, found),
        assignment.without(rows, lambda row: f"b = {row['per_worker_batch']}"),
        assignment_published.text(quoted),
    ]
    return Answer(
        id="H1",
        question=QUESTION,
        sentence=_sentence(inputs, found),
        paragraphs=[text for text in texts if text],
        formula=FORMULA,
        values=values,
        tables=[table, *assignment_published.table(inputs, quoted)],
        figures=[TABLE],
        references=[NVML],
    )


def crowded(row: Row) -> bool:
    """Return whether other programs had the core while this worker computed.

    One core that computes takes processor time all the while. Of several cores some may rest.
    """
    compute, busy = row.get("compute_frac"), row.get("utilisation_frac")
    alone = row.get("device") == "CPU core" and compute is not None and busy is not None
    return alone and float(compute) - float(busy) > CROWDED  # type: ignore[arg-type]


def _verdict(inputs: Inputs, rows: list[Row], column: str) -> prose.Verdict:
    """Where the largest batch lies against the smallest."""
    first, last = (_value(inputs, row, column) for row in (rows[0], rows[-1]))
    return prose.compare(last, first)


def _sentence(inputs: Inputs, rows: list[Row]) -> str:
    first, last = rows[0], rows[-1]
    busy = f"{prose.quantity(_value(inputs, first, 'utilisation_frac'))} of the time"
    start = f"At b = {first['per_worker_batch']} the device of one worker works {busy}"
    if first is last:
        return f"{start}; no larger batch has a result."
    words = {
        "above": "a larger batch raises its utilisation",
        "below": "a larger batch lowers its utilisation",
        "indistinct": "a larger batch makes no difference that shows above the noise",
        "unknown": "too few epochs were timed to call the two different",
    }[_verdict(inputs, rows, "utilisation_frac")]
    if crowded(first) or crowded(last):
        words = "other programs had the core meanwhile, so the two are not compared"
    other = prose.quantity(_value(inputs, last, "utilisation_frac"))
    return f"{start}, and {other} at b = {last['per_worker_batch']}: {words}."


def _meaning(row: Row) -> str:
    kind = (
        "On this CPU it is the processor time of the worker over the wall time of the epoch and "
        "its threads, the share of the time in which the device's cores compute; loading in the "
        "same process is such work too"
        if _on_cpu(row)
        else "On this GPU it is what NVML reports, the share of the time in which at least one "
        "kernel runs, however few of the processors it fills"
    )
    return (
        f"Utilisation is a share of time. {kind}. It says nothing of how much of the device's "
        "speed that work uses: a device that is always busy may still compute slowly."
    )


def _crowd(inputs: Inputs, rows: list[Row]) -> str:
    """That other programs had the core, seen from computation that takes no processor time."""
    texts = [
        f"{prose.bare(_value(inputs, row, 'compute_frac'))} of the time in its steps and "
        f"{prose.bare(_value(inputs, row, 'utilisation_frac'))} on a core at b = "
        f"{row['per_worker_batch']}"
        for row in rows
        if crowded(row)
    ]
    if not texts:
        return ""
    return (
        f"The worker was {prose.join(texts)}: it computed and had no core, since other programs "
        "ran on this machine meanwhile. Measured again with nothing else running, the utilisation "
        "can be judged; a busy machine raises it only by being left alone."
    )


def _raise(inputs: Inputs, rows: list[Row]) -> str:
    """What would raise the utilisation, by what the device waits for."""
    first = rows[0]
    busy = _value(inputs, first, "utilisation_frac")
    at = f"At b = {first['per_worker_batch']}"
    if prose.against(busy, NEARLY_ALL) == "above":
        return (
            f"{at} more than {prose.bare(Value(value=NEARLY_ALL, unit='fraction'))} of the time "
            "is used, so there is next to nothing left to raise: a shorter run takes more or "
            "faster devices, or less work."
        )
    load = _value(inputs, first, "load_frac")
    idle = 1 - float(busy.value or 0)
    waits = (
        f"{at} the device is idle {prose.bare(Value(value=idle, unit='fraction'))} of the time, "
        f"and the steps wait for the loader {prose.bare(load)} of it."
    )
    if _on_cpu(first):
        return (
            f"{waits} Where loading waits for a disk or another process, loading ahead raises the "
            f"utilisation; where it computes in the same cores, it is work already. "
            f"{_larger(inputs, rows)}"
        ).strip()
    remedy = (
        "More loading processes, pinned memory and loading ahead are what can raise it most here."
        if load.value is not None and load.value > idle / 2
        else "Most of the idle time is not the loader's: kernels too short to hide their launches "
        "leave gaps, which a larger batch, compiled or captured steps shorten."
    )
    return f"{waits} {remedy} {_larger(inputs, rows)}".strip()


def _larger(inputs: Inputs, rows: list[Row]) -> str:
    if _verdict(inputs, rows, "utilisation_frac") != "above":
        return ""
    return (
        f"A larger batch does raise it: at b = {rows[-1]['per_worker_batch']} it is "
        f"{prose.bare(_value(inputs, rows[-1], 'utilisation_frac'))}."
    )


def _pace(inputs: Inputs, rows: list[Row]) -> str:
    """Whether more samples a second come with the larger batch."""
    if len(rows) < 2:
        return ""
    first, last = (prose.quantity(_value(inputs, row, "samples_per_s"))
                   for row in (rows[0], rows[-1]))  # fmt: skip
    words = {
        "above": "trains faster as well",
        "below": "trains more slowly all the same",
        "indistinct": "does not train measurably faster",
        "unknown": "cannot be called faster or slower",
    }[_verdict(inputs, rows, "samples_per_s")]
    return (
        f"Utilisation is worth raising only where it makes training faster: with b = "
        f"{rows[-1]['per_worker_batch']} one worker {words}, {last} against {first}. A larger "
        "batch also makes fewer updates in the same epochs; what that does to the accuracy is H5."
    )
