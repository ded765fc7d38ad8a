"""The ledger (Q6): every collective of construction, first and steady iterations, by its bytes.

An untimed pass. An observer sees each collective as it is issued; the kernel's counters of the
network interfaces see the bytes.
"""

from typing import Any

from dpscale.plan import Spec
from dpscale.studies.ledger.config import LedgerProtocol
from dpscale.train.communication.collectives import OUTSIDE, Observer, unobservable
from dpscale.train.communication.counted import count_steps
from dpscale.train.data import Batch, Task, build_loader
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Meter
from dpscale.train.worker import Place, build_replica

Rows = list[dict[str, Any]]


def measure_ledger(spec: "Spec[LedgerProtocol]", task: Task, place: Place) -> Measurement:
    """Collectives and interface bytes of construction, first, rebuild and steady iterations.

    Unavailable where torch lets nobody see them. Raises RuntimeError when several workers trained
    and no all-reduce was seen.
    """
    if reason := unobservable():
        return Measurement(status="unavailable", message=reason)
    observer = Observer()
    batch, steps_per_epoch = _batch(spec, task, place)
    phases = [("first", 1), ("rebuild", 1), ("steady", spec.protocol.steady_steps)]
    meter = Meter(spec.run, "phase", len(phases) + 1, shown=place.leads)
    wire: Rows = []
    with observer.watching():
        observer.start("construction")
        replica = build_replica(spec, task, place, seed=0, steps_per_epoch=steps_per_epoch)
        observer.start(OUTSIDE)
        meter.step(note="construction")
        done = 0
        for phase, steps in phases:
            wire += count_steps(observer, replica, batch, phase, range(done, done + steps))
            done += steps
            meter.step(note=phase)
    observer.require_buckets(observer.rows, spec.run)
    return Measurement(fields={"collectives": observer.rows, "wire": wire})


def _batch(spec: Spec, task: Task, place: Place) -> tuple[Batch, int]:
    """One batch of this worker, and the steps that an epoch would have."""
    assert spec.per_worker_batch is not None
    loader = build_loader(
        task.train,
        task,
        loader="resident",
        batch=spec.per_worker_batch,
        workers=spec.workers,
        rank=place.rank,
        seed=spec.seeds[0],
        augment=False,
        device=place.device,
    )
    return next(loader.batches(0)), len(loader)
