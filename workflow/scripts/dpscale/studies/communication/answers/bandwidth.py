"""Q3.2: the bandwidth behind the communication time of an epoch, and what the link can do."""

import math

from dpscale.derive.formulas import ring_allreduce_seconds
from dpscale.reporting import intervals
from dpscale.reporting.answer import Value
from dpscale.reporting.inputs import Inputs, Row, lacking, measured
from dpscale.reporting.question import Facts, Question
from dpscale.reporting.references import LI, PATARASUK, THAKUR, VOGELS
from dpscale.reporting.words import by, spread
from dpscale.studies.communication.answers import what_if
from dpscale.studies.communication.answers.computation import (
    NAMES,
    NO_TIME,
    cells,
    key_of,
    missing_cells,
    trends,
)

RATES = ("lab_bytes_per_s", "lab_of_link_frac", "busbw_bytes_per_s", "busbw_of_link_frac")
LINK_FORMULA = [
    r"t_{\text{all-reduce}} = 2 (N - 1) \, \alpha + \frac{2 (N - 1)}{N} \cdot \frac{S}{\beta}"
]


def facts(inputs: Inputs) -> Facts:
    """Return the rates of each cell with their verdicts, the link, the hooks and the what ifs."""
    rows = rates(inputs)
    usable = [row for row in rows if row["subtraction_s"] is not None]
    decided = [row for row in usable if not row["no_rate"]]
    missing = missing_cells(rows) + lacking(inputs.rows("link"), {"workers": "N"}, "link")
    missing += lacking(inputs.rows("compression"), NAMES, "compression")
    missing += [] if usable or missing else ["bandwidth: no cell has a communication time"]
    fits, hooks, outlook = fits_of(inputs, usable), hooks_of(inputs), what_if.said(inputs)
    values = _values(rows, fits, hooks) | what_if.values(inputs)
    alone = [row for row in usable if row["busbw_bytes_per_s"].value is not None]
    said = {
        "rows": rows, "usable": usable, "changes": trends(decided, "lab_bytes_per_s"),
        "levels": levels(alone), "limit": limit_of(alone), "trained": trained(inputs, usable),
        "fits": fits, "hooks": hooks, "links": inputs.rows("link"), **outlook,
    }  # fmt: skip
    return Facts(
        missing,
        values or {"lab_bytes_per_s": intervals.nothing("bytes/s")},
        said,
        formula=LINK_FORMULA if fits else [],
        references=[*([THAKUR] if fits else []), *([VOGELS] if hooks else [])],
    )


def trained(inputs: Inputs, rows: list[Row]) -> list[Row]:
    """Return a run with its parameters and the bytes of each, where that is a whole number."""
    names = rows[0].runs if rows else []
    runs = [run for name in names for run in inputs.tidy_rows("runs", run=name)]
    known = [run for run in runs if run["parameters"] and run["payload_bytes"]]
    whole = [run for run in known if run["payload_bytes"] % run["parameters"] == 0]
    return [
        run | {"runs": run["run"], "each": run["payload_bytes"] // run["parameters"]}
        for run in whole[:1]
    ]


def levels(alone: list[Row]) -> list[Row]:
    """Return the rates of the buckets alone at each N, and whether any two b are told apart."""
    ranges = {
        workers: spread([row["busbw_bytes_per_s"] for row in own])
        for workers, own in by(alone, "workers")
    }
    return [row | {"span": ranges[row["workers"]]} for row in trends(alone, "busbw_bytes_per_s")]


def limit_of(alone: list[Row]) -> str:
    """Return what sets the lab's rates apart from those of the same buckets alone."""
    known = [row for row in alone if not row["no_rate"]]
    for row in known:
        if row["beside"] == "below":
            return str(row["cause"] or "faster")
    kinds = {"above": "hidden", "indistinct": "indistinct", "unknown": "unknown"}
    verdicts = [row["beside"] for row in known]
    return next((kinds[kind] for kind in kinds if kind in verdicts), "nothing")


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
        "busbw_bytes_per_s": alone.busbw_bytes_per_s,
        "link_bytes_per_s": _link_rate(inputs, row),
        "busbw_of_link_frac": (alone | {"base_runs": row["link_runs"]}).busbw_of_link_frac,
        "lab_of_link_frac": _of_link(lab, row),
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


def fits_of(inputs: Inputs, rates: list[Row]) -> list[Row]:
    """Return the rows of `link` that have a fit, against raw TCP, with the time of $S$ in parts.

    term: whether latency or bytes surely take the most of it, or neither; None where $S$ is not
    known or the latency not above zero.
    """
    payloads = {
        workers: max(row["payload_bytes"] or 0 for row in own)
        for workers, own in by(rates, "workers")
    }
    rows = [row for row in inputs.rows("link") if row["beta_bytes_per_s"] is not None]
    return [
        row
        | {"beside_tcp": intervals.compare(row.beta_bytes_per_s, row.tcp_bytes_per_s)}
        | _parts(row, payloads.get(row["workers"], 0))
        for row in sorted(rows, key=lambda row: row["workers"])
    ]


def _parts(row: Row, payload: int) -> dict[str, object]:
    """The seconds of an all-reduce of so many bytes by the fit, and which part is the larger."""
    alpha, beta = row["alpha_s"], row["beta_bytes_per_s"]
    if not payload or alpha is None or alpha <= 0:
        return {"term": None}
    whole = ring_allreduce_seconds(payload, row["workers"], alpha, beta)
    bytes_s = ring_allreduce_seconds(payload, row["workers"], 0.0, beta)
    low, high = row["level_bytes_low"] or 0, row["level_bytes_high"] or math.inf
    return {
        "whole_s": whole, "bytes_s": bytes_s, "latency_s": whole - bytes_s,
        "term": "latency" if payload < low else "bytes" if payload > high else "open",
    }  # fmt: skip


def hooks_of(inputs: Inputs) -> list[Row]:
    """Return the rows of hooks with a time or bytes, by workers and batch."""
    rows = [
        row
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

    found = {f"{name}_{cell(row)}": row[name] for row in rows for name in RATES}
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
        r"\beta = \frac{2 (N - 1)}{N} \cdot S \cdot \frac{D}{N b} \cdot "
        r"\frac{1}{T_{\text{communication}}}",
    ],
    references=[PATARASUK, LI],
)
