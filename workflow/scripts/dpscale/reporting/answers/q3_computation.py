"""Q3.1: computation and communication of one epoch, by the lab's subtraction."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.q3_loading import shorter_with_loading
from dpscale.reporting.answers.q3_subtraction import clause, finding, lab_rows, share, without_base
from dpscale.reporting.answers.references import LI

QUESTION = (
    "How many seconds of an epoch are computation and how many are communication, for "
    "each number of workers and batch per worker?"
)
FORMULA = [
    r"T_{\text{compute}} = \frac{T_1}{N}, \qquad "
    r"T_{\text{communication}} = T_N - \frac{T_1}{N}"
]
DIRECT = {
    "exposed_s": "Exposed",
    "overhead_s": "Overhead",
    "contention_s": "Contention",
    "span_s": "Span",
}


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q3.1."""
    rows = lab_rows(inputs, "communication")
    complete = [row for row in rows if row.get("subtraction_s") is not None]
    missing = lacking(rows, {"workers": "N", "per_worker_batch": "b"}, "communication")
    missing = list(dict.fromkeys(missing + without_base(rows)))
    missing += [] if complete or missing else ["communication: no cell has a time"]
    values, tables = _values(inputs, rows), [_table(inputs, rows)]
    if missing:
        return prose.withheld(
            id="Q3.1",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["communication"],
            formula=FORMULA,
        )
    return Answer(
        id="Q3.1",
        question=QUESTION,
        sentence=f"Without loading, {clause(inputs, complete)}.",
        paragraphs=[
            text
            for text in (
                _protocol(inputs, complete),
                _meaning(inputs, complete),
                _direct(complete),
                _shared(complete),
                shorter_with_loading(inputs, complete),
            )
            if text
        ],
        formula=FORMULA,
        values=values,
        tables=tables,
        figures=["communication"],
        references=[LI],
    )


def _protocol(inputs: Inputs, rows: list[Row]) -> str:
    counts = [inputs.repeats(row, "without_loading") for row in rows]
    repeats = [count for count in counts if count]
    timed = f"medians of {prose.span(repeats)} timed repeats" if repeats else "medians"
    interval = "; the interval of the difference comes from resampling both (95% bootstrap)"
    if repeats and max(repeats) == 1:
        timed, interval = "one timed repeat each", ", so their difference has no interval"
    return (
        f"$T_1$ and $T_N$ are {timed} of an epoch without data loading, at the same b, "
        f"after a warm-up that is not counted{interval}. The two columns add up to $T_N$. "
        "Epochs of different N make different numbers of iterations, and rounding "
        "$D/(N b)$ up alone can look like communication; so only iterations with full "
        "batches are compared, and both times are scaled to exactly $D$ samples."
    )


def _meaning(inputs: Inputs, rows: list[Row]) -> str:
    found = {finding(inputs, row) for row in rows}
    text = (
        "The subtraction is not a pure communication time: it also holds contention of the "
        "workers for the machine and the overhead of the wrapper that synchronises them. It "
        "misses the part of the all-reduce that runs behind the backward pass, which PyTorch "
        "arranges by reducing gradients in buckets (Li et al., 2020)."
    )
    if "negative" in found:
        text += (
            " A negative result says that N workers finish their share in less than 1/N of "
            "the time of one, so $T_1/N$ overstates their computation; it is reported as it "
            "comes out and gives neither a share nor a bandwidth."
        )
    if "below noise" in found:
        text += (
            " Where the interval covers zero the communication is below the noise, and no "
            "share is claimed."
        )
    return text


def _direct(rows: list[Row]) -> str:
    absent = [
        title.lower()
        for name, title in DIRECT.items()
        if all(row.get(name) is None for row in rows)
    ]
    if not absent:
        return ""
    return (
        f"The direct quantities ({prose.join(absent)}) are not measured, and no number stands "
        "in for them. They would split the subtraction into exposed communication, overhead "
        "and contention; without them it is open how far the subtraction and a direct "
        "measurement disagree."
    )


def _shared(rows: list[Row]) -> str:
    shared = sorted({row["workers"] for row in rows if row.get("oversubscribed")})
    if not shared:
        return ""
    return (
        f"At N = {prose.join([str(n) for n in shared])} the workers share cores or devices "
        "(oversubscribed): $T_1/N$ assumes a device for each, so contention enters the "
        "subtraction. Whether most of it is contention is not decidable from these "
        "two times."
    )


def _values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    values = {}
    for row in rows:
        runs, count = inputs.runs_of(row), inputs.repeats(row, "without_loading")
        for column in ("epoch_s", "compute_s", "subtraction_s"):
            values[f"{column}_n{row['workers']}_b{row['per_worker_batch']}"] = measured(
                row, column, "s", runs, count
            )
        if row.get("subtraction_s") is not None and finding(inputs, row) == "communication":
            values[f"share_n{row['workers']}_b{row['per_worker_batch']}"] = Value(
                value=share(row), unit="fraction", runs=runs, n=count
            )
    return values or {"subtraction_s": prose.nothing("s")}


def _table(inputs: Inputs, rows: list[Row]) -> Table:
    times = {
        "base_epoch_s": "Epoch of one worker",
        "epoch_s": "Epoch of N workers",
        "compute_s": "Computation",
        "subtraction_s": "Communication by subtraction",
    }
    columns = [
        Column(key="workers", title="Workers N", unit="setting"),
        Column(key="per_worker_batch", title="Batch per worker b", unit="setting"),
        *(Column(key=key, title=title, unit="s") for key, title in times.items()),
        Column(key="share", title="Share of the epoch", unit="fraction"),
        *(Column(key=key, title=title, unit="s") for key, title in DIRECT.items()),
    ]
    cells = []
    for row in rows:
        runs = inputs.runs_of(row)
        decided = row.get("subtraction_s") is not None and finding(inputs, row)
        part = share(row) if decided == "communication" else None
        count = inputs.repeats(row, "without_loading")
        cells.append(
            {column.key: measured(row, column.key, column.unit, runs, count) for column in columns}
            | {
                "share": Value(
                    value=part,
                    unit="fraction",
                    runs=runs,
                    status=None if part is not None else decided or row.get("status"),
                )
            }
        )
    return Table(
        caption="One epoch without loading: computation and communication.",
        columns=columns,
        rows=cells,
        runs=[inputs.runs_of(row) for row in rows],
    )
