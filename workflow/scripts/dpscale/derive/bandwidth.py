"""Bandwidth: the lab's, that of the buckets alone, and what the link can do."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import Cell, cells, in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import bandwidth as bytes_per_second
from dpscale.derive.formulas import iterations_per_epoch, ring_allreduce_bytes
from dpscale.derive.same_machine import require_same_machine

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch")
    | floats("iterations")
    | integers("payload_bytes")
    | floats("moved_bytes lab_bytes_per_s busbw_bytes_per_s link_bytes_per_s")
    | floats("lab_bytes_per_s_low lab_bytes_per_s_high")
    | texts("status note runs")
    | floats("busbw_bytes_per_s_low busbw_bytes_per_s_high busbw_of_link_frac")
    | texts("link_source link_runs")
)


def _note(
    part: pd.Series, communication_s: float | None, slowest_s: float | None, fastest_s: float | None
) -> str | None:
    """Return why the lab's bandwidth or a bound of it is unknown, or None."""
    if part["status"] != "complete":
        return None
    if communication_s is None:
        base = known(part["base_status"]) or "not planned"
        return f"the one-worker run of this batch: {base}"
    if communication_s <= 0:
        return "communication by subtraction is not above zero"
    if slowest_s is None or fastest_s is None:
        return "fewer than 2 repeats: no interval"
    return "communication is below the noise: no upper bound" if fastest_s <= 0 else None


def _rates(
    part: pd.Series, column: str, name: str, moved: float | None, iterations: float | None
) -> dict[str, float | None]:
    """Return the rate in bytes per second that a column of seconds gives, under a name.

    The longest time is the lowest rate; a bound is null where the time's is not above zero.
    """

    def rate(seconds: float | None) -> float | None:
        """Bytes per second where a time is known and above zero."""
        if moved is None or iterations is None or seconds is None or seconds <= 0:
            return None
        return bytes_per_second(moved, iterations, seconds)

    value, low, high = (
        rate(known(part[end])) for end in (column, f"{column}_high", f"{column}_low")
    )
    if value is None:
        low = high = None
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _link_rate(
    part: pd.Series, link: pd.DataFrame, links: pd.DataFrame
) -> tuple[float | None, str | None, str | None]:
    """Return the link's rate, where it is from and which runs: configured, else raw TCP's."""
    own = links[links["own"].fillna(False).astype(bool)]["bytes_per_s"].dropna()
    if len(own):
        return float(own.iloc[0]), "configured", None
    alike = link["workers"] == part["workers"]
    if known(part["nodes"]) is not None:
        alike &= link["nodes"] == part["nodes"]
    measured = link[alike & link["tcp_bytes_per_s"].notna()]
    if measured.empty:
        return None, None, None
    first = measured.iloc[0]
    return float(first["tcp_bytes_per_s"]), "tcp", first["runs"]


def _row(
    part: pd.Series, cell: Cell | None, link: pd.DataFrame, links: pd.DataFrame
) -> dict[str, Any]:
    """Return one row from a row of `communication` and the cell of its runs."""
    workers = int(part["workers"])
    samples, payload = (cell.train_samples, cell.payload_bytes) if cell else (None, None)
    moved = None if payload is None else ring_allreduce_bytes(payload, workers)
    iterations = None
    if samples is not None:
        iterations = iterations_per_epoch(samples, workers, int(part["per_worker_batch"]))
    lab = _rates(part, "subtraction_s", "lab_bytes_per_s", moved, iterations)
    alone = _rates(part, "buckets_s", "busbw_bytes_per_s", moved, iterations)
    link_rate, source, link_runs = _link_rate(part, link, links)
    busbw = alone["busbw_bytes_per_s"]
    times = (known(part[f"subtraction_s{end}"]) for end in ("", "_high", "_low"))
    return {
        **{name: part[name] for name in ("workers", "nodes", "per_worker_batch", "status", "runs")},
        "iterations": iterations,
        "payload_bytes": payload,
        "moved_bytes": moved,
        **lab,
        **alone,
        "link_bytes_per_s": link_rate,
        "link_source": source,
        "link_runs": link_runs,
        "busbw_of_link_frac": busbw / link_rate if busbw and link_rate else None,
        "note": _note(part, *times),
    }


def bandwidth(
    communication: pd.DataFrame, link: pd.DataFrame, links: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the bytes per second behind each row of `communication` with several workers.

    lab_bytes_per_s = 2(N-1)/N * S * iterations / subtraction_s, with iterations = D/(N*b), the
    scale of the epoch of D samples whose seconds these are; busbw_bytes_per_s the same over
    buckets_s, the all-reduce of the same buckets alone. Null where the time is not above zero,
    for the lab's with the reason in `note`; an upper bound is null where the time's lower bound is
    not above zero. link_bytes_per_s is the configured rate of the link, else what raw TCP reached
    with as many workers (link_source). Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "scaling")
    require_same_machine(planned)
    by_cell = {(c.workers, c.nodes, c.per_worker_batch): c for c in cells(planned)}
    rows = []
    for _, part in communication[communication["workers"] > 1].iterrows():
        nodes = known(part["nodes"])
        key = (int(part["workers"]), None if nodes is None else int(nodes),
               int(part["per_worker_batch"]))  # fmt: skip
        rows.append(_row(part, by_cell.get(key), link, links))
    return as_table(rows, COLUMNS)
