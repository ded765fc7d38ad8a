"""Q2: the speed-up with the batch per worker fixed, and the other kind of scaling."""

from dpscale.reporting.answer import Answer, Column, Table, Value
from dpscale.reporting.answers import prose, q2_kinds
from dpscale.reporting.answers.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, placed
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.references import AMDAHL, GUSTAFSON

QUESTION = (
    "How much faster is an epoch with N workers than with one, everything included, at "
    "a fixed batch per worker; which kind of scaling is this, and would the other kind "
    "give better or worse numbers?"
)
FORMULA = [r"\text{speed-up} = \frac{T_1}{T_N}, \qquad \text{efficiency} = \frac{T_1}{N \, T_N}"]
CELL = {"workers": "N", "per_worker_batch": "b"}
FASTER: dict[Verdict, str] = {
    "above": "faster than one",
    "below": "slower than one",
    "indistinct": "equal to one within the noise",
    "unknown": "not comparable with one for want of repeats",
}


def speedup(inputs: Inputs, row: Row) -> Value:
    """Return the speed-up of a scaling row with its interval and the runs behind it."""
    return measured(row, "speedup_ratio", "ratio", _runs(inputs, row), row.get("repeats"))


def _runs(inputs: Inputs, row: Row) -> list[str]:
    return inputs.runs_of(
        row, study="scaling", workers=row["workers"], per_worker_batch=row["per_worker_batch"]
    )


def pace(inputs: Inputs, rows: list[Row]) -> str:
    """Return how the numbers of workers compare with one worker, batch by batch."""
    clauses = []
    for workers in sorted({row["workers"] for row in rows}):
        groups: dict[Verdict, list[str]] = {}
        for row in rows:
            if row["workers"] == workers:
                ratio = speedup(inputs, row)
                groups.setdefault(prose.against(ratio, 1.0), []).append(
                    f"{prose.bare(ratio)} at b = {row['per_worker_batch']}"
                )
        subject = prose.counted(workers, "worker")
        parts = [
            f"{FASTER[verdict]} (speed-up {prose.join(cells)})" for verdict, cells in groups.items()
        ]
        clauses.append(f"{subject} are {prose.join(parts)}")
    return "; ".join(clauses)


def answer(inputs: Inputs) -> Answer:
    """Return the answer to Q2."""
    rows = inputs.rows("scaling")
    weak = [row for row in rows if row["kind"] == "weak"]
    several = [
        row
        for row in weak
        if row["workers"] > 1
        and row["status"] == "complete"
        and row.get("speedup_ratio") is not None
    ]
    missing = lacking(rows, CELL, "scaling")
    missing += [] if several or missing else ["scaling: no cell with several workers has a time"]
    values, tables = _values(inputs, rows), _tables(inputs, rows)
    if missing:
        return prose.withheld(
            id="Q2",
            question=QUESTION,
            missing=missing,
            values=values,
            tables=tables,
            figures=["speedup"],
            formula=FORMULA,
        )
    pairs = q2_kinds.pairs(inputs, rows)
    paragraphs = [
        _protocol(weak),
        _kind(),
        q2_kinds.balance(inputs),
        q2_kinds.reason(pairs),
        _efficiency(several),
        _limits(rows),
    ]
    return Answer(
        id="Q2",
        question=QUESTION,
        sentence=f"With b fixed per worker, {pace(inputs, several)}; this is weak scaling per "
        f"iteration, and {q2_kinds.clause(pairs)}.",
        paragraphs=[text for text in paragraphs if text],
        formula=FORMULA,
        values=values,
        tables=[*tables, *q2_kinds.comparison(pairs)],
        figures=["speedup"],
        references=[AMDAHL, GUSTAFSON],
    )


def _protocol(rows: list[Row]) -> str:
    repeats = [row["repeats"] for row in rows if row.get("repeats")]
    several = max(repeats, default=2) > 1
    brackets = ", with the 95% bootstrap interval in brackets" if several else ""
    return (
        f"A time is {prose.median_of(repeats)} after a warm-up that is not counted{brackets}. "
        "Everything is included: loading, the copy to the "
        "device, the forward and backward pass, communication and the update. A step takes "
        "as long as its slowest worker. Only iterations with full batches are timed, and "
        "their time is scaled to exactly $D$ samples, so that no number of workers gains or "
        "loses by rounding $D/(N b)$. The base $T_1$ is one worker with the same b."
    )


def _kind() -> str:
    return (
        "Each worker computes a batch of b in every iteration, whatever N is, and the global "
        "batch $B = N b$ grows: per iteration this is weak scaling (Gustafson, 1988). The "
        "epoch is still $D$ samples for every N, so its total work is fixed, and the "
        "speed-up of the epoch is $T_1/T_N$ as it stands; multiplying it by N would count "
        "the workers twice. Strong scaling (Amdahl, 1967) keeps $B$ fixed and gives each "
        "worker $b = B/N$."
    )


def _efficiency(rows: list[Row]) -> str:
    ranked = sorted(rows, key=lambda row: row["efficiency_frac"])
    worst, best = ranked[0], ranked[-1]

    worst_cell, best_cell = (
        f"{prose.bare(measured(row, 'efficiency_frac', 'fraction', []))} at N = {row['workers']}, "
        f"b = {row['per_worker_batch']}"
        for row in (worst, best)
    )
    if worst is best:
        return f"The parallel efficiency, the speed-up over N, is {best_cell}."
    above = [
        row
        for row in rows
        if row.get("speedup_ratio_low") is not None and row["speedup_ratio_low"] > row["workers"]
    ]
    more = (
        f" In {prose.counted(len(above), 'cell')} the speed-up is above N by its interval, "
        "more than the added workers alone can give; caches that hold a larger share of the "
        "data, or a slow base, are the usual reasons."
        if above
        else ""
    )
    return (
        f"The parallel efficiency, the speed-up over N, ranges from {worst_cell} to "
        f"{best_cell}.{more}"
    )


def _limits(rows: list[Row]) -> str:
    shared = sorted({row["workers"] for row in rows if row.get("oversubscribed")})
    absent: dict[tuple[int, str], set[tuple[object, int]]] = {}
    for row in sorted(rows, key=lambda row: (row["workers"], row["status"])):
        if row["status"] != "complete":
            cell = row.get("nodes"), row["per_worker_batch"]
            absent.setdefault((row["workers"], row["status"]), set()).add(cell)
    text = ""
    if shared:
        text = (
            f"The runs with N = {prose.join([str(n) for n in shared])} had more workers than "
            "the machine has devices or cores for them (oversubscribed). Workers that share a "
            "core wait for each other, so these cells describe this machine and do not "
            f"predict {prose.counted(shared[-1], 'worker')} with a device each. "
        )
    for (workers, status), cells in absent.items():
        text += (
            f"At N = {workers} {prose.counted(len(cells), 'cell')} "
            f"{prose.verb(len(cells), 'has no time: its', 'have no time: their')} outcome is "
            f"{status.replace('_', ' ')}. "
        )
    return text.strip()


def _values(inputs: Inputs, rows: list[Row]) -> dict[str, Value]:
    units = {"epoch_s": "s", "speedup_ratio": "ratio", "efficiency_frac": "fraction"}
    values = {
        f"{row['kind']}_{column}_n{row['workers']}_b{row['per_worker_batch']}": measured(
            row, column, unit, _runs(inputs, row), row.get("repeats")
        )
        for row in rows
        for column, unit in units.items()
    }
    return values or {"speedup_ratio": prose.nothing("ratio")}


def _tables(inputs: Inputs, rows: list[Row]) -> list[Table]:
    columns = [
        WORKERS,
        BATCH,
        Column(key="global_batch", title="Global batch B", unit="setting"),
        Column(key="epoch_s", title="Epoch, everything included", unit="s"),
        Column(key="speedup_ratio", title="Speed-up", unit="ratio"),
        Column(key="efficiency_frac", title="Efficiency", unit="fraction"),
        Column(key="oversubscribed", title="Oversubscribed", unit="flag"),
    ]
    captions = {
        "weak": "Weak scaling: the batch per worker is fixed.",
        "strong": "Strong scaling: the global batch is fixed at the base's b.",
    }
    tables = []
    for kind, caption in captions.items():
        chosen = [row for row in rows if row["kind"] == kind]
        shown = placed(columns, chosen)
        cells = [
            {
                column.key: measured(
                    row, column.key, column.unit, _runs(inputs, row), row.get("repeats")
                )
                for column in shown
            }
            for row in chosen
        ]
        tables += (
            [
                Table(
                    caption=caption,
                    columns=shown,
                    rows=cells,
                    runs=[_runs(inputs, row) for row in chosen],
                )
            ]
            if chosen
            else []
        )
    return tables
