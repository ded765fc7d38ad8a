"""Arms of a timed run: the same steps done in different ways, side by side in one process group.

solo, reference, noop_hook and no_broadcast take communication away piece by piece; buckets takes
away all but communication.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from dpscale.plan import Spec
from dpscale.plan.spec import TimedProtocol
from dpscale.plan.ways import WAYS
from dpscale.train.clock import COLUMNS, Clock, make_clock
from dpscale.train.communication.link import allreduce_all, make_buffers
from dpscale.train.communication.sync import HOOKS, AllReduce, Scatter, Silent, Solo, Sync, way_of
from dpscale.train.data import Batch, Task
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.worker import Place, Replica, build_replica, join_group_of_one, usual_sync


class Arm(Protocol):
    """One way to do the steps of a repeat."""

    def repeat(self) -> Iterator[Epoch]:
        """The epochs of one repeat, measured; none on a worker that stands aside."""


class Ready:
    """An epoch of batches that lie ready in host memory, a few of them in turn."""

    def __init__(self, batches: list[Batch], steps: int) -> None:
        self.batches, self._steps = batches, steps

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[Batch]:
        return itertools.islice(itertools.cycle(self.batches), self._steps)

    def again(self) -> "Ready":
        """The epoch itself: it can be had any number of times."""
        return self

    def of(self, steps: int) -> "Ready":
        """The same batches for another number of steps."""
        return Ready(self.batches, steps)


@dataclass
class Training:
    """Trains a replica; `alone`: on rank 0, while the other workers wait."""

    replica: Replica
    supply: Callable[[], Iterable[Batch]]
    epochs: int
    alone: bool = False

    def repeat(self) -> Iterator[Epoch]:
        """Epochs of training; none on a worker that waits for rank 0."""
        if self.alone and not self.replica.place.leads:
            return
        clock = make_clock(self.replica.place.device)
        for _ in range(self.epochs):
            yield train_epoch(self.replica, self.supply(), clock)


@dataclass
class Buckets:
    """All-reduces buffers of the sizes of DDP's buckets, as one step hands them out."""

    buffers: list[Tensor]
    steps: int
    samples: int  # of a worker in the step that such an all-reduce belongs to
    clock: Clock

    def repeat(self) -> Iterator[Epoch]:
        """One epoch of all-reduces: steps without phases and losses."""
        self.clock.start()
        for _ in range(self.steps):
            allreduce_all(self.buffers)
            self.clock.mark()
        unknown = np.full(self.steps, np.nan)
        seconds = dict.fromkeys(COLUMNS, unknown) | {"step_s": self.clock.intervals()}
        yield Epoch(seconds, unknown, np.full(self.steps, self.samples), None)


@dataclass
class Arms:
    """The arms of a run by name, and what the untimed passes look into."""

    by_name: dict[str, Arm]
    replicas: dict[str, Replica]
    silent: Silent | None

    def add_buckets(self, sizes: list[int], spec: "Spec[TimedProtocol]", place: Place) -> None:
        """The arm `buckets`, whose sizes are known once DDP has rebuilt them."""
        timing = spec.protocol.timing
        assert timing.direct_steps is not None
        assert spec.per_worker_batch is not None
        buffers, clock = make_buffers(sizes, place.device), make_clock(place.device)
        steps, samples = timing.direct_steps, spec.per_worker_batch
        self.by_name["buckets"] = Buckets(buffers, steps, samples, clock)


def build_arms(
    spec: "Spec[TimedProtocol]",
    task: Task,
    place: Place,
    *,
    ready: Ready,
    loaded: Callable[[], Iterable[Batch]] | None,
) -> Arms:
    """The spec's arms, `buckets` left out, which needs steps before it.

    ready: an epoch without loading. loaded: gives epochs with loading. Arms that wrap the model
    alike share one replica. Every worker builds the same arms in the same order.
    """
    timing = spec.protocol.timing
    arms = Arms({}, {}, None)
    for name in timing.arms:
        if name == "buckets":
            continue
        key, sync = _sync(name, spec)
        if key not in arms.replicas:
            if isinstance(sync, Silent):
                arms.silent = sync
            arms.replicas[key] = build_replica(
                spec, task, place, seed=spec.seeds[0], steps_per_epoch=len(ready), sync=sync
            )
        replica = arms.replicas[key]
        if name in ("with_loading", "without_loading", "ddp_of_one"):
            supply = loaded if name == "with_loading" else ready.again
            assert supply is not None
            epochs = -(-timing.min_steps // len(ready))
            arms.by_name[name] = Training(replica, supply, epochs)
        else:
            few = ready.of(timing.direct_steps or len(ready))
            arms.by_name[name] = Training(replica, few.again, epochs=1, alone=name == "solo")
    return arms


def _sync(arm: str, spec: "Spec[TimedProtocol]") -> tuple[str, Sync]:
    """How the workers of an arm agree, and the name of the replica that does it."""
    asked = spec.protocol
    if arm in ("solo", "reference"):
        return "reference", Solo()
    if arm == "noop_hook":
        return arm, Silent()
    if arm == "no_broadcast":
        return arm, AllReduce(broadcast_buffers=False)
    if arm == "ddp_of_one":
        join_group_of_one(spec)
        return arm, AllReduce()
    if arm in WAYS:
        assert asked.micro_batches is not None
        return arm, way_of(arm, asked.micro_batches)
    if arm in HOOKS:
        return arm, AllReduce(broadcast_buffers=asked.broadcast_buffers, hook=HOOKS[arm])
    if asked.scatter_devices:
        return "without_loading", Scatter(asked.scatter_devices)
    return "without_loading", usual_sync(spec, broadcast_buffers=asked.broadcast_buffers)
