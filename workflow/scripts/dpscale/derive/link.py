"""The link between workers, alone: latency and bandwidth of the ring model, and raw TCP."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, floats, integers, texts
from dpscale.derive.formulas import (
    level_message_bytes,
    ring_allreduce_bytes,
    ring_allreduce_seconds,
)
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import CONFIDENCE, SEED, UNKNOWN, Estimate, median

TIMES_COLUMNS: Columns = (
    integers("workers nodes")
    | texts("operation")
    | integers("bytes")
    | floats("seconds seconds_low seconds_high rate_bytes_per_s fitted_s")
    | integers("repeats")
    | texts("status runs")
)
LINK_COLUMNS: Columns = (
    integers("workers nodes")
    | floats("alpha_s alpha_s_low alpha_s_high")
    | floats("beta_bytes_per_s beta_bytes_per_s_low beta_bytes_per_s_high residual_frac")
    | integers("smallest_bytes largest_bytes messages")
    | floats("tcp_bytes_per_s tcp_bytes_per_s_low tcp_bytes_per_s_high")
    | texts("status note runs")
    | floats("level_bytes level_bytes_low level_bytes_high")
)
FEWEST_SIZES = 2  # two unknowns
FIT_RESAMPLES = 999  # each is a fit of its own
Samples = Mapping[int, np.ndarray]  # seconds of every repeat, by the bytes of the message


class Fit(NamedTuple):
    """Latency in seconds and inverse rate in seconds per byte of the ring model."""

    alpha_s: float
    inverse_beta: float

    @property
    def beta_bytes_per_s(self) -> float | None:
        """Return the rate; None where the times do not grow with the bytes."""
        return 1 / self.inverse_beta if self.inverse_beta > 0 else None


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
    solution, _ = nnls(terms / scale / times[:, None], np.ones(len(times)))
    alpha_s, inverse_beta = solution / scale
    return Fit(float(alpha_s), float(inverse_beta))


def _medians(samples: Samples) -> dict[int, float]:
    return {size: float(np.median(times)) for size, times in samples.items()}


def _resampled(samples: Samples, workers: int) -> list[Fit]:
    """Return fits to repeats drawn anew, size by size."""
    rng = np.random.default_rng(SEED)
    drawn = {
        size: np.median(rng.choice(times, (FIT_RESAMPLES, len(times))), axis=1)
        for size, times in samples.items()
    }
    return [
        fit_ring({size: float(times[index]) for size, times in drawn.items()}, workers)
        for index in range(FIT_RESAMPLES)
    ]


def _interval(values: list[float]) -> tuple[float | None, float | None]:
    if len(values) < FIT_RESAMPLES:  # some resamples give none
        return None, None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _fit_columns(samples: Samples, workers: int) -> dict[str, Any]:
    """Return the fit's columns; nulls and a note where there is nothing to fit."""
    if len(samples) < FEWEST_SIZES:
        return {"note": f"{len(samples)} sizes of message; a fit needs {FEWEST_SIZES}"}
    times = _medians(samples)
    fit = fit_ring(times, workers)
    beta = fit.beta_bytes_per_s
    columns: dict[str, Any] = {
        "smallest_bytes": min(times),
        "largest_bytes": max(times),
        "messages": sum(len(repeats) for repeats in samples.values()),
    }
    if beta is None:
        return columns | {"note": "the times do not grow with the bytes: no rate follows"}
    deviations = [
        abs(ring_allreduce_seconds(float(size), workers, fit.alpha_s, beta) / seconds - 1)
        for size, seconds in times.items()
    ]
    again = _resampled(samples, workers)
    alpha_low, alpha_high = _interval([one.alpha_s for one in again])
    rates = [one.beta_bytes_per_s for one in again]
    beta_low, beta_high = _interval([rate for rate in rates if rate is not None])
    levels = [level_message_bytes(workers, one.alpha_s, one.beta_bytes_per_s)
              for one in again if one.beta_bytes_per_s is not None]  # fmt: skip
    level_low, level_high = _interval(levels)
    return columns | {
        "alpha_s": fit.alpha_s, "alpha_s_low": alpha_low, "alpha_s_high": alpha_high,
        "beta_bytes_per_s": beta, "beta_bytes_per_s_low": beta_low,
        "beta_bytes_per_s_high": beta_high, "residual_frac": max(deviations),
        "level_bytes": level_message_bytes(workers, fit.alpha_s, beta),
        "level_bytes_low": level_low, "level_bytes_high": level_high,
    }  # fmt: skip


def _tcp(messages: pd.DataFrame) -> Estimate:
    tcp = messages[messages["operation"] == "tcp"]
    return median((tcp["bytes"] / tcp["seconds"]).astype(float)) if len(tcp) else UNKNOWN


def _planned(runs: pd.DataFrame) -> pd.DataFrame:
    planned = in_study(runs, "link")
    require_same_machine(planned)
    return planned.sort_values(["workers", "nodes", "run"])


def link(messages: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return latency alpha_s and rate beta_bytes_per_s of each link run, and the rate of raw TCP.

    Fitted to the medians of its all-reduces (`formulas.ring_allreduce_seconds`) with bootstrap
    intervals; residual_frac is the largest relative deviation of a median from the fit. Null with
    a note where no fit is possible. Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for _, run in _planned(runs).iterrows():
        own = messages[messages["run"] == run["run"]]
        reduced = own[own["operation"] == "allreduce"]
        samples = {int(size): group["seconds"].to_numpy(float)
                   for size, group in reduced.groupby("bytes")}  # fmt: skip
        tcp = _tcp(own)
        row = {name: run[name] for name in ("workers", "nodes", "status")} | {"runs": run["run"]}
        if run["status"] == "complete":
            row |= _fit_columns(samples, int(run["workers"]))
        rows.append(row | {"tcp_bytes_per_s": tcp.value, "tcp_bytes_per_s_low": tcp.low,
                           "tcp_bytes_per_s_high": tcp.high})  # fmt: skip
    return as_table(rows, LINK_COLUMNS)


def _fitted_seconds(link: pd.DataFrame, run: str, size: float, workers: int) -> float | None:
    fits = link[(link["runs"] == run) & link["beta_bytes_per_s"].notna()]
    if fits.empty:
        return None
    fit = fits.iloc[0]
    return ring_allreduce_seconds(
        size, workers, float(fit["alpha_s"]), float(fit["beta_bytes_per_s"])
    )


def message_times(messages: pd.DataFrame, link: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the median seconds of each operation and size of each link run.

    rate_bytes_per_s: of an all-reduce the bus bandwidth 2(N-1)/N * bytes / seconds, of raw TCP
    bytes / seconds; fitted_s: what the fit of the same run gives for an all-reduce.
    Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for _, run in _planned(runs).iterrows():
        whole = {name: run[name] for name in ("workers", "nodes", "status")} | {"runs": run["run"]}
        own = messages[messages["run"] == run["run"]]
        if own.empty:
            rows.append(whole)
        for (operation, size), group in own.groupby(["operation", "bytes"]):
            time, workers = median(group["seconds"].to_numpy(float)), int(run["workers"])
            moved, fitted_s = float(size), None
            if operation == "allreduce":
                moved = ring_allreduce_bytes(float(size), workers)
                fitted_s = _fitted_seconds(link, run["run"], float(size), workers)
            rows.append(whole | {
                "operation": operation, "bytes": size, "seconds": time.value,
                "seconds_low": time.low, "seconds_high": time.high, "repeats": time.repeats,
                "rate_bytes_per_s": moved / time.value if time.value else None,
                "fitted_s": fitted_s,
            })  # fmt: skip
    return as_table(rows, TIMES_COLUMNS)
