"""Passes of a timed run in which nothing is timed: buckets, DDP's own log, counted bytes."""

from typing import Any

import numpy as np
from torch.nn.parallel import DistributedDataParallel

from dpscale.plan import Spec
from dpscale.train.arms import Arms, Ready
from dpscale.train.clock import PHASES, make_clock
from dpscale.train.collectives import Observer
from dpscale.train.counted import count_steps
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.sync import HOOKS, Silent
from dpscale.train.worker import Place, Replica

WATCHED_STEPS = 10
COUNTED_STEPS = 3
COUNTED_ARMS = ("without_loading", "reference", "noop_hook", *HOOKS)
Rows = list[dict[str, Any]]


def bucket_rows(replica: Replica, silent: Silent, ready: Ready) -> Rows:
    """DDP's rebuilt buckets in the order in which they fill: bytes, and when they are full.

    ready_frac is that time as a share of the backward pass, the median of some steps.
    """
    clock, fracs = make_clock(replica.place.device), []
    sizes: list[int] = []
    for _ in range(WATCHED_STEPS):
        sizes.clear()

        def full(size: int) -> None:
            """Note the time at which a bucket of that size is full."""
            clock.note()
            sizes.append(size)

        silent.on_bucket = full
        epoch = train_epoch(replica, ready.of(1), clock)
        silent.on_bucket = None
        start = _phase_start(epoch, "backward")
        fracs.append((clock.notes() - start) / epoch.seconds["backward_s"][0])
    ready_frac = np.clip(np.median(fracs, axis=0), 0, 1)
    return [
        {"index": index, "bytes": size, "ready_frac": float(frac)}
        for index, (size, frac) in enumerate(zip(sizes, ready_frac, strict=True))
    ]


def _phase_start(epoch: Epoch, phase: str) -> float:
    """Seconds from the start of an epoch's first step to the start of a phase of it."""
    before = PHASES[: PHASES.index(phase)]
    return float(sum(epoch.seconds[f"{name}_s"][0] for name in before))


def span_rows(arms: Arms, ready: Ready, place: Place) -> Rows:
    """DDP's own log of single iterations of every rank, on rank 0: span and overlap in seconds.

    The log tells of the iteration before the one that asks. Empty without DDP.
    """
    replica = arms.replicas["without_loading"]
    if not isinstance(replica.model, DistributedDataParallel):
        return []
    replica.model._set_ddp_runtime_logging_sample_rate(1)
    clock, rows = make_clock(place.device), []
    place.wait()
    for iteration in range(-2, WATCHED_STEPS):  # the first two tell of unlogged iterations
        train_epoch(replica, ready.of(1), clock)
        log = replica.model._get_ddp_logging_data()
        if iteration >= 0 and log.get("backward_comm_time") is not None:
            rows.append(
                {
                    "rank": place.rank,
                    "iteration": iteration,
                    "span_s": log["backward_comm_time"] / 1e9,
                    "overlap_s": log["backward_compute_comm_overlap_time"] / 1e9,
                }
            )
    return [row for of_rank in place.gather(rows) for row in of_rank]


def count_arms(spec: Spec, arms: Arms, ready: Ready) -> dict[str, Rows]:
    """The collectives and the interface bytes of a few steps of each arm, as record fields.

    Without the collectives where torch lets nobody see them. Raises RuntimeError when several
    workers train with DDP and no all-reduce is seen.
    """
    observer, wire = Observer(), Rows()
    with observer.watching():
        for arm in (name for name in COUNTED_ARMS if name in arms.by_name):
            seen = len(observer.rows)
            replica = arms.replicas[arm]
            counted = count_steps(
                observer, replica, ready.batches[0], "steady", range(COUNTED_STEPS)
            )
            wire += [row | {"timed_arm": arm} for row in counted]
            for row in observer.rows[seen:]:
                row["timed_arm"] = arm
    plain = [row for row in observer.rows if row["timed_arm"] == "without_loading"]
    observer.require_buckets(plain, spec.run)
    return {"collectives": observer.rows, "wire": wire}
