"""Q3.1: computation and communication of one epoch, by subtraction and measured directly."""

from typing import Literal

from dpscale.derive.cells import CELL
from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import RESULTS, Inputs, Row, lacking
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI
from dpscale.reporting.words import by
from dpscale.vocabulary import Verdict, words

NAMES = {"workers": "N", "per_worker_batch": "b"}
ALWAYS = ("epoch_s", "compute_s", "subtraction_s")  # in answers.json even where null
PARTS = ("subtraction_s", "compute_s", "contention_s", "straggler_s", "overhead_s", "exposed_s")
PAIRS = [("subtraction_s", "exposed_s"), ("exposed_s", "buckets_s")]
ESTIMATES = ("subtraction_s", "exposed_s", "buckets_s")
Rest = Literal["contention", "overhead", "below", "indistinct", "unknown"]
Trend = Verdict | Literal["both"]
Score = Literal["close", "off", "undecided"]
CLOSE_FRAC = 0.15  # of the measured step
# Why seconds are no time that a share or a rate follows from, by where they lie against zero.
NO_TIME = {
    "below": "negative",
    "indistinct": "not told from zero",
    "unknown": "not told from zero for want of repeats",
}
DIRECT_FORMULA = [
    r"T_{\text{exposed}} = T_N - T_{\text{no-op}}, \qquad "
    r"T_{\text{overhead}} = T_{\text{no-op}} - T_{\text{copies}}, \qquad "
    r"T_{\text{contention}} = T_{\text{copies}} - \frac{T_1}{N}",
    r"T_N - \frac{T_1}{N} = T_{\text{exposed}} + T_{\text{overhead}} + T_{\text{contention}}",
]


def cells(inputs: Inputs, table: str) -> list[Row]:
    """Return the rows of several workers whose (N, b) is a cell of the weak series, ascending."""
    weak = {_cell(row) for row in inputs.rows("scaling", kind="weak")}
    rows = [row for row in inputs.rows(table) if row["workers"] > 1]
    return sorted((row for row in rows if not weak or _cell(row) in weak), key=_cell)


def _cell(row: Row) -> tuple[int, int]:
    return row["workers"], row["per_worker_batch"]


def key_of(row: Row) -> tuple[int | None, ...]:
    """Return what tells a cell of a table from the others."""
    return tuple(row[name] for name in CELL)


def missing_cells(rows: list[Row]) -> list[str]:
    """Return one line for each of these rows without a result, or whose base has none."""
    bases = [
        f"communication, N = 1, b = {row['per_worker_batch']}: {row['base_status']}"
        for row in rows
        if row["base_status"] is not None and row["base_status"] not in RESULTS
    ]
    return list(dict.fromkeys(lacking(rows, NAMES, "communication") + bases))


def facts(inputs: Inputs) -> Facts:
    """Return the cells by subtraction, those measured arm by arm, and the predicted steps."""
    rows = [_with_shares(row) for row in cells(inputs, "communication")]
    complete = [_with_verdicts(row) for row in rows if row["subtraction_s"] is not None]
    direct = [row for row in complete if row["exposed_s"] is not None]
    planned = cells(inputs, "prediction")
    scored = [
        row | {"score": score(row), "size": _size(row.error_frac)}
        for row in planned
        if row["error_frac"] is not None
    ]
    missing = missing_cells(rows)
    missing += [] if complete or missing else ["communication: no cell has a time"]
    contrasts = {pair: contrast(direct, *pair) for pair in PAIRS}
    said = {
        "rows": rows, "complete": complete, "direct": direct, "planned": planned,
        "scored": scored, "close": CLOSE_FRAC, "alone": ddp_at_one(inputs),
        "contrasts": contrasts, "trends": trends(complete, "subtraction_s"),
        "shorter": shorter_with_loading(inputs, complete), **_rest(contrasts[PAIRS[0]]),
    }  # fmt: skip
    return Facts(
        missing,
        _values(rows, scored) or {"subtraction_s": intervals.nothing("s")},
        said,
        formula=DIRECT_FORMULA if direct else [],
    )


def _with_shares(row: Row) -> Row:
    shares = {part: share(row, part) for part in PARTS}
    return row | {"of_epoch": row | shares, "share": shares["subtraction_s"]}


def _with_verdicts(row: Row) -> Row:
    """The row with its parts as values, and what their intervals say."""
    return row | {
        "seconds": {part: getattr(row, part) for part in PARTS},
        "subtraction": intervals.against(row.subtraction_s, 0.0),
        "exposed": intervals.against(row.exposed_s, 0.0),
        "contention": intervals.compare(row.contention_s, row.exposed_s),
    }


def share(row: Row, part: str) -> Value:
    """Return a part's seconds as a fraction of the epoch's.

    Null with the reason where the interval does not put the seconds above zero.
    """
    seconds, epoch_s = getattr(row, part), row["epoch_s"]
    known = seconds.value is not None and epoch_s
    reason = (
        NO_TIME.get(intervals.against(seconds, 0.0)) if known else seconds.status or "not measured"
    )
    value = None if reason else seconds.value / epoch_s
    return Value(value=value, unit="fraction", n=seconds.n, runs=seconds.runs, status=reason)


def contrast(rows: list[Row], one: str, other: str) -> list[Row]:
    """Return the rows that have both estimates, with which is longer and by what factor."""
    pairs = [
        (row, getattr(row, one), getattr(row, other))
        for row in rows
        if None not in (row[one], row[other])
    ]
    return [
        row | {"verdict": intervals.compare(left, right), "factor": _factor(left, right)}
        for row, left, right in pairs
    ]


def _factor(one: Value, other: Value) -> Value | None:
    """By how much the longer is a multiple of the other, where both are above zero."""
    if {intervals.against(one, 0.0), intervals.against(other, 0.0)} != {"above"}:
        return None
    low, high = sorted(float(estimate.value or 0) for estimate in (one, other))
    return Value(value=high / low, unit="number", runs=one.runs)


def _rest(rows: list[Row]) -> dict[str, object]:
    """What sets the subtraction apart from the exposed time, and the cells where it is the longer.

    rest: the larger of what it also holds; where it is nowhere longer, how the two lie.
    """
    longer = [row for row in rows if row["verdict"] == "above"]
    verdicts = [row["verdict"] for row in rows]
    kinds = ("below", "indistinct", "unknown")
    rest = next((kind for kind in kinds if kind in verdicts), "unknown")
    if longer:
        parts = {
            part: sum(row[f"{part}_s"] or 0.0 for row in longer)
            for part in ("contention", "overhead")
        }
        rest = max(parts, key=lambda part: parts[part])
    return {"rest": rest, "apart": longer}


def trends(rows: list[Row], column: str) -> list[Row]:
    """Return how a column at each N goes from the least b to the largest, all b counted."""
    return [
        Row(workers=workers, first=own[0]["per_worker_batch"], last=own[-1]["per_worker_batch"],
            trend=_direction(intervals.moves([getattr(row, column) for row in own])))
        for workers, own in by(rows, "workers")
        if len(own) > 1
    ]  # fmt: skip


def _direction(moves: set[Verdict]) -> Trend:
    if "unknown" in moves or len(moves) == 1:
        return "unknown" if "unknown" in moves else next(iter(moves))
    return "both" if moves else "indistinct"


def shorter_with_loading(inputs: Inputs, rows: list[Row]) -> list[Row]:
    """Return the cells whose epoch with loading is the shorter one, and if by more than noise.

    Loading adds work, so there should be none.
    """
    loaded = {
        key_of(row): row.epoch_s
        for row in inputs.rows("scaling", kind="weak")
        if row["epoch_s"] is not None
    }
    both = [(row, loaded.get(key_of(row))) for row in rows]
    return [
        row | {"loaded": epoch, "verdict": intervals.compare(epoch, row.epoch_s)}
        for row, epoch in both
        if epoch and epoch.value < (row["epoch_s"] or 0.0)
    ]


def ddp_at_one(inputs: Inputs) -> list[Row]:
    """Return what DDP costs one worker, who has nobody to talk to, by batch size."""
    return [
        row
        | {"verdict": intervals.against(row.overhead_frac, 0.0), "size": _size(row.overhead_frac)}
        for row in inputs.rows("ddp_at_one")
        if row["overhead_frac"] is not None
    ]


def _size(value: Value) -> Value:
    return value.model_copy(update={"value": abs(value.value or 0)})


def score(row: Row) -> Score:
    """Return whether a prediction is within 15% of the step, for its whole interval or none."""
    ends = [row["measured_step_s_low"], row["measured_step_s_high"]]
    if None in ends:
        return "undecided"
    least, most = sorted(row["predicted_step_s"] / end - 1 for end in ends)
    if least >= -CLOSE_FRAC and most <= CLOSE_FRAC:
        return "close"
    return "off" if least > CLOSE_FRAC or most < -CLOSE_FRAC else "undecided"


def _values(rows: list[Row], scored: list[Row]) -> dict[str, Value]:
    found = [
        (row, name, getattr(row, name))
        for row in rows
        for name in ("epoch_s", *PARTS, "span_s", "buckets_s")
        if row[name] is not None or name in ALWAYS
    ]
    found += [
        (row, f"{part.removesuffix('_s')}_share", row["of_epoch"][part])
        for row in rows
        for part in PARTS
        if row["of_epoch"][part].value is not None
    ]
    steps = ("predicted_step_s", "measured_step_s", "error_frac")
    found += [(row, name, getattr(row, name)) for row in scored for name in steps]
    return {
        f"{name}_n{row['workers']}_b{row['per_worker_batch']}": value for row, name, value in found
    }


QUESTION = Question(
    "Q3.1",
    facts,
    formula=[
        r"T_{\text{compute}} = \frac{T_1}{N}, \qquad "
        r"T_{\text{communication}} = T_N - \frac{T_1}{N}"
    ],
    references=[LI],
    vocabulary=words("verdict side")
    | words("rest", Rest)
    | words("trend", Trend)
    | words("score", Score)
    | words("one other", ESTIMATES),
)
