"""The search for the largest batch that fits: which batch to try next, given what happened."""

import math
from collections.abc import Mapping, Sequence

from dpscale.plan.spec import TIMED, Spec, TimedProtocol, Timing
from dpscale.studies.study import Completion, Earlier
from dpscale.studies.sweep.config import BoundaryProtocol, Probe

FITS = {"complete": True, "out_of_memory": False}


def search(spec: "Spec[BoundaryProtocol]", earlier: Earlier) -> Spec:
    """Return the spec with what was tried between the batches of the sweep, each by a probe."""
    swept = earlier.runs.to_dict("records")
    if all(row["status"] == "unavailable" for row in swept):
        return spec.model_copy(update={"per_worker_batch": 1, "withheld": swept[0]["message"]})
    samples = earlier.runs["train_samples"].dropna()
    if samples.empty:
        reasons = ", ".join(f"{row['run']}: {row['status']} ({row['message']})" for row in swept)
        raise ValueError(f"{spec.run}: no batch of the sweep ran: {reasons}")
    outcomes: dict[int, list[bool]] = {}
    for row in swept:
        if row["status"] in FITS:
            outcomes.setdefault(row["per_worker_batch"], []).append(FITS[row["status"]])
    asked, probes = spec.protocol, list[Probe]()
    while batch := next_probe(
        outcomes,
        train_samples=int(samples.iloc[0]),
        resolution_frac=asked.resolution_frac,
        confirmations=asked.confirmations,
    ):
        number = len(outcomes.get(batch, [])) + 1
        record = earlier.probe(_probe(spec, batch, f"{spec.run}-b{batch}-{number}"))
        if record.status not in FITS:
            raise ValueError(f"{record.run}: {record.status}: {record.message}")
        outcomes.setdefault(batch, []).append(FITS[record.status])
        probes.append(Probe.model_validate({"per_worker_batch": batch, "status": record.status}))
    return spec.model_copy(
        update={
            "per_worker_batch": bounds(outcomes)[0] or 1,
            "protocol": asked.model_copy(update={"probes": tuple(probes)}),
        }
    )


def _probe(spec: "Spec[BoundaryProtocol]", batch: int, run: str) -> Spec:
    """A run of one batch: whether it fits shows in the second step, when momentum exists."""
    timing = Timing(arms=("without_loading",), repeats=1, min_steps=2, max_steps=2, warmup_steps=2)
    budget_bytes = spec.protocol.memory_budget_bytes
    return spec.model_copy(
        update={
            "run": run,
            "kind": TIMED.name,
            "version": TIMED.version,
            "per_worker_batch": batch,
            "protocol": TimedProtocol(timing=timing, memory_budget_bytes=budget_bytes),
            "completed_by": None,
        }
    )


def bounds(outcomes: Mapping[int, Sequence[bool]]) -> tuple[int | None, int | None]:
    """(largest batch that always fits, smallest that always fails); None where there is none.

    outcomes: for each batch tried, whether it fitted, a value a process. The layout of memory
    differs from process to process, so that batches between the two may fit in some only.
    """
    fitted = [batch for batch, tried in outcomes.items() if any(tried)]
    failed = [batch for batch, tried in outcomes.items() if not all(tried)]
    fits = [batch for batch in fitted if batch < min(failed, default=math.inf)]
    fails = [batch for batch in failed if batch > max(fitted, default=0)]
    return max(fits, default=None), min(fails, default=None)


def next_probe(
    outcomes: Mapping[int, Sequence[bool]],
    *,
    train_samples: int,
    resolution_frac: float,
    confirmations: int,
) -> int | None:
    """The batch to try next in a fresh process, or None when the boundary is settled.

    Bisects geometrically between the largest batch that fits and the smallest that ever failed
    until they are within `resolution_frac`, then confirms the batch that fits and the smallest
    that always fails in `confirmations` processes beyond the one that found it; where nothing
    failed, the whole dataset (`train_samples`) is confirmed.
    """
    fits, fails = bounds(outcomes)
    first_failure = min(
        (batch for batch, tried in outcomes.items() if not all(tried)), default=None
    )

    def unconfirmed(batch: int) -> int | None:
        """The batch, if it was tried too few times."""
        return batch if len(outcomes.get(batch, [])) < 1 + confirmations else None

    if first_failure is None:
        return unconfirmed(train_samples)
    if fits is None:
        return first_failure // 2 or None
    if first_failure - fits > max(1, int(resolution_frac * first_failure)):
        middle = round(math.sqrt(fits * first_failure))
        return min(max(middle, fits + 1), first_failure - 1)
    # A batch that fitted above every failure has no failing one above it yet.
    above = fails or min(2 * max(outcomes), train_samples)
    return unconfirmed(fits) or unconfirmed(above)


def _of_sweep(spec: Spec, other: Spec) -> bool:
    return other.study == "sweep"


BY_SEARCH = Completion(_of_sweep, search)
