"""Q3.2's what if: speed-up and efficiency that the model predicts for links it was only told of."""

from itertools import takewhile

from dpscale.reporting.answer import Cell, Column, Table, Value
from dpscale.reporting.answers import prose
from dpscale.reporting.answers.inputs import Inputs, Row, measured
from dpscale.reporting.answers.measured_table import BATCH
from dpscale.reporting.answers.q3_cells import grouped
from dpscale.units import format_value

SHOWN = (2, 8, 64, 1024)  # workers
PLAIN = "none"
HALF = 0.5  # of the ideal speed-up


def _rows(inputs: Inputs) -> list[Row]:
    return [row for row in inputs.rows("what_if") if row["workers"] in SHOWN]


def predicted(inputs: Inputs) -> list[Row]:
    """Return the predicted rows of all numbers of workers."""
    return [row for row in inputs.rows("what_if") if row.get("speedup_ratio") is not None]


def _value(inputs: Inputs, row: Row, column: str, unit: str) -> Value:
    return measured(row, column, unit, inputs.runs_of(row))


def paragraphs(inputs: Inputs) -> list[str]:
    """Return what the model predicts, where it ends, and where it is refused."""
    known = predicted(inputs)
    if not known:
        return [_refusals(inputs)]
    return [_assumptions(), _outlook(inputs, known), _limits(known), _refusals(inputs)]


def _assumptions() -> str:
    return (
        "What if there were more workers, on another link? The two tables of it are predicted, "
        "not measured: this machine's computation and buckets, a device for each worker, the "
        "overlap seen in the smallest run of several workers, and the formula above with the named "
        "link's latency and bandwidth. The speed-up is that of a sample: N times one worker's step "
        "over the step of N."
    )


def _outlook(inputs: Inputs, known: list[Row]) -> str:
    """Up to how many workers each link keeps half of the ideal speed-up, at the largest batch."""
    batch = max(row["per_worker_batch"] for row in known)
    plain = [row for row in known if row["variant"] == PLAIN and row["per_worker_batch"] == batch]
    kept, never = [], []
    for link, own in grouped(plain, lambda row: row["link"]).items():
        own = sorted(own, key=lambda row: row["workers"])
        above = list(takewhile(lambda row: row["efficiency_frac"] >= HALF, own))
        share = prose.bare(_value(inputs, own[-1], "efficiency_frac", "fraction"))
        end = f"{share} at N = {format_value(own[-1]['workers'], 'count')}"
        if above:
            most = format_value(above[-1]["workers"], "count")
            kept.append(f"on {link} up to N = {most} ({end})")
        else:
            never.append(f"on {link} ({end})")
    half = f"at least {HALF:.0%} of the ideal speed-up is predicted"
    texts = [f"{half} {prose.join(kept)}"] if kept else []
    if never:
        less = "less" if kept else f"less than {HALF:.0%} of the ideal speed-up is predicted"
        texts.append(f"{less} {prose.join(never)} at every N")
    text = f"At b = {batch}, {'; '.join(texts)}."
    slower = [row for row in plain if row["speedup_ratio"] < 1]
    if slower:
        links = prose.join(list(dict.fromkeys(row["link"] for row in slower)))
        text += f" On {links} some numbers of workers are predicted to be slower than one."
    return text


def _limits(known: list[Row]) -> str:
    beyond = [row for row in known if row.get("exceeds_dataset")]
    if not beyond:
        return ""
    parts = [
        f"from N = {format_value(min(row['workers'] for row in own), 'count')} on at b = {batch}"
        for batch, own in grouped(beyond, lambda row: row["per_worker_batch"]).items()
    ]
    return (
        f"The global batch N·b is larger than the training set {prose.join(parts)}: there, the "
        "speed-up is that of steps which this training set cannot fill."
    )


def _refusals(inputs: Inputs) -> str:
    refused = [row for row in inputs.rows("what_if") if row.get("status") == "refused"]
    if not refused:
        return ""
    firsts = [
        min(own, key=lambda row: row["workers"])
        for own in grouped(refused, lambda row: (row["link"], row["per_worker_batch"])).values()
    ]
    if not predicted(inputs):
        reasons = prose.join(list(dict.fromkeys(str(row["note"]) for row in firsts)))
        return f"What more workers on another link would give is not predicted: {reasons}."
    parts = [
        f"on {prose.join(list(dict.fromkeys(row['link'] for row in own)))} from N = "
        f"{format_value(workers, 'count')} on at b = {batch} ({note})"
        for (note, workers, batch), own in grouped(
            firsts, lambda row: (row["note"], row["workers"], row["per_worker_batch"])
        ).items()
    ]
    return f"No prediction is made {'; '.join(parts)}."


def values(inputs: Inputs) -> dict[str, Value]:
    """Return the predicted efficiencies of the tables, by link, batch and workers."""
    return {
        f"predicted_efficiency_{row['link']}_n{row['workers']}_b{row['per_worker_batch']}".replace(
            " ", "_"
        ): _value(inputs, row, "efficiency_frac", "fraction")
        for row in _rows(inputs)
        if row["variant"] == PLAIN and row.get("efficiency_frac") is not None
    }


def tables(inputs: Inputs) -> list[Table]:
    """Return predicted speed-up and efficiency, a row for each link and batch; none if refused.

    A batch for which every link is refused has no row: the text gives the reason.
    """
    if not predicted(inputs):
        return []
    return [
        _table(inputs, "speedup_ratio", "ratio", "speed-up over one worker"),
        _table(inputs, "efficiency_frac", "fraction", "efficiency, the speed-up over N"),
    ]


def _table(inputs: Inputs, column: str, unit: str, title: str) -> Table:
    sizes = {row["per_worker_batch"] for row in predicted(inputs)}
    plain = [
        row for row in _rows(inputs) if row["variant"] == PLAIN and row["per_worker_batch"] in sizes
    ]
    workers = sorted({row["workers"] for row in plain})
    columns = [
        Column(key="link", title="Link"),
        # As text, each in a scale of its own: they differ by orders of magnitude.
        Column(key="bytes_per_s", title="Bandwidth"),
        Column(key="latency_s", title="Latency"),
        BATCH,
        *(Column(key=str(n), title=f"N = {format_value(n, 'count')}", unit=unit) for n in workers),
    ]
    rows: list[dict[str, Cell]] = []
    for (link, batch), own in grouped(
        plain, lambda row: (row["link"], row["per_worker_batch"])
    ).items():
        first = own[0]
        rows.append(
            {
                "link": link,
                "bytes_per_s": format_value(first["bytes_per_s"], "bytes/s"),
                "latency_s": format_value(first["latency_s"], "s"),
                "per_worker_batch": batch,
            }
            | {str(row["workers"]): _value(inputs, row, column, unit) for row in own}
        )
    return Table(
        caption=f"Predicted, not measured: {title}, by link and number of workers.",
        columns=columns,
        rows=rows,
    )
