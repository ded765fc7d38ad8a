"""Timed runs (Q1, Q2, Q3): arms interleaved in one process group, then untimed passes."""

import itertools
import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_leaves, tree_map_only

from dpscale.plan import Spec
from dpscale.plan.spec import TimedProtocol, Timing
from dpscale.plan.ways import WAYS
from dpscale.train.arms import Arms, Ready, build_arms
from dpscale.train.clock import PHASES, make_clock
from dpscale.train.communication.collectives import Observer
from dpscale.train.communication.counted import count_steps
from dpscale.train.communication.sync import HOOKS, Silent
from dpscale.train.data import Batch, Task
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.machine.device import Utilisation
from dpscale.train.machine.memory import PeakMemory
from dpscale.train.machine.quiet import Quiet
from dpscale.train.measurement import Measurement, StepLog, gather_steps, mean_of_known
from dpscale.train.progress import Meter
from dpscale.train.worker import Place, Replica, build_spec_loader

# Batches held ready in host memory for the arms without loading: few, so that they cost little.
READY_BATCHES = 8
READY_BYTES = 512 * 2**20
# Whose interval decides whether a further repeat is worth its time: differences to this arm.
BASE_ARM = "without_loading"
COMPARED_ARMS = ("reference", "noop_hook", "no_broadcast", "ddp_of_one", *HOOKS, *WAYS)
# Of the passes in which nothing is timed.
WATCHED_STEPS = 10
COUNTED_STEPS = 3
COUNTED_ARMS = ("without_loading", "reference", "noop_hook", "no_broadcast", *HOOKS, *WAYS)
Rows = list[dict[str, Any]]


def measure_timed(spec: "Spec[TimedProtocol]", task: Task, place: Place) -> Measurement:
    """Times the spec's arms after a warm-up that is not recorded.

    A repeat of an arm with or without loading is as many epochs of full batches as reach
    `timing.min_steps`, one of the other arms `timing.direct_steps`. The arms of a repeat come in
    random order, the same on all workers. What is counted or logged is so in passes of its own
    after the timed ones.
    """
    timing = spec.protocol.timing
    memory = PeakMemory(place.device)
    ready = ready_batches(spec, task, place, max_steps=timing.max_steps)
    arms = build_arms(spec, task, place, ready=ready, loaded=_loaded(spec, task, place))
    _warm_up(arms, ready, timing, place)
    buckets = bucket_rows(arms.replicas["noop_hook"], arms.silent, ready) if arms.silent else []
    if "buckets" in timing.arms:
        arms.add_buckets([row["bytes"] for row in buckets], spec, place)
        list(arms.by_name["buckets"].repeat())
    with Utilisation(place.device, spec.hardware.threads_per_worker) as utilisation:
        log, repeats = _time(spec, timing, arms, place)
    # Workers that stand aside while one of them trains would count as idle devices.
    busy = None if "solo" in arms.by_name else utilisation.frac
    peaks = [peak for peak in place.gather(memory.bytes()) if peak is not None]
    fields: dict[str, Any] = {
        "peak_memory_bytes": max(peaks, default=None),
        "utilisation_frac": mean_of_known(place.gather(busy)),
        "repeats": repeats,
    }
    if place.workers > 1:
        counted = count_arms(spec, arms, ready)
        fields |= counted | {"buckets": buckets, "spans": span_rows(arms, ready, place)}
    return Measurement(steps=gather_steps(log, place), fields=fields)


def _time(spec: Spec, timing: Timing, arms: Arms, place: Place) -> tuple[StepLog, Rows]:
    """The timed part: repeats of all arms, each in random order, until they tell enough.

    Returns the steps, and the rows of the table `repeats`. At most as many repeats as were asked
    for are made again since others used the machine.
    """
    seed = spec.seeds[0]
    # Of each launch another order, the same on all workers.
    log, order = StepLog(place.rank), random.Random(f"{spec.run} {seed}")
    watch = _Watch(timing, place)
    quiet = Quiet(place, again=timing.repeats, budget_s=timing.budget_s)
    meter = Meter(spec.run, "repeat", timing.repeats, shown=place.leads)
    for repeat in itertools.count():
        further = repeat >= timing.repeats
        if further and not watch.worth_another():
            return log, quiet.rows
        # Loading is not what a further repeat is for.
        names = [name for name in timing.arms if not (further and name == "with_loading")]
        timed = quiet.undisturbed(repeat, partial(_repeat, arms, names, order, place))
        for name, number, epoch in timed:
            log.add(epoch, seed=seed, arm=name, repeat=repeat, number=number)
            watch.see(name, repeat, epoch)
        meter.step(**watch.seen, left_s=watch.left_s() if further else None)
    raise AssertionError("unreachable")


def _repeat(
    arms: Arms, names: Sequence[str], order: random.Random, place: Place
) -> list[tuple[str, int, Epoch]]:
    """The epochs of one repeat of the named arms in random order: arm, number in it, epoch."""
    timed = []
    for name in order.sample(names, len(names)):
        place.wait()
        timed += [(name, *numbered) for numbered in enumerate(arms.by_name[name].repeat())]
    return timed


class _Watch:
    """Judges on rank 0 whether the repeats so far tell the arms apart well enough."""

    def __init__(self, timing: Timing, place: Place) -> None:
        self._timing, self._place = timing, place
        self._start = time.perf_counter()
        self._step_s: dict[str, dict[int, float]] = {}
        # Steps so far, and samples per second and loss of BASE_ARM at last.
        self.seen: dict[str, Any] = {"steps": 0}

    def see(self, arm: str, repeat: int, epoch: Epoch) -> None:
        """Note the mean step of an arm in a repeat."""
        self._step_s.setdefault(arm, {})[repeat] = float(epoch.seconds["step_s"].mean())
        self.seen["steps"] += len(epoch.samples)
        if arm == BASE_ARM:
            whole = epoch.samples.sum() * self._place.workers
            self.seen["samples_per_s"] = float(whole / epoch.seconds["step_s"].sum())
            self.seen["loss"] = float(epoch.losses[-1])

    def left_s(self) -> float | None:
        """Seconds that further repeats may take at most."""
        budget = self._timing.budget_s
        return None if budget is None else max(0.0, budget - time.perf_counter() + self._start)

    def worth_another(self) -> bool:
        """Whether a further repeat is to be made; the same answer on all workers."""
        budget, goal = self._timing.budget_s, self._timing.interval_frac
        if budget is None or goal is None:
            return False
        spent_s = time.perf_counter() - self._start
        repeats = len(self._step_s.get(BASE_ARM, {}))
        next_s = spent_s / max(repeats, 1)
        wide = self._place.leads and spent_s + next_s < budget and self._widest_frac() > goal
        return self._place.agree(wide)

    def _widest_frac(self) -> float:
        """Widest 95% interval (Student's t) of a difference to BASE_ARM, as a share of its step."""
        # Not scipy.stats, nor above: every worker would wait for the import, a second and more.
        from scipy.special import stdtrit

        base = self._step_s.get(BASE_ARM, {})
        widths = [0.0]
        for arm in set(COMPARED_ARMS) & set(self._step_s):
            paired = base.keys() & self._step_s[arm].keys()
            gaps = [base[repeat] - self._step_s[arm][repeat] for repeat in paired]
            if len(gaps) > 1:
                error_s = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
                width_s = 2 * stdtrit(len(gaps) - 1, 0.975) * error_s
                widths.append(float(width_s / np.median(list(base.values()))))
        return max(widths)


def _warm_up(arms: Arms, ready: Ready, timing: Timing, place: Place) -> None:
    """Steps of each replica, whatever arms it has: of the plain one at least an epoch.

    A repeat with loading does it for the plain one, and starts the processes that load.
    """
    clock = make_clock(place.device)
    for name, replica in arms.replicas.items():
        place.wait()
        if name == BASE_ARM and "with_loading" in arms.by_name:
            list(arms.by_name["with_loading"].repeat())
            continue
        least = len(ready) if name == BASE_ARM else 1
        train_epoch(replica, ready.of(max(timing.warmup_steps, least)), clock)


def _loaded(
    spec: "Spec[TimedProtocol]", task: Task, place: Place
) -> Callable[[], Iterable[Batch]] | None:
    """Gives an epoch with loading at each call; None where no arm asks for it.

    A resident split would count as memory of training.
    """
    if "with_loading" not in spec.protocol.timing.arms:
        return None
    loader = build_spec_loader(spec, task, place, seed=spec.seeds[0])
    numbers = itertools.count()
    return lambda: loader.batches(next(numbers))


def ready_batches(spec: Spec, task: Task, place: Place, *, max_steps: int | None = None) -> Ready:
    """This worker's epochs without loading: a few batches in host memory, in turn.

    max_steps: of an epoch at most.
    """
    loader = build_spec_loader(
        spec, task, place, seed=spec.seeds[0], loader="resident", device=torch.device("cpu")
    )
    leaves = tree_leaves(next(loader.batches(0)))
    size = sum(leaf.nbytes for leaf in leaves if isinstance(leaf, Tensor))
    count = max(1, min(READY_BATCHES, READY_BYTES // size, len(loader)))
    batches = list(itertools.islice(loader.batches(0), count))
    if place.device.type == "cuda":
        batches = tree_map_only(Tensor, Tensor.pin_memory, batches)
    return Ready(batches, min(len(loader), max_steps or len(loader)))


def bucket_rows(replica: Replica, silent: Silent, ready: Ready) -> Rows:
    """DDP's rebuilt buckets in the order in which they fill: bytes, and when they are full.

    ready_frac is that time as a share of the backward pass, the median of some steps.
    """
    clock, fracs = make_clock(replica.place.device), []
    sizes: list[int] = []
    before_backward = PHASES[: PHASES.index("backward")]
    for _ in range(WATCHED_STEPS):
        sizes.clear()

        def full(size: int) -> None:
            """Note the time at which a bucket of that size is full."""
            clock.note()
            sizes.append(size)

        silent.on_bucket = full
        epoch = train_epoch(replica, ready.of(1), clock)
        silent.on_bucket = None
        start_s = sum(epoch.seconds[f"{phase}_s"][0] for phase in before_backward)
        fracs.append((clock.notes() - start_s) / epoch.seconds["backward_s"][0])
    ready_frac = np.clip(np.median(fracs, axis=0), 0, 1)
    return [
        {"index": index, "bytes": size, "ready_frac": float(frac)}
        for index, (size, frac) in enumerate(zip(sizes, ready_frac, strict=True))
    ]


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
            row = {
                "rank": place.rank,
                "iteration": iteration,
                "span_s": log["backward_comm_time"] / 1e9,
                "overlap_s": log["backward_compute_comm_overlap_time"] / 1e9,
            }
            rows.append(row)
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
            steps, batch = range(COUNTED_STEPS), ready.batches[0]
            counted = count_steps(observer, replica, batch, "steady", steps)
            wire += [row | {"timed_arm": arm} for row in counted]
            for row in observer.rows[seen:]:
                row["timed_arm"] = arm
                if row["operation"] == "broadcast":
                    row["purpose"] = replica.sync.broadcasts
    plain = [row for row in observer.rows if row["timed_arm"] == "without_loading"]
    observer.require_buckets(plain, spec.run)
    return {"collectives": observer.rows, "wire": wire}
