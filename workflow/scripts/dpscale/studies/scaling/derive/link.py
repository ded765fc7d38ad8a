"""The link: latency and bandwidth of the ring model, raw TCP, and what rate communication had."""

import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscale.derive.cells import cells, in_study, over_launches
from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import bandwidth as bytes_per_second
from dpscale.derive.formulas import (
    double_rate_saving,
    latency_share,
    level_message_bytes,
    payload_bytes,
    ring_allreduce_bytes,
    ring_allreduce_seconds,
)
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import interval_columns, median, paired_median_ratio
from dpscale.derive.verdicts import Trend, of_row, side
from dpscale.records.columns import Columns, columns, intervals, reals
from dpscale.studies.scaling.derive.arms import NO_TIME, over_batches, with_cells
from dpscale.vocabulary import words

TIMES_COLUMNS: Columns = (
    columns("workers nodes operation bytes")
    | intervals("seconds")
    | columns("rate_bytes_per_s fitted_s repeats status runs")
    | intervals("smallest_ratio")
)
LINK_COLUMNS: Columns = (
    columns("workers nodes")
    | intervals("alpha_s beta_bytes_per_s")
    | columns("residual_frac smallest_bytes largest_bytes messages launches")
    | intervals("tcp_bytes_per_s")
    | columns("status note runs")
    | intervals("level_bytes")
    | side("alpha_side", "alpha_s")
)
RING_COLUMNS: Columns = (
    words("payload", ("lab", "here"))
    | columns("workers nodes payload_bytes rounds latency_s transfer_s whole_s")
    | intervals("latency_frac saving_frac level_bytes")
    | side("mostly", "level_bytes", "payload_bytes")
    | columns("runs")
)
# Of the lab's time, with the columns of `communication` that are over it; they add up to it.
SHARES = {"transfer_frac": "buckets_s", "waiting_frac": "waiting_s", "other_frac": "other_s"}
BANDWIDTH_COLUMNS: Columns = (
    columns("workers nodes per_worker_batch iterations payload_bytes moved_bytes")
    | columns("lab_bytes_per_s busbw_bytes_per_s link_bytes_per_s lab_bytes_per_s_low")
    | columns("lab_bytes_per_s_high status note runs busbw_bytes_per_s_low busbw_bytes_per_s_high")
    | columns("busbw_of_link_frac")
    | words("link_source", ("tcp", "configured"))
    | columns("link_runs link_bytes_per_s_low link_bytes_per_s_high lab_of_link_frac")
    | columns(" ".join(SHARES))
    | intervals("exposed_iteration_s")
    | words("medium", ("loopback", "machine", "network"))
    | words("no_rate", (*NO_TIME.values(), "not measured"))
    | side("lab_to_busbw", "lab_bytes_per_s", "busbw_bytes_per_s")
    | side("busbw_to_link", "busbw_bytes_per_s", "link_bytes_per_s")
    | words("lab_trend exposed_trend", Trend)
    | reals("iterations")
)
LAB_BYTES = payload_bytes(11_173_962.0, 4.0)  # ResNet-18 with the stem for CIFAR-10, float32
SAME_PAYLOAD_FRAC = 0.01
FEWEST_SIZES = 2  # two unknowns


class Fit(NamedTuple):
    """Latency in seconds and inverse rate in seconds per byte of the ring model."""

    alpha_s: float
    inverse_beta: float

    @property
    def beta_bytes_per_s(self) -> float:
        """Return the rate; NaN where the times do not grow with the bytes."""
        return 1 / self.inverse_beta if self.inverse_beta > 0 else math.nan

    def columns(self, workers: int) -> dict[str, float]:
        """Return what the fit says of the link, by column."""
        return {
            "alpha_s": self.alpha_s,
            "beta_bytes_per_s": self.beta_bytes_per_s,
            "level_bytes": level_message_bytes(workers, self.alpha_s, self.beta_bytes_per_s),
        }


def fit_ring(seconds: Mapping[int, float], workers: int) -> Fit:
    """Return the latency and the inverse rate, neither below 0, that fit the times best.

    seconds: time of an all-reduce by its bytes. Least squares of the relative deviations, so that
    each size counts alike (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23).
    """
    times = np.array(list(seconds.values()))
    moved = np.array([ring_allreduce_bytes(float(size), workers) for size in seconds])
    terms = np.column_stack([np.full(len(times), 2.0 * (workers - 1)), moved])
    # Both columns to the same magnitude: bytes are many and seconds few.
    scale = np.abs(terms).max(axis=0)
    from scipy.optimize import nnls  # not above: a fifth of a second, of every reader

    solution, _ = nnls(terms / scale / times[:, None], np.ones(len(times)))
    alpha_s, inverse_beta = solution / scale
    return Fit(float(alpha_s), float(inverse_beta))


def _fit_columns(seconds: pd.DataFrame, workers: int) -> dict[str, Any]:
    """Return the fit's columns; nulls and a note where there is nothing to fit.

    seconds: a row a launch (of a single one its repeats), a column a size of message. Each is
    fitted alone: latency and rate are medians of theirs, with the intervals of those; level_bytes
    is what these medians give, and its interval, over launches, reaches to it.
    """
    if len(seconds.columns) < FEWEST_SIZES:
        return {"note": f"{len(seconds.columns)} sizes of message; a fit needs {FEWEST_SIZES}"}
    fits = pd.DataFrame(
        [fit_ring(row.to_dict(), workers).columns(workers) for _, row in seconds.iterrows()]
    )
    columns = {"smallest_bytes": min(seconds), "largest_bytes": max(seconds)}
    if fits["beta_bytes_per_s"].isna().any():
        return columns | {"note": "the times do not grow with the bytes: no rate follows"}
    found = {name: median(fits[name]) for name in fits}
    for name, estimate in found.items():
        columns |= interval_columns(name, estimate)
    ring = workers, columns["alpha_s"], columns["beta_bytes_per_s"]
    # The medians' own, so that what is printed beside them can be recomputed from them.
    columns["level_bytes"] = level = level_message_bytes(*ring)
    columns["level_bytes_low"] = min(columns["level_bytes_low"], level)
    columns["level_bytes_high"] = max(columns["level_bytes_high"], level)
    columns["residual_frac"] = max(
        abs(ring_allreduce_seconds(float(size), *ring) / middle - 1)
        for size, middle in seconds.median().items()
    )
    return columns


def _link_cells(
    messages: pd.DataFrame, runs: pd.DataFrame
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the columns of each number of workers, and the messages of its launches."""
    planned = in_study(runs, "link")
    require_same_machine(planned)
    for cell in cells(planned):
        of_cell = messages[messages["run"].isin(cell.runs)]
        whole = {"workers": cell.workers, "nodes": cell.nodes, "status": cell.status}
        yield whole | {"runs": " ".join(cell.runs)}, of_cell


def _by_launch(messages: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Values of messages of one kind, a median a launch; of a single launch its repeats."""
    return over_launches(values.astype(float).set_axis(_repeat_of(messages)))


def _repeat_of(messages: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(messages[["run", "repeat"]])


def link(messages: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return latency alpha_s and rate beta_bytes_per_s of each number of workers, and raw TCP's.

    Fitted to the all-reduces of each launch (`formulas.ring_allreduce_seconds`); the intervals are
    over launches, of a single one over its repeats. residual_frac is the largest relative deviation
    of a median from the fit. Null with a note where no fit is possible. Raises MixedMachinesError
    for runs of different machines.
    """
    rows = []
    for whole, own in _link_cells(messages, runs):
        tcp, reduced = (own[own["operation"] == name] for name in ("tcp", "allreduce"))
        fit: dict[str, Any] = {"messages": len(reduced)}
        if whole["status"] == "complete":
            sizes = reduced.pivot(index=["run", "repeat"], columns="bytes", values="seconds")
            fit |= _fit_columns(over_launches(sizes.astype(float).dropna()), whole["workers"])
        rates = _by_launch(tcp, tcp["bytes"] / tcp["seconds"])
        several = not isinstance(rates.index, pd.MultiIndex)
        fit |= interval_columns("tcp_bytes_per_s", median(rates))
        rows.append(whole | fit | {"launches": len(rates) if several else None})
    return as_table(rows, LINK_COLUMNS)


def message_times(messages: pd.DataFrame, link: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the median seconds of each operation and size for each number of workers.

    Over launches, of a single one over its repeats. rate_bytes_per_s: of an all-reduce the bus
    bandwidth 2(N-1)/N * bytes / seconds, of raw TCP bytes / seconds; fitted_s: what the fit of the
    same runs gives for an all-reduce; smallest_ratio: the smallest all-reduce over it, launch by
    launch. Raises MixedMachinesError for runs of different machines.
    """
    fits = link.set_index("runs")[["alpha_s", "beta_bytes_per_s"]]
    rows = []
    for whole, own in _link_cells(messages, runs):
        if own.empty:
            rows.append(whole)
        workers, (alpha_s, beta) = whole["workers"], fits.loc[whole["runs"]]
        reduced = own[own["operation"] == "allreduce"]
        smallest = reduced[reduced["bytes"] == reduced["bytes"].min()]
        least_s = _by_launch(smallest, smallest["seconds"])
        for (operation, size), alike in own.groupby(["operation", "bytes"]):
            seconds = _by_launch(alike, alike["seconds"])
            time = median(seconds)
            row = {"operation": operation, "bytes": size, "repeats": time.repeats}
            moved = float(size)
            if operation == "allreduce":
                moved = ring_allreduce_bytes(moved, workers)
                row["fitted_s"] = ring_allreduce_seconds(float(size), workers, alpha_s, beta)
                if size > reduced["bytes"].min():
                    ratio = paired_median_ratio(least_s, seconds)
                    row |= interval_columns("smallest_ratio", ratio)
            row["rate_bytes_per_s"] = moved / time.value if time.value else None
            rows.append(whole | row | interval_columns("seconds", time))
    return as_table(rows, TIMES_COLUMNS)


def _note(row: Mapping[str, Any]) -> str | None:
    """Return why the lab's bandwidth or a bound of it is unknown, or None."""
    time, low, high = (known(row[f"subtraction_s{end}"]) for end in ("", "_low", "_high"))
    if row["status"] != "complete":
        return None
    if time is None:
        return f"the one-worker run of this batch: {row['base_status']}"
    if time <= 0:
        return "communication by subtraction is not above zero"
    if low is None or high is None:
        return "fewer than 2 repeats: no interval"
    return "communication is possibly zero: no upper bound" if low <= 0 else None


def _link_rate(
    link: pd.DataFrame, links: pd.DataFrame, workers: int, nodes: int | None
) -> dict[str, float | str]:
    """Return the link's rate, where it is from and which runs: configured, else raw TCP's."""
    names = [f"link_bytes_per_s{end}" for end in ("", "_low", "_high")]
    own = links.loc[links["own"], "bytes_per_s"].dropna()
    if len(own):
        return dict.fromkeys(names, own.iloc[0]) | {"link_source": "configured"}
    alike = link["workers"] == workers
    if nodes is not None:
        alike &= link["nodes"] == nodes
    measured = link[alike & link["tcp_bytes_per_s"].notna()]
    if measured.empty:
        return {}
    columns = [name.replace("link", "tcp") for name in names]
    *rates, run = measured[[*columns, "runs"]].iloc[0]
    return dict(zip(names, rates, strict=True)) | {"link_source": "tcp", "link_runs": run}


def _medium(nodes: int | None, backend: str | None) -> str | None:
    """What workers talk over, None where that is unknown."""
    if nodes is None or nodes > 1:
        return "network" if nodes else None
    return {None: None, "gloo": "loopback"}.get(backend, "machine")


def bandwidth(
    communication: pd.DataFrame, link: pd.DataFrame, links: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the bytes per second behind each row of `communication` with several workers.

    lab_bytes_per_s = 2(N-1)/N * S * iterations / subtraction_s, with iterations = D/(N*b), the
    scale of the epoch of D samples whose seconds these are; busbw_bytes_per_s the same over
    buckets_s, the all-reduce of the same buckets alone. Null where the time is not above zero,
    for the lab's with the reason in `note`; an upper bound is null where the time's lower bound is
    not above zero. link_bytes_per_s is the configured rate of the link, else what raw TCP reached
    with as many workers (link_source). no_rate: why the lab's time is none that a rate follows
    from. Of its time, where it is one, transfer_frac is the share of buckets_s, waiting_frac of
    what training waits longer, other_frac of overhead and contention.
    exposed_iteration_s: what training waits in an iteration. medium: what the workers talk over,
    loopback for gloo on one node. Raises MixedMachinesError for runs of different machines.
    """
    require_same_machine(in_study(runs, "scaling"))
    rows, backends = [], runs.set_index("run")["backend"]
    link_rate = cache(partial(_link_rate, link, links))  # of thousands of cells few differ
    for row, cell in with_cells(communication, runs):
        moved = ring_allreduce_bytes(float(cell.payload_bytes or math.nan), cell.workers)
        found = cell.columns() | {"iterations": cell.iterations, "moved_bytes": moved}
        found["runs"] = row["runs"]
        found["medium"] = _medium(cell.nodes, known(backends[cell.runs[0]]))
        for name, column in (("lab", "subtraction_s"), ("busbw", "buckets_s")):
            # The longest time is the lowest rate.
            times = np.array([row[column], row[f"{column}_high"], row[f"{column}_low"]], float)
            usable = np.where((times > 0) & (times[0] > 0), times, math.nan)
            ends = (f"{name}_bytes_per_s{end}" for end in ("", "_low", "_high"))
            rates = bytes_per_second(moved, cell.iterations, usable)
            found |= dict(zip(ends, rates, strict=True))
        found |= link_rate(cell.workers, cell.nodes) | {"note": _note(row)}
        timed = known(row["subtraction_s"]) is not None
        found["no_rate"] = NO_TIME.get(of_row(row, "subtraction_s")) if timed else "not measured"
        if found["no_rate"] is None:
            found |= {name: row[column] / row["subtraction_s"] for name, column in SHARES.items()}
        for end in ("", "_low", "_high"):
            found[f"exposed_iteration_s{end}"] = row[f"exposed_s{end}"] / cell.iterations
        of_link = found["busbw_bytes_per_s"] / found.get("link_bytes_per_s", math.nan)
        rows.append(found | {"busbw_of_link_frac": of_link})
    return as_table(rows, BANDWIDTH_COLUMNS)


def judge(rows: list[dict[str, Any]]) -> None:
    """Notes what of the link's rate the lab's is, and how it goes over the batches."""
    rated = [row for row in rows if row["no_rate"] is None]
    for row in rows:
        row |= dict.fromkeys(("lab_of_link_frac", "lab_trend", "exposed_trend"))
    for row in rated:
        if row["lab_bytes_per_s"] and row["link_bytes_per_s"]:
            row["lab_of_link_frac"] = row["lab_bytes_per_s"] / row["link_bytes_per_s"]
    over_batches(rated, "lab_bytes_per_s", "lab_trend")
    waited = [row for row in rows if row["exposed_iteration_s"] is not None]
    over_batches(waited, "exposed_iteration_s", "exposed_trend")


def ring_times(link: pd.DataFrame, bandwidth: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of one all-reduce by the fit of each N, in two parts, for two payloads.

    payload: `here`, that of the network trained, and `lab`, where that is another. latency_s and
    transfer_s add up to whole_s; latency_frac is the share of the former, saving_frac what a link
    of twice the rate would save of the whole; mostly: where level_bytes, the message whose latency
    and bytes take equally long, lies of the payload.
    """
    payloads = bandwidth.groupby("workers")["payload_bytes"].max()
    rows = []
    for row in link.dropna(subset="beta_bytes_per_s").sort_values("workers").to_dict("records"):
        if own := known(payloads.get(row["workers"])):
            rows.append(_ring_row(row, "here", float(own)))
            if abs(LAB_BYTES / own - 1) > SAME_PAYLOAD_FRAC:
                rows.append(_ring_row(row, "lab", LAB_BYTES))
    return as_table(rows, RING_COLUMNS)


def _ring_row(fit: dict[str, Any], payload: str, size: float) -> dict[str, Any]:
    ring = fit["workers"], fit["alpha_s"], fit["beta_bytes_per_s"]
    latency, whole = (ring_allreduce_seconds(one, *ring) for one in (0.0, size))
    row = fit | {"payload": payload, "payload_bytes": size, "rounds": 2 * (fit["workers"] - 1)}
    row |= {"latency_s": latency, "transfer_s": whole - latency, "whole_s": whole}
    # No latency is below zero, and the longer it is the less a faster link saves.
    level, low, high = (max(0.0, fit[f"level_bytes{end}"]) for end in ("", "_low", "_high"))
    for end, less, more in (("", level, level), ("_low", low, high), ("_high", high, low)):
        row[f"latency_frac{end}"] = latency_share(less, size)
        row[f"saving_frac{end}"] = double_rate_saving(more, size)
    return row
