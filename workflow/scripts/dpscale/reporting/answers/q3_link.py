"""Q3.2's model of the link: latency and bandwidth fitted to single all-reduces."""

from dpscale.reporting.answer import Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import WORKERS, measured_table
from dpscale.reporting.answers.prose import Verdict
from dpscale.reporting.answers.q3_cells import grouped
from dpscale.units import format_value

FORMULA = [r"t(s) = 2 (N - 1) \, \alpha + \frac{2 (N - 1)}{N} \cdot \frac{s}{\beta}"]
COLUMNS = {
    "alpha_s": ("Latency α", "s"),
    "beta_bytes_per_s": ("Bandwidth β", "bytes/s"),
    "residual_frac": ("Largest deviation", "fraction"),
    "smallest_bytes": ("Smallest message", "bytes"),
    "largest_bytes": ("Largest message", "bytes"),
    "tcp_bytes_per_s": ("Raw TCP", "bytes/s"),
}


def fitted(inputs: Inputs) -> list[Row]:
    """Return the rows of `link` that have a fit."""
    rows = inputs.rows("link")
    return sorted(
        (row for row in rows if row.get("beta_bytes_per_s") is not None),
        key=lambda row: row["workers"],
    )


def _value(inputs: Inputs, row: Row, column: str) -> Value:
    return measured(row, column, COLUMNS[column][1], inputs.runs_of(row))


def paragraph(inputs: Inputs) -> str:
    """Return latency and bandwidth of the link for each N, and how well the formula fits."""
    rows = fitted(inputs)
    notes = [
        f"N = {row['workers']}: {row['note']}" for row in inputs.rows("link") if row.get("note")
    ]
    none = f"No latency and bandwidth follow at {'; '.join(notes)}." if notes else ""
    if not rows:
        return none
    found = [
        f"at N = {row['workers']}, $\\alpha$ is {_latency(inputs, row)} and $\\beta$ "
        f"{prose.quantity(_value(inputs, row, 'beta_bytes_per_s'))}; the formula misses no size "
        f"by more than {prose.bare(_value(inputs, row, 'residual_frac'))}"
        for row in rows
    ]
    return (
        "What an all-reduce of any size takes on this link is told by two numbers: each of its "
        "$2 (N - 1)$ rounds costs a latency $\\alpha$ whatever its size, and its bytes flow at "
        "$\\beta$ (Thakur et al., 2005). They are fitted to all-reduces of single messages as "
        f"large as buckets, with nothing beside them: {'. '.join(found).replace('. at', '. At')}. "
        f"{_against_tcp(inputs, rows)}{none}"
    ).strip()


def latency_or_bytes(inputs: Inputs, rates: list[Row]) -> str:
    """Return where latency takes more of the buckets' time than their bytes do.

    `rates` are rows of `bandwidth`; decided where the whole of $S$ is smaller than both ends say.
    """
    parts = []
    for row in fitted(inputs):
        payloads = [
            rate["payload_bytes"]
            for rate in rates
            if rate["workers"] == row["workers"] and rate.get("payload_bytes") is not None
        ]
        lowest, level = row.get("level_bytes_low"), row.get("level_bytes")
        if payloads and lowest is not None and level is not None and max(payloads) < lowest:
            parts.append(f"{format_value(level, 'bytes')} at N = {row['workers']}")
    if not parts:
        return ""
    return (
        "Latency and bytes take equally long for a message of $N \\alpha \\beta$ bytes, "
        f"{prose.join(parts)}. There, all of $S$ is less than that, so the buckets spend more of "
        "their time on latency than on bytes, and more bytes per second alone would help little."
    )


def _latency(inputs: Inputs, row: Row) -> str:
    value = _value(inputs, row, "alpha_s")
    told = prose.against(value, 0.0) in ("above", "unknown")
    return prose.quantity(value) + ("" if told else ", which is not told from zero,")


def _against_tcp(inputs: Inputs, rows: list[Row]) -> str:
    known = [row for row in rows if row.get("tcp_bytes_per_s") is not None]

    def verdict(row: Row) -> Verdict:
        """Where the fitted bandwidth lies against that of raw TCP."""
        return prose.compare(
            *(_value(inputs, row, name) for name in ("beta_bytes_per_s", "tcp_bytes_per_s"))
        )

    words: dict[Verdict, str] = {
        "below": "below what raw TCP gives",
        "above": "above what raw TCP gives",
        "indistinct": "equal to what raw TCP gives within the intervals",
        "unknown": "not comparable with raw TCP for want of repeats",
    }
    parts = [
        f"{words[found]} at N = {prose.join([str(row['workers']) for row in group])}"
        for found, group in grouped(known, verdict).items()
    ]
    return f"The fitted bandwidth is {prose.join(parts)}. " if parts else ""


def values(inputs: Inputs) -> dict[str, Value]:
    """Return latency, bandwidth, deviation and raw TCP's rate for each N."""
    names = ("alpha_s", "beta_bytes_per_s", "residual_frac", "tcp_bytes_per_s")
    return {
        f"{name}_n{row['workers']}": _value(inputs, row, name)
        for row in fitted(inputs)
        for name in names
        if row.get(name) is not None
    }


def tables(inputs: Inputs) -> list[Table]:
    """Return the table of the fits; none where no link was measured."""
    rows = [row for row in inputs.rows("link") if row.get("status") == "complete"]
    columns = [Column(key=key, title=title, unit=unit) for key, (title, unit) in COLUMNS.items()]
    caption = "Latency and bandwidth of the link, fitted to all-reduces of single messages."
    return [measured_table(inputs, caption, [WORKERS, *columns], rows)] if rows else []
