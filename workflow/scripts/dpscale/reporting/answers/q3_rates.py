"""Q3.2's three rates side by side: the lab's, that of the buckets alone, and the link's."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import BATCH, WORKERS, measured_table
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_bandwidth_reasons import rate
from dpscale.reporting.answers.q3_cells import at, grouped, places, spread

SOURCES = {"tcp": "raw TCP", "configured": "configured"}
EXPLAINED = {
    "tcp": "The link's rate is what raw TCP reaches between the same workers when each sends to "
    "the next one at the same time.",
    "configured": "The link's rate is the configured one.",
}


def alone(rows: list[Row]) -> list[Row]:
    """Return the rows with a bus bandwidth of the buckets alone."""
    return [row for row in rows if row.get("busbw_bytes_per_s") is not None]


def _runs(row: Row, *columns: str) -> list[str]:
    """The runs that these columns of a row name."""
    return " ".join(str(row[column]) for column in columns if row.get(column)).split()


def _bus(row: Row) -> Value:
    return measured(row, "busbw_bytes_per_s", "bytes/s", _runs(row, "runs"))


def _of_link(row: Row) -> Value:
    return measured(row, "busbw_of_link_frac", "fraction", _runs(row, "runs", "link_runs"))


def values(row: Row) -> dict[str, Value]:
    """Return the bus bandwidth of a cell and its share of the link's rate, where known."""
    found = {"busbw_bytes_per_s": _bus(row), "busbw_of_link_frac": _of_link(row)}
    return {name: value for name, value in found.items() if value.value is not None}


def link_rate(inputs: Inputs, row: Row) -> Value:
    """Return the link's rate; raw TCP's with its interval, a configured one as it stands."""
    if row.get("link_source") == "tcp":
        found = inputs.rows("link", runs=row.get("link_runs"))
        if found:
            return measured(found[0], "tcp_bytes_per_s", "bytes/s", inputs.runs_of(found[0]))
    value = measured(row, "link_bytes_per_s", "bytes/s", [])
    exact = row.get("link_source") == "configured"
    return value.model_copy(update={"low": value.value, "high": value.value}) if exact else value


def clause(rows: list[Row]) -> str:
    """Return the range of the buckets' bandwidth and its share of the link's; empty for none."""
    known = alone(rows)
    if not known:
        return ""
    ranked = sorted(known, key=lambda row: row["busbw_bytes_per_s"])
    low, high = (f"{prose.bare(_bus(row))} at {at(row)}" for row in (ranked[0], ranked[-1]))
    reach = f"reach {low}" if len(ranked) == 1 else f"reach from {low} to {high}"
    shares = [_of_link(row) for row in known if row.get("busbw_of_link_frac") is not None]
    of_link = f", {spread(shares)} of the link's rate" if shares else ""
    return f"the same buckets reduced alone {reach}{of_link}"


def against_alone(inputs: Inputs, decided: list[Row]) -> str:
    """Return where the lab's bandwidth lies against that of the same buckets alone, and why."""
    known = alone(decided)

    def kind(row: Row) -> tuple[Verdict, str]:
        """Where the lab's bandwidth lies against the buckets', and why."""
        verdict = prose.compare(rate(inputs, row), _bus(row))
        return verdict, _reason(row, verdict)

    words: dict[Verdict, str] = {
        "below": "is below it",
        "above": "is above it",
        "indistinct": "agrees with it within the intervals",
        "unknown": "has no two-sided interval to be compared with it",
    }
    parts = [
        f"{words[verdict]} {places(group, known)}{reason}"
        for (verdict, reason), group in grouped(known, kind).items()
    ]
    if not parts:
        return ""
    return (
        "The bus bandwidth is the same formula over the time that the same buckets take alone. "
        f"The lab's bandwidth {'; it '.join(parts)}."
    )


def _reason(row: Row, verdict: Verdict) -> str:
    """Why the lab's time is not that of the buckets alone: the larger of what sets them apart.

    subtraction - buckets = (overhead + contention) + (exposed - buckets).
    """
    parts = [row.get(name) for name in ("overhead_s", "contention_s", "exposed_s", "buckets_s")]
    if None in parts or verdict not in ("below", "above"):
        return ""
    overhead, contention, exposed, buckets = (float(part) for part in parts if part is not None)
    beside = abs(overhead + contention) > abs(exposed - buckets)
    reasons = {
        ("below", True): "holds overhead and contention too",
        ("below", False): "holds a transfer that takes longer beside training than alone",
        ("above", True): "is shortened by overhead and contention that are below zero in sum",
        ("above", False): "misses what the backward pass hides of the transfer",
    }
    return f": the time it divides by {reasons[verdict, beside]}"


def against_link(inputs: Inputs, rows: list[Row]) -> str:
    """Return where the buckets' bandwidth lies against the link's rate."""
    known = [row for row in alone(rows) if row.get("link_bytes_per_s") is not None]

    def kind(row: Row) -> tuple[Verdict, str]:
        """Where the buckets' bandwidth lies against the link's, and where that is from."""
        return prose.compare(_bus(row), link_rate(inputs, row)), str(row["link_source"])

    over = {
        "tcp": "so raw TCP is no upper limit for these messages here",
        "configured": "more than the configured link could carry, so that rate is not the true one",
    }
    parts = []
    for (verdict, source), group in grouped(known, kind).items():
        shares = spread([_of_link(row) for row in group])
        where = places(group, known)
        parts.append(
            {
                "below": f"the buckets alone stay below it {where}, at {shares} of it",
                "above": f"the buckets alone exceed it {where}, at {shares} of it, {over[source]}",
                "indistinct": f"the buckets alone reach it within the intervals {where}",
                "unknown": f"too few repeats decide where the buckets alone lie {where}",
            }[verdict]
        )
    if not parts:
        return ""
    below = any(kind(row)[0] == "below" for row in known)
    why = (
        " An all-reduce also adds what it receives and takes $2 (N - 1)$ rounds, each of which "
        "waits for the one before it; a plain stream of bytes does neither."
        if below
        else ""
    )
    sources = " ".join(dict.fromkeys(EXPLAINED[str(row["link_source"])] for row in known))
    return f"{sources} {prose.capitalised('; '.join(parts))}.{why}"


def no_rate_of_exposed() -> str:
    """Return why no rate is given for the exposed time."""
    return (
        "Bytes over the exposed time of Q3.1 would be no bandwidth: training waits only for the "
        "part of the transfer that the backward pass does not hide, so that quotient can exceed "
        "what the wire carries. It is not shown."
    )


def rates_table(inputs: Inputs, rows: list[Row]) -> list[Table]:
    """Return the table of bus bandwidth and link rate; none where neither is known."""
    known = [
        row
        for row in rows
        if row.get("busbw_bytes_per_s") is not None or row.get("link_bytes_per_s") is not None
    ]
    columns = [
        WORKERS,
        BATCH,
        Column(key="busbw_bytes_per_s", title="Buckets alone", unit="bytes/s"),
        Column(key="link_bytes_per_s", title="Link", unit="bytes/s"),
        Column(key="source", title="Link's rate is"),
        Column(key="busbw_of_link_frac", title="Buckets of link", unit="fraction"),
    ]
    caption = "Bus bandwidth of the same buckets alone, and the rate of the link."
    table = measured_table(
        inputs,
        caption,
        columns,
        known,
        lambda row: {
            "link_bytes_per_s": link_rate(inputs, row),
            "source": SOURCES.get(str(row.get("link_source"))),
            "busbw_bytes_per_s": _bus(row),
            "busbw_of_link_frac": _of_link(row),
        },
    )
    return [table] if known else []
