"""Q3.2: the bandwidth behind the communication time of an epoch, and what the link can do."""

from dpscale.derive.formulas import ring_allreduce_seconds
from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK, THAKUR, VOGELS
from dpscale.reporting.words import by
from dpscale.studies.communication.answers.computation import (
    NAMES,
    NO_TIME,
    Trend,
    cells,
    key_of,
    missing_cells,
    trends,
)
from dpscale.vocabulary import words

CAUSES = ("other", "transfer")
LINK_FORMULA = [
    r"t_{\text{all-reduce}} = 2 (N - 1) \, \alpha + \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}"
]

OUTLOOK_WORKERS = (8, 64, 1024)


def facts(inputs: Inputs) -> Facts:
    """Return the rates of each cell with their verdicts, the link and the hooks."""
    rows = rates(inputs)
    usable = [row for row in rows if row["subtraction_s"] is not None]
    decided = [row for row in usable if not row["no_rate"]]
    missing = missing_cells(rows) + lacking(inputs.rows("link"), {"workers": "N"}, "link")
    missing += lacking(inputs.rows("compression"), NAMES, "compression")
    missing += [] if usable or missing else ["bandwidth: no cell has a communication time"]
    fits, hooks = fits_of(inputs, usable), hooks_of(inputs)
    return Facts(
        missing,
        _values(rows, fits, hooks) or {"lab_bytes_per_s": intervals.nothing("bytes/s")},
        {"rows": rows, "usable": usable, "sent": sent(inputs, usable), "apart": apart(decided),
         "changes": trends(decided, "lab_bytes_per_s"), "fits": fits, "hooks": hooks,
         "links": inputs.rows("link"), "outlook": outlook(inputs)},
        formula=LINK_FORMULA if fits else [],
        references=[*([THAKUR] if fits else []), *([VOGELS] if hooks else [])],
    )  # fmt: skip


def outlook(inputs: Inputs) -> list[Row]:
    """Return what is predicted of more workers on other links, at the largest batch that is."""
    rows = [
        row
        for row in inputs.rows("what_if", variant="none")
        if row["efficiency_frac"] is not None and row["workers"] in OUTLOOK_WORKERS
    ]
    largest = max((row["per_worker_batch"] for row in rows), default=0)
    return [row for row in rows if row["per_worker_batch"] == largest]


def rates(inputs: Inputs) -> list[Row]:
    """Return each cell's parts and its three rates: the lab's, the buckets' and the link's.

    no_rate: why the lab has none; beside: the lab's against the buckets', cause: what sets them
    apart; of_link: the buckets' against the link's.
    """
    parts = {key_of(row): row for row in cells(inputs, "communication")}
    rows = [parts[key_of(row)] | row for row in cells(inputs, "bandwidth")]
    return [_compared(row | _rates(inputs, row)) for row in rows]


def _rates(inputs: Inputs, row: Row) -> dict[str, object]:
    """The rates of a row, each with the runs that it is from."""
    timed = row["subtraction_s"] is not None
    why = NO_TIME.get(intervals.against(row.subtraction_s, 0.0)) if timed else None
    lab = row | ({"lab_bytes_per_s": None, "status": why} if why else {})
    alone = row | {"base_runs": None, "repeats": None}
    return {
        "no_rate": why,
        "source": row["link_source"],
        "lab_bytes_per_s": lab.lab_bytes_per_s,
        "lab_of_link_frac": _of_link(lab, row),
        "busbw_bytes_per_s": alone.busbw_bytes_per_s,
        "link_bytes_per_s": _link_rate(inputs, row),
        "busbw_of_link_frac": (alone | {"base_runs": row["link_runs"]}).busbw_of_link_frac,
    }


def _of_link(lab: Row, row: Row) -> Value:
    """The lab's rate as a share of the link's."""
    rate, link = lab["lab_bytes_per_s"], row["link_bytes_per_s"]
    share = rate / link if rate and link else None
    runs = [*lab.runs, *(row["link_runs"] or "").split()]
    why = lab["status"] if rate is None else "not measured" if link is None else None
    return Value(value=share, unit="fraction", runs=list(dict.fromkeys(runs)), status=why)


def _link_rate(inputs: Inputs, row: Row) -> Value:
    """The link's rate; raw TCP's with its interval, a configured one as it stands."""
    if row["link_source"] == "tcp":
        return inputs.rows("link", runs=row["link_runs"])[0].value("tcp_bytes_per_s", "bytes/s")
    ends = {f"link_bytes_per_s{end}": row["link_bytes_per_s"] for end in ("_low", "_high")}
    return measured(row | ends, "link_bytes_per_s", "bytes/s", runs=[])


def _compared(row: Row) -> Row:
    """A row with its verdicts, and what sets the lab's rate apart from that of the buckets."""
    beside = intervals.compare(row.lab_bytes_per_s, row.busbw_bytes_per_s)
    return row | {
        "beside": beside,
        "cause": _cause(row) if beside in ("below", "above") else None,
        "of_link": intervals.compare(row.busbw_bytes_per_s, row.link_bytes_per_s),
    }


def _cause(row: Row) -> str | None:
    """The larger term of subtraction - buckets = (overhead + contention) + (exposed - buckets)."""
    parts = [row[name] for name in ("overhead_s", "contention_s", "exposed_s", "buckets_s")]
    if None in parts:
        return None
    overhead, contention, exposed, buckets = parts
    return "other" if abs(overhead + contention) > abs(exposed - buckets) else "transfer"


def apart(decided: list[Row]) -> list[Row]:
    """Return the cells of the cause that most often sets the lab's rate apart; none if none does.

    That is the first of causes of equally many cells.
    """
    caused = by([row for row in decided if row["cause"]], "beside", "cause")
    return max((own for _, own in caused), key=len, default=[])


def sent(inputs: Inputs, usable: list[Row]) -> list[Row]:
    """Return the run whose parameters give the bytes of every cell's gradients; none if none does.

    each: the bytes of a parameter.
    """
    payloads = {row["payload_bytes"] for row in usable}
    names = [name for row in usable for name in row.runs]
    return [
        run | {"runs": run["run"], "each": run["payload_bytes"] // run["parameters"]}
        for run in inputs.tidy_rows("runs")
        if run["run"] in names
        and payloads == {run["payload_bytes"]}
        and run["parameters"]
        and run["payload_bytes"] % run["parameters"] == 0
    ][:1]


def fits_of(inputs: Inputs, rates: list[Row]) -> list[Row]:
    """Return the rows of `link` that have a fit, with the seconds of one all-reduce of $S$ by it.

    latency_s and transfer_s add up to whole_s, mostly_frac is the larger one's share of it; mostly:
    where the message whose latency and bytes take equally long lies against $S$.
    """
    payloads = {
        workers: max(row["payload_bytes"] or 0 for row in own)
        for workers, own in by(rates, "workers")
    }
    rows = [row for row in inputs.rows("link") if row["beta_bytes_per_s"] is not None]
    rows.sort(key=lambda row: row["workers"])
    return [_timed(row, payloads[row["workers"]]) for row in rows if payloads.get(row["workers"])]


def _timed(row: Row, size: int) -> Row:
    """A fit with the time of one all-reduce of some bytes."""
    fit = row["workers"], row["alpha_s"], row["beta_bytes_per_s"]
    latency, whole = (ring_allreduce_seconds(float(one), *fit) for one in (0, size))
    parts = {"latency_s": latency, "transfer_s": whole - latency, "whole_s": whole}
    timed = row | parts | {"mostly_frac": max(latency, whole - latency) / whole}
    return timed | {
        "mostly": intervals.against(row.level_bytes, size),
        "mostly_frac": timed.mostly_frac,
        "rounds": 2 * (row["workers"] - 1),
    }


def hooks_of(inputs: Inputs) -> list[Row]:
    """Return the rows of hooks with a time or bytes, by workers and batch.

    faster: where the step lies against the plain one; None where it was not timed.
    """
    rows = [
        row | {"faster": row["step_ratio"] and intervals.against(row.step_ratio, 1)}
        for row in inputs.rows("compression")
        if row["step_ratio"] is not None or row["bytes_ratio"] is not None
    ]
    return sorted(rows, key=lambda row: (row["workers"], row["per_worker_batch"], row["hook"]))


def _values(rows: list[Row], fits: list[Row], hooks: list[Row]) -> dict[str, Value]:
    """The rates of each cell, what each fit found, and each hook's ratios to the plain exchange.

    Of the lab's rates those too that are null.
    """

    def cell(row: Row) -> str:
        """A cell as the names of values have it."""
        return f"n{row['workers']}_b{row['per_worker_batch']}"

    found = {
        f"{name}_{cell(row)}": row[name]
        for row in rows
        for name in (
            "lab_bytes_per_s",
            "lab_of_link_frac",
            "busbw_bytes_per_s",
            "busbw_of_link_frac",
        )
    }
    found |= {
        f"{name}_n{row['workers']}": getattr(row, name)
        for row in fits
        for name in ("alpha_s", "beta_bytes_per_s", "residual_frac", "tcp_bytes_per_s")
    }
    found |= {
        f"{row['hook']}_{name}_{cell(row)}": getattr(row, name)
        for row in hooks
        for name in ("bytes_ratio", "step_ratio", "interface_ratio")
    }
    return {
        name: value
        for name, value in found.items()
        if value.value is not None or name.startswith("lab_")
    }


QUESTION = Question(
    "Q3.2",
    facts,
    formula=[
        r"t_{\text{all-reduce}} \ge \frac{2 (N - 1)}{N} \cdot \frac{X \cdot \text{itemsize}}{\beta}"
        r" = \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}",
        r"\text{bandwidth} = \frac{2 (N - 1)}{N} \cdot S \cdot \frac{D}{N b} \cdot "
        r"\frac{1}{T_{\text{communication}}}, \qquad "
        r"\text{utilisation} = \frac{\text{bandwidth}}{\text{rate of the link}}",
    ],
    references=[PATARASUK, LI],
    vocabulary=words("verdict beside size mostly")
    | words("trend", Trend)
    | words("cause", CAUSES)
    | words("source", ("tcp", "configured")),
)
