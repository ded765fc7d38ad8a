"""The link between workers, alone: all-reduces without training, and raw TCP beside them."""

import random
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from dpscale.plan import Spec
from dpscale.train.clock import make_clock
from dpscale.train.data import Dataset
from dpscale.train.interfaces import sent_between, sent_bytes
from dpscale.train.measurement import Measurement
from dpscale.train.network import network_on_paper
from dpscale.train.progress import Meter
from dpscale.train.tcp_ring import TcpRing
from dpscale.train.worker import Place

# DDP's caps: of the bucket that fills first, and of all others (bucket_cap_mb = 25).
FIRST_BUCKET_BYTES = 2**20
BUCKET_BYTES = 25 * 2**20
ITEM_BYTES = 4  # float32
# Messages from the model's own largest bucket to DDP's cap, an eighth of the cap at the most: small
# ones tell the latency, large ones the bandwidth.
MESSAGE_SIZES = 4
WIDEST_START = 0.125
WARMUP_REPEATS = 3
FEWEST_REPEATS = 5
# A repeat lasts at least so long: a single small all-reduce is lost in the noise of the scheduler.
REPEAT_S = 0.05
MOST_IN_A_ROW = 100
COUNTED = 3  # all-reduces over which interface bytes are counted
Rows = list[dict[str, Any]]


def ddp_bucket_bytes(payload_bytes: int) -> list[int]:
    """Sizes of the buckets that DDP makes of a payload of whole float32 items; they sum to it.

    Raises ValueError for a payload that is not positive or no multiple of 4 bytes.
    """
    if payload_bytes <= 0 or payload_bytes % ITEM_BYTES:
        raise ValueError(f"a payload of {payload_bytes} bytes: give a positive multiple of 4")
    sizes, left = [min(payload_bytes, FIRST_BUCKET_BYTES)], payload_bytes
    left -= sizes[0]
    while left:
        sizes.append(min(left, BUCKET_BYTES))
        left -= sizes[-1]
    return sizes


def make_buffers(sizes: list[int], device: torch.device) -> list[Tensor]:
    """Float32 buffers of these sizes in bytes; zeros, whose sum stays finite."""
    return [torch.zeros(size // ITEM_BYTES, device=device) for size in sizes]


def allreduce_all(buffers: list[Tensor]) -> None:
    """All-reduces the buffers as DDP does: all are handed over in order, then waited for."""
    for work in [dist.all_reduce(buffer, async_op=True) for buffer in buffers]:
        work.wait()


class AllReduce:
    """All-reduces of some buffers, so many in a row that their time is more than noise."""

    def __init__(self, buffers: list[Tensor], place: Place) -> None:
        self._buffers, self._place = buffers, place
        self.in_a_row = 1
        for _ in range(WARMUP_REPEATS):
            fitting = REPEAT_S / self.seconds()
        self.in_a_row = min(max(1, place.share(round(fitting))[0]), MOST_IN_A_ROW)

    def seconds(self) -> float:
        """Seconds of one all-reduce, those of the slowest worker; on every worker."""
        clock = make_clock(self._place.device)
        self._place.wait()
        clock.start()
        for _ in range(self.in_a_row):
            allreduce_all(self._buffers)
        clock.mark()
        return max(self._place.share(float(clock.intervals()[0]) / self.in_a_row))


def payload_times(
    payload_bytes: int,
    place: Place,
    *,
    repeats: int,
    budget_s: float,
    enough: Callable[[list[float]], bool],
) -> tuple[list[float], float]:
    """Seconds of each all-reduce of a payload in DDP-sized buckets, and its interface bytes.

    The bytes of one all-reduce are summed over the workers' network namespaces; rank 0 knows them,
    0 elsewhere. At least `repeats` times (FEWEST_REPEATS at the least), then until `enough` of the
    times on rank 0 or until the budget is over. One worker has nothing to reduce: 0 s.
    """
    if place.workers == 1:
        before = sent_bytes(place)
        return [0.0], float(sum(sent_between(before, sent_bytes(place)).values()))
    reduce = AllReduce(make_buffers(ddp_bucket_bytes(payload_bytes), place.device), place)
    meter = Meter("all-reduce", "repeat", max(repeats, FEWEST_REPEATS), shown=place.leads)
    times: list[float] = []
    start = time.perf_counter()
    while True:
        spent_s, done = time.perf_counter() - start, len(times)
        late = spent_s > budget_s and done >= FEWEST_REPEATS
        wanted = done < max(repeats, FEWEST_REPEATS)
        if place.agree(place.leads and (late or (not wanted and enough(times)))):
            break
        times.append(reduce.seconds())
        meter.step(
            note=f"{times[-1]:.4f} s", left_s=None if wanted else max(0.0, budget_s - spent_s)
        )
    reduce.in_a_row = COUNTED
    before = sent_bytes(place)
    reduce.seconds()
    sent = sent_between(before, sent_bytes(place))
    return times, sum(sent.values()) / COUNTED


def tcp_rate(payload_bytes: int, place: Place) -> float | None:
    """Bytes per second of raw TCP from each worker to the next, median of a few transfers.

    None where the backend does not use TCP, and for one worker.
    """
    if place.workers == 1 or dist.get_backend() != "gloo":
        return None
    with TcpRing(place, largest_message=max(ddp_bucket_bytes(payload_bytes))) as ring:
        return ring.bytes / statistics.median(ring.seconds() for _ in range(FEWEST_REPEATS))


def measure_link(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """Times all-reduces of several sizes and, with gloo, raw TCP, interleaved in random order.

    The rows of `messages`: operation, bytes, repeat, seconds (of the slowest worker).
    """
    assert spec.messages is not None
    sizes = list(spec.messages.bytes) or message_bytes(_payload_bytes(spec, dataset))
    operations: dict[tuple[str, int], Callable[[], float]] = {}
    for size in sizes:
        buffers = make_buffers([size], place.device)
        operations["allreduce", size] = AllReduce(buffers, place).seconds
    with ExitStack() as opened:
        if spec.hardware.backend == "gloo" and place.workers > 1:
            ring = opened.enter_context(TcpRing(place, largest_message=max(sizes)))
            operations["tcp", ring.bytes] = ring.seconds
        rows = _repeat(spec, operations, place)
    return Measurement(fields={"messages": rows if place.leads else []})


def message_bytes(payload_bytes: int) -> list[int]:
    """Sizes of messages for a model, ascending in equal ratios up to the cap of a bucket."""
    smallest = min(payload_bytes, int(BUCKET_BYTES * WIDEST_START))
    sizes = np.geomspace(smallest, BUCKET_BYTES, MESSAGE_SIZES)
    return [max(1, round(size / ITEM_BYTES)) * ITEM_BYTES for size in sizes]


def _repeat(
    spec: Spec, operations: dict[tuple[str, int], Callable[[], float]], place: Place
) -> Rows:
    assert spec.messages is not None
    rows: Rows = []
    order, start = random.Random(spec.seeds[0]), time.perf_counter()
    meter = Meter(spec.run, "repeat", spec.messages.repeats, shown=place.leads)
    for repeat in range(spec.messages.repeats):
        late = time.perf_counter() - start > spec.messages.budget_s
        if place.agree(place.leads and late and repeat >= FEWEST_REPEATS):
            break
        for name, size in order.sample(list(operations), len(operations)):
            seconds = operations[name, size]()
            rows.append({"operation": name, "bytes": size, "repeat": repeat, "seconds": seconds})
        last = [row["bytes"] / row["seconds"] for row in rows[-len(operations) :]]
        meter.step(note=f"{np.max(last) / 1e6:.1f} MB/s")
    return rows


def _payload_bytes(spec: Spec, dataset: Dataset) -> int:
    model = network_on_paper(spec, dataset)
    return sum(p.nelement() * p.element_size() for p in model.parameters() if p.requires_grad)
