"""Rows of direct measurements of communication for the labs of `builders`, made by hand.

What N workers take beyond T_1/N is contention, overhead and exposed communication in the shares
below; the all-reduce of the buckets alone takes BUCKETS_SHARE of it, its span SPAN_SHARE and the
broadcast of buffers BROADCAST_SHARE. The link has ALPHA_S and BETA_BYTES_PER_S.
"""

# ruff: noqa: C408 (rows read better as keywords)
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]

CONTENTION_SHARE, OVERHEAD_SHARE, EXPOSED_SHARE = 0.2, 0.1, 0.7
BUCKETS_SHARE, SPAN_SHARE, BROADCAST_SHARE = 0.8, 0.9, 0.05
DDP_OF_ONE = 1.03
ALPHA_S, BETA_BYTES_PER_S, TCP_BYTES_PER_S = 1e-5, 1.5e9, 1.6e9
BUCKETS = ((1_000_000, 0.4), (3_000_000, 1.0))
MESSAGE_BYTES = (500_000, 1_000_000, 2_000_000, 4_000_000)
HOOKS = {"bf16": (0.5, 0.9), "fp16": (0.5, 1.1), "powersgd": (0.1, 1.0)}  # bytes, step time
LINKS = [
    dict(link="fast", bytes_per_s=4.5e11, latency_s=5e-6, source="made up", own=False),
    dict(link="slow", bytes_per_s=1.25e8, latency_s=2e-2, source="made up", own=False),
]
NOISE = np.array([0.0, -0.01, 0.01, -0.005, 0.005])  # of the repeats, median exact


def arm_seconds(one_s: float, epoch_s: float, workers: int) -> dict[str, float]:
    """Return the epoch seconds of every direct arm, from T_1 and T_N; that of `solo` is T_1."""
    share_s = one_s / workers
    rest_s = epoch_s - share_s
    reference_s = share_s + CONTENTION_SHARE * rest_s
    return {
        "solo": one_s,
        "reference": reference_s,
        "noop_hook": reference_s + OVERHEAD_SHARE * rest_s,
        "buckets": BUCKETS_SHARE * rest_s,
        "no_broadcast": epoch_s - BROADCAST_SHARE * rest_s,
    }


def arm_rows(
    run: dict[str, Any], seconds: dict[str, float], step_rows: Callable[..., Rows]
) -> Rows:
    """Return the steps of the arms of a run; `solo` has rank 0 alone, `buckets` no phases."""
    rows: Rows = []
    for arm, epoch_s in seconds.items():
        who = (
            run | {"workers": 1, "global_batch": run["per_worker_batch"]} if arm == "solo" else run
        )
        made = step_rows(who, epoch_s=list(epoch_s * (1 + NOISE)), arm=arm)
        if arm == "buckets":
            phases = ("load", "copy", "forward", "backward", "update")
            made = [row | {f"{phase}_s": None for phase in phases} for row in made]
        rows += made
    return rows


def bucket_rows(run: str) -> Rows:
    """Return `buckets` of a run."""
    return [
        dict(run=run, index=index, bytes=size, ready_frac=ready)
        for index, (size, ready) in enumerate(BUCKETS)
    ]


def span_rows(run: dict[str, Any], epoch_s: float, one_s: float, iterations: int = 5) -> Rows:
    """Return `spans`: rank 0 waits least, each further rank a tenth more."""
    steps = run["train_samples"] / run["global_batch"]
    span_s = SPAN_SHARE * (epoch_s - one_s / run["workers"]) / steps
    return [
        dict(
            run=run["run"],
            rank=rank,
            iteration=iteration,
            span_s=span_s * (1 + 0.1 * rank),
            overlap_s=0.5 * span_s,
        )
        for iteration in range(iterations)
        for rank in range(run["workers"])
    ]


def message_rows(
    run: str,
    workers: int,
    *,
    alpha_s: float = ALPHA_S,
    beta: float = BETA_BYTES_PER_S,
    sizes: Sequence[int] = MESSAGE_BYTES,
    noise: np.ndarray = NOISE,
) -> Rows:
    """Return `messages` of a ring of known latency and rate, and of raw TCP."""
    rows: Rows = []
    for repeat, off in enumerate(1 + noise):
        for size in sizes:
            seconds = 2 * (workers - 1) * (alpha_s + size / workers / beta)
            rows.append(
                dict(
                    run=run, operation="allreduce", bytes=size, repeat=repeat, seconds=seconds * off
                )
            )
        rows.append(
            dict(
                run=run,
                operation="tcp",
                bytes=4_000_000,
                repeat=repeat,
                seconds=4_000_000 / TCP_BYTES_PER_S * off,
            )
        )
    return rows


def counted_rows(run: dict[str, Any]) -> tuple[Rows, Rows]:
    """Return `collectives` and `wire` of a compression run: two iterations of every arm."""
    collectives, wire = [], []
    for arm, (share, _) in {"without_loading": (1.0, 1.0), **HOOKS}.items():
        size = round(run["payload_bytes"] * share)
        for iteration in (0, 1):
            collectives.append(
                dict(
                    run=run["run"],
                    phase="steady",
                    iteration=iteration,
                    index=len(collectives),
                    calls=1,
                    operation="allreduce",
                    purpose="gradient bucket",
                    dtype="float32",
                    bytes=size,
                    timed_arm=arm,
                )
            )
        sent = 2 * 2 * (run["workers"] - 1) * size
        wire.append(
            dict(
                run=run["run"],
                phase="steady",
                iterations=2,
                interface="lo",
                sent_bytes=sent,
                timed_arm=arm,
            )
        )
    return collectives, wire
