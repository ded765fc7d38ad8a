"""Q3.1: computation and communication of one epoch, by subtraction and measured directly."""

import math

from dpscale.derive.cells import CELL
from dpscale.derive.formulas import communication_seconds, sharing_seconds
from dpscale.reporting.answer import Value, nothing
from dpscale.reporting.inputs import PER_CELL, RESULTS, Inputs, Row, lacking, named_values
from dpscale.reporting.lessons import FAR_RATIO, ratio_of
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI
from dpscale.reporting.words import by, size
from dpscale.studies.scaling.derive.arms import PARTS
from dpscale.studies.scaling.derive.prediction import CLOSE_FRAC

NAMES = {"workers": "N", "per_worker_batch": "b"}
ALWAYS = ("epoch", "compute", "subtraction")  # in answers.json even where null
SUMMANDS = ("exposed", "contention", "overhead")  # of the formula's communication
DIRECT_FORMULA = [
    r"T_{\text{exposed}} = T_N - T_{\text{no-op}}, \qquad "
    r"T_{\text{overhead}} = T_{\text{no-op}} - T_{\text{copies}}, \qquad "
    r"T_{\text{contention}} = T_{\text{copies}} - \frac{T_1}{N}",
    r"T_N - \frac{T_1}{N} = T_{\text{exposed}} + T_{\text{overhead}} + T_{\text{contention}}",
]


def cells(inputs: Inputs, table: str) -> list[Row]:
    """Return the rows of several workers of a table, ascending."""
    rows = [row for row in inputs.rows(table) if row["workers"] > 1]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"]))


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


def facts_q3_1(inputs: Inputs) -> Facts:
    """Return the cells by subtraction, those measured arm by arm, and the predicted steps."""
    rows = [_with_shares(row) for row in cells(inputs, "communication")]
    complete = [row for row in rows if row["subtraction_s"] is not None]
    direct = [row for row in complete if row["exposed_s"] is not None]
    planned = cells(inputs, "prediction")
    scored = [row | {"size": size(row.error_frac)} for row in planned if row["score"]]
    missing = missing_cells(rows)
    missing += [] if complete or missing else ["communication: no cell has a time"]
    buffers = before_forward(inputs)
    said = {
        "rows": rows,
        "looks": inputs.rows("looks"),
        "brief": [without_ends(row, "epoch_s", "compute_s") for row in rows],
        "complete": complete,
        "direct": direct,
        "below_zero": any((row[f"{part}_s"] or 0.0) < 0 for row in direct for part in SUMMANDS),
        "bases": inputs.rows("one_worker"),
        "planned": planned,
        "scored": scored,
        "close": CLOSE_FRAC,
        "alone": ddp_at_one(inputs),
        "disturbed": inputs.disturbed(complete),
        "beside": [row for row in direct if row["buckets_s"] is not None],
        "trends": (found := trends(complete, "subtraction_trend")),
        "fall": fall(direct, [row["workers"] for row in found if row["trend"] == "below"]),
        **shorter_with_loading(inputs, complete),
        "causes": [
            row | {"parts": largest_parts(row["cause"], of_workers(direct, row["workers"]))}
            for row in inputs.rows("split_causes")
        ],
        "iterations": waiting_by_iteration(inputs),
        "off": formula_beside_waiting(direct),
        "over_span": waiting_over_span(direct),
        "slowed": [row for row in direct if row["oversubscribed"] and _positive(row, "contention")],
        "lead": (lead := leading_cell(direct or complete)),
        "buffers": [
            own[0] | {"waits": [row.forward_wait_s for row in own]}
            for _, own in by(buffers, "workers")
        ],
        "of_buffers": next((row for row in buffers if lead and key_of(row) == key_of(lead)), None),
        "broadcasts": [
            row | {"saved": size(row.broadcast_s)}
            for row in direct
            if row["broadcast_s"] is not None
        ],
        "turns": inputs.taking_turns(direct[-1], direct[-1]["seconds"]["compute"], sharing_seconds)
        if direct
        else None,
        "unsteady": unsteady_base(inputs, direct[-1]) if direct else None,
    }
    return Facts(
        missing,
        _values(rows, scored) or {"subtraction_s": nothing("s")},
        said,
        formula=DIRECT_FORMULA if direct else [],
    )


def shorter_with_loading(inputs: Inputs, complete: list[Row]) -> dict[str, list[Row]]:
    """Return the cells whose epoch is shorter with loading: measurably (conditions), or not."""
    loaded = [
        row
        for row in [*inputs.rows("communication", workers=1), *complete]
        if None not in (row["epoch_s"], row["loaded_epoch_s"])
    ]
    return {
        "conditions": [row for row in loaded if row["loaded_to_epoch"] == "below"],
        "shorter": [
            row
            for row in loaded
            if row["loaded_to_epoch"] == "indistinct" and row["loaded_epoch_s"] < row["epoch_s"]
        ],
    }


def _with_shares(row: Row) -> Row:
    """The row with its parts as values: their seconds, and their shares of the epoch."""
    shares = {part: row.value(f"{part}_share_frac", "fraction") for part in PARTS}
    share = shares["subtraction"]
    if row["no_time"]:
        share = share.model_copy(update={"status": row["no_time"]})
    seconds = {part: row.value(f"{part}_s", "s") for part in ("compute", *PARTS)}
    return row | {"of_epoch": shares, "seconds": seconds, "share": share}


def of_workers(rows: list[Row], workers: int) -> list[Row]:
    """Return the rows of a number of workers."""
    return [row for row in rows if row["workers"] == workers]


def largest_parts(cause: str | None, rows: list[Row]) -> list[Row]:
    """Return the cause of what the formula gives, or else the two parts that are most of it.

    Of those that are measurably above zero, and no more than the formula gives, in each of these
    cells where the formula's seconds are above zero.
    shares: of these seconds, in each.
    """
    timed = [row for row in rows if row["subtraction_side"] == "above"]
    parts = [cause] if cause else SUMMANDS
    known = [
        part
        for part in parts
        if all(_positive(row, part) and row[f"{part}_s"] <= row["subtraction_s"] for row in timed)
    ]
    found = [
        Row(
            part=part,
            seconds=sum(row[f"{part}_s"] for row in timed),
            shares=[
                row["seconds"]["subtraction"].model_copy(
                    update={"unit": "fraction", "value": row[f"{part}_s"] / row["subtraction_s"]}
                    | dict.fromkeys(("low", "high"))
                )
                for row in timed
            ],
        )
        for part in known
    ]
    return sorted(found, key=lambda row: -row["seconds"])[:2] if timed else []


def formula_beside_waiting(direct: list[Row]) -> list[Row]:
    """Return how the formula's time lies beside the waiting, of the fewest workers and the most.

    With whom both are above zero in some cell; see `_beside_waiting`.
    """
    both = [row for row in direct if row["exposed_side"] == row["subtraction_side"] == "above"]
    groups = by(both, "workers")
    ends = groups[:1] + groups[1:][-1:]
    return [_beside_waiting(of_workers(direct, workers)) for workers, _ in ends]


def _beside_waiting(cells: list[Row]) -> Row:
    """How many times the waiting, where that is above zero, the formula gives with some workers.

    side: it measurably gives more (`over`), less (`under`), or each (`mis`) in some of all its
    cells; None in none. at: each b of these, everywhere: of all. parts: what else than waiting is
    above zero in it at every b; None where it is not more than the waiting in each of these cells.
    partly: whether one of them is at some b.
    """
    timed = [row for row in cells if row["exposed_side"] == "above"]
    ratios = [ratio_of(row["seconds"]["subtraction"], row["seconds"]["exposed"]) for row in timed]
    stated = {"above": "over", "below": "under"}
    shown = [row for row in cells if row["other_side"] in stated]
    sides = {stated[row["other_side"]] for row in shown}
    known = {part: [_positive(row, part) for row in cells] for part in ("contention", "overhead")}
    counted = [part for part, sure in known.items() if all(sure)]
    return Row(
        workers=timed[0]["workers"],
        ratios=ratios,
        side="mis" if len(sides) > 1 else next(iter(sides), None),
        at=[row["per_worker_batch"] for row in shown],
        everywhere=len(shown) == len(cells),
        parts=tuple(counted) if min(ratio.value or 0 for ratio in ratios) > 1 else None,
        partly=any(map(any, known.values())),
    )


def _positive(row: Row, part: str) -> bool:
    return (row[f"{part}_s_low"] or 0) > 0


def leading_cell(rows: list[Row]) -> Row | None:
    """Return the last cell whose workers have a device each, else the last; None of no cells.

    Where workers share devices, times say more of the machine than of data parallelism.
    """
    return max(reversed(rows), key=lambda row: not row["oversubscribed"], default=None)


def waiting_over_span(rows: list[Row]) -> list[Value]:
    """Return how many times DDP's own span training waits; nothing unless longer in every cell.

    By the lower ends of the intervals.
    """
    spanned = [row for row in rows if row["span_s"] and row["exposed_side"] == "above"]
    ratios = [ratio_of(row["seconds"]["exposed"], row.value("span_s", "s")) for row in spanned]
    return ratios if all((ratio.low or 0) > 1 for ratio in ratios) else []


def pace_elsewhere(inputs: Inputs, per_worker_batch: int) -> Row | None:
    """Return where else one worker of a batch had another pace, the farthest; None where nowhere.

    factor: its time there over that beside N workers.
    """
    rows = inputs.rows("one_worker", per_worker_batch=per_worker_batch)
    base_s = next((row["epoch_s"] for row in rows if row["place"] == "base"), None)
    far = [
        row | {"factor": row["epoch_s"] / base_s}
        for row in rows
        if base_s and row["place"] in ("every", "waiting")
    ]
    row = max(far, key=lambda row: abs(math.log(row["factor"])), default=None)
    return row if row and abs(math.log(row["factor"])) >= math.log(FAR_RATIO) else None


def unsteady_base(inputs: Inputs, cell: Row) -> Row | None:
    """Return where else one worker of the cell's batch had another pace; None where nowhere.

    formula: what the formula's communication of the cell would be with that time of one worker.
    """
    row = pace_elsewhere(inputs, cell["per_worker_batch"])
    if row is None:
        return None
    seconds = communication_seconds(row["epoch_s"], cell["epoch_s"], cell["workers"])
    runs = [*cell.runs, *row.runs]
    return row | {
        "cell": cell,
        "base": cell.value("base_epoch_s", "s"),
        "formula": Value(value=seconds, unit="s", runs=runs),
    }


def without_ends(row: Row, *columns: str) -> Row:
    """Return the row with these columns' intervals left out, which stand in the CSV."""
    return row | {f"{column}_{end}": None for column in columns for end in ("low", "high")}


def trends(rows: list[Row], column: str) -> list[Row]:
    """Return how a table says that a column goes at each N, from the least b to the largest."""
    return [
        Row(
            workers=workers,
            first=own[0]["per_worker_batch"],
            last=own[-1]["per_worker_batch"],
            trend=own[0][column],
        )
        for workers, own in by(rows, "workers")
        if own[0][column]
    ]


def fall(direct: list[Row], falling: list[int]) -> Row | None:
    """Return by how many seconds the formula falls from the least b to the largest, part by part.

    Of the most workers with whom it falls, without intervals; None where no parts are known.
    """
    known = [row for row in direct if None not in [row[f"{part}_s"] for part in SUMMANDS]]
    ends = [own for workers, own in by(known, "workers") if workers in falling and own[1:]]
    if not ends:
        return None
    first, *_, last = ends[-1]

    def less(part: str) -> Value:
        """Seconds of a part at the least b less those at the largest."""
        before, after = first["seconds"][part], last["seconds"][part]
        runs = list(dict.fromkeys([*before.runs, *after.runs]))
        seconds = first[f"{part}_s"] - last[f"{part}_s"]
        return Value(value=seconds, unit="s", runs=runs)

    return first | {name: less(name) for name in ("subtraction", *SUMMANDS)}


def waiting_by_iteration(inputs: Inputs) -> list[Row]:
    """Return what an iteration waits, and its trend over b, of the fewest workers and the most."""
    rows = [row for row in cells(inputs, "bandwidth") if row["exposed_trend"]]
    groups = [own for _, own in by(rows, "workers")]
    return [
        Row(
            workers=own[0]["workers"],
            waits=[row.exposed_iteration_s for row in own],
            trend=own[0]["exposed_trend"],
        )
        for own in groups[:1] + groups[1:][-1:]
    ]


def before_forward(inputs: Inputs) -> list[Row]:
    """Return the cells whose forward pass is measurably longer where buffers are sent before it."""
    rows = cells(inputs, "waiting_phases")
    return [row for row in rows if row["buffer_bytes"] and row["forward_wait_side"] == "above"]


def ddp_at_one(inputs: Inputs) -> list[Row]:
    """Return what DDP costs one worker, who has nobody to talk to, by batch size."""
    return [
        row | {"size": size(row.overhead_frac)}
        for row in inputs.rows("ddp_at_one")
        if row["overhead_frac"] is not None
    ]


def _values(rows: list[Row], scored: list[Row]) -> dict[str, Value]:
    found = [
        (row, f"{name}_s", row.value(f"{name}_s", "s"))
        for row in rows
        for name in ("epoch", *PARTS, "span", "buckets", "broadcast")
        if row[f"{name}_s"] is not None or name in ALWAYS
    ]
    found += [
        (row, f"{part}_share", share)
        for row in rows
        for part, share in row["of_epoch"].items()
        if share.value is not None
    ]
    steps = ("predicted_step_s", "measured_step_s", "error_frac")
    return {
        PER_CELL.format_map(row | {"column": name}): value for row, name, value in found
    } | named_values(scored, PER_CELL, steps)


QUESTION = Question(
    "Q3.1",
    facts_q3_1,
    formula=[
        r"T_{\text{compute}} = \frac{T_1}{N}, \qquad "
        r"T_{\text{communication}} = T_N - \frac{T_1}{N}"
    ],
    references=[LI],
    vocabulary={
        "cause": "communication.cause",
        "verdict": "communication.exposed_to_buckets",
        "trend": "communication.subtraction_trend",
        "side": "communication.exposed_side",
        "place": "one_worker.place",
        "part": "communication.cause",
    },
)
