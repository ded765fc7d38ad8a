"""The link between workers, alone: all-reduces without training, and raw TCP beside them."""

import os
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from dpscale.plan import Spec
from dpscale.plan.spec import LinkProtocol
from dpscale.processes import interface_address
from dpscale.train.clock import make_clock
from dpscale.train.communication.counted import sent_between, sent_bytes
from dpscale.train.data import Task
from dpscale.train.machine.quiet import Quiet
from dpscale.train.measurement import Measurement
from dpscale.train.network import network_on_paper, payload_bytes
from dpscale.train.progress import Meter
from dpscale.train.worker import Place

# DDP's caps: of the bucket that fills first, and of all others (bucket_cap_mb = 25).
FIRST_BUCKET_BYTES = 2**20
BUCKET_BYTES = 25 * 2**20
ITEM_BYTES = 4  # float32
# Messages from the model's own largest bucket to DDP's cap, an eighth of the cap at the most, tell
# the bandwidth; one whose bytes take next to no time tells the latency.
MESSAGE_SIZES = 4
WIDEST_START = 0.125
LATENCY_BYTES = 4096
WARMUP_REPEATS = 3
FEWEST_REPEATS = 5
# A repeat lasts at least so long: a single small all-reduce is lost in the noise of the scheduler.
REPEAT_S = 0.05
MOST_IN_A_ROW = 100
COUNTED = 3  # all-reduces over which interface bytes are counted
TCP_TIMEOUT_S = 60.0
BLOCK_BYTES = 2**20
Rows = list[dict[str, Any]]
Operations = dict[tuple[str, int], Callable[[], float]]  # seconds, by name and bytes
# A transfer long enough that its start does not count, and short enough to repeat. It is no shorter
# than the largest message either: what a switch lets through in a burst would flatter a small one.
TRANSFER_S = 0.2
FEWEST_BYTES = 2**18
MOST_BYTES = 64 * 2**20


def ddp_bucket_bytes(payload: int) -> list[int]:
    """Sizes of the buckets that DDP makes of a payload of whole float32 items; they sum to it.

    Raises ValueError for a payload that is not positive or no multiple of 4 bytes.
    """
    if payload <= 0 or payload % ITEM_BYTES:
        raise ValueError(f"a payload of {payload} bytes: give a positive multiple of 4")
    first = min(payload, FIRST_BUCKET_BYTES)
    starts = range(first, payload, BUCKET_BYTES)
    return [first, *(min(BUCKET_BYTES, payload - start) for start in starts)]


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
    payload: int,
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
    reduce = AllReduce(make_buffers(ddp_bucket_bytes(payload), place.device), place)
    least = max(repeats, FEWEST_REPEATS)
    meter = Meter("all-reduce", "repeat", least, shown=place.leads)
    times: list[float] = []
    start = time.perf_counter()
    while True:
        spent_s, done = time.perf_counter() - start, len(times)
        late, wanted = spent_s > budget_s and done >= FEWEST_REPEATS, done < least
        if place.agree(place.leads and (late or (not wanted and enough(times)))):
            break
        times.append(reduce.seconds())
        left_s = None if wanted else max(0.0, budget_s - spent_s)
        meter.step(note=f"{times[-1]:.4f} s", left_s=left_s)
    reduce.in_a_row = COUNTED
    before = sent_bytes(place)
    reduce.seconds()
    sent = sent_between(before, sent_bytes(place))
    return times, sum(sent.values()) / COUNTED


def tcp_rate(payload: int, place: Place) -> float | None:
    """Bytes per second of raw TCP from each worker to the next, median of a few transfers.

    None where the backend does not use TCP, and for one worker.
    """
    if place.workers == 1 or dist.get_backend() != "gloo":
        return None
    with TcpRing(place, largest_message=max(ddp_bucket_bytes(payload))) as ring:
        return ring.bytes / statistics.median(ring.seconds() for _ in range(FEWEST_REPEATS))


def measure_link(spec: "Spec[LinkProtocol]", task: Task, place: Place) -> Measurement:
    """Times all-reduces of several sizes and, with gloo, raw TCP, interleaved in random order.

    The rows of `messages`: operation, bytes, repeat, seconds (of the slowest worker).
    """
    messages = spec.protocol
    sizes = list(messages.bytes) or message_bytes(payload_bytes(network_on_paper(spec, task)))
    operations: Operations = {}
    for size in sizes:
        buffers = make_buffers([size], place.device)
        operations["allreduce", size] = AllReduce(buffers, place).seconds
    with ExitStack() as opened:
        if spec.hardware.backend == "gloo" and place.workers > 1:
            ring = opened.enter_context(TcpRing(place, largest_message=max(sizes)))
            operations["tcp", ring.bytes] = ring.seconds
        rows, repeats = _repeats(spec, messages, operations, place)
    return Measurement(fields={"messages": rows, "repeats": repeats} if place.leads else {})


def message_bytes(payload: int) -> list[int]:
    """Sizes of messages for a model, ascending in equal ratios up to the cap of a bucket.

    Before them LATENCY_BYTES, where the model's own are larger.
    """
    smallest = min(payload, int(BUCKET_BYTES * WIDEST_START))
    sizes = np.geomspace(smallest, BUCKET_BYTES, MESSAGE_SIZES)
    own = [max(1, round(size / ITEM_BYTES)) * ITEM_BYTES for size in sizes]
    return [LATENCY_BYTES, *own] if own[0] > LATENCY_BYTES else own


def _repeats(
    spec: Spec, messages: LinkProtocol, operations: Operations, place: Place
) -> tuple[Rows, Rows]:
    """Rows of the tables `messages` and `repeats`."""
    rows = Rows()
    order, start = random.Random(spec.seeds[0]), time.perf_counter()
    quiet = Quiet(place, again=messages.repeats, budget_s=messages.budget_s)
    meter = Meter(spec.run, "repeat", messages.repeats, shown=place.leads)
    for repeat in range(messages.repeats):
        late = time.perf_counter() - start > messages.budget_s
        if place.agree(place.leads and late and repeat >= FEWEST_REPEATS):
            break
        timed = quiet.undisturbed(repeat, partial(_repeat, operations, order))
        rows += [row | {"repeat": repeat} for row in timed]
        meter.step(note=f"{max(row['bytes'] / row['seconds'] for row in timed) / 1e6:.1f} MB/s")
    return rows, quiet.rows


def _repeat(operations: Operations, order: random.Random) -> Rows:
    """Each operation once, in random order."""
    return [
        {"operation": name, "bytes": size, "seconds": operations[name, size]()}
        for name, size in order.sample(list(operations), len(operations))
    ]


class TcpRing:
    """A ring of raw TCP connections between the workers: what the link gives without a library.

    Every worker sends to the next one at the same time, as in a ring all-reduce, over the same
    interface as the backend: the ceiling of the all-reduce's bus bandwidth. The ring is open for
    the length of a block; `bytes` is the size of one transfer. Raises ConnectionError that names
    rank and address where a neighbour cannot be reached: on every worker while the ring is being
    opened, so that nobody waits for a worker that gave up.
    """

    def __init__(self, place: Place, *, largest_message: int) -> None:
        self._place = place
        self._before = (place.rank - 1) % place.workers
        self._after = (place.rank + 1) % place.workers
        self._sockets: list[socket.socket] = []
        self._unsent: OSError | None = None
        self._sent_block = memoryview(bytes(BLOCK_BYTES))
        self._received_block = memoryview(bytearray(BLOCK_BYTES))
        self.bytes = max(FEWEST_BYTES, min(largest_message, MOST_BYTES))

    def __enter__(self) -> "TcpRing":
        try:
            self._listen()
            self._connect()
            self._fit_to_the_link()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for opened in self._sockets:
            opened.close()

    def seconds(self) -> float:
        """Seconds until every worker has received `bytes`, on every worker."""
        self._place.wait()
        start = time.perf_counter()
        sender = threading.Thread(target=self._send, daemon=True)
        sender.start()
        self._receive()
        own_s = time.perf_counter() - start
        sender.join()  # no longer than the timeout of its socket
        if self._unsent:
            raise self._error(f"sending to rank {self._after}", self._to, self._unsent)
        return max(self._place.share(own_s))

    def _listen(self) -> None:
        """Opens a socket on the interface of the backend."""
        failure = None
        try:
            self._listener = socket.create_server((_address(), 0))
            self._listener.settimeout(TCP_TIMEOUT_S)
            self._sockets.append(self._listener)
        except OSError as error:
            interface = os.environ.get("GLOO_SOCKET_IFNAME", "the address of the host's name")
            failure = f"rank {self._place.rank}: listening on {interface}: {error}"
        self._agree(failure)

    def _connect(self) -> None:
        """Opens a connection to the next worker and takes one from the previous."""
        addresses = self._place.share(self._listener.getsockname())
        self._to, self._from = addresses[self._after], addresses[self._before]
        failure, step, address = None, f"connecting to rank {self._after}", self._to
        try:
            self._next = socket.create_connection(self._to, timeout=TCP_TIMEOUT_S)
            self._sockets.append(self._next)
            step, address = f"waiting for rank {self._before}", self._from
            self._previous, _ = self._listener.accept()
            self._sockets.append(self._previous)
            self._previous.settimeout(TCP_TIMEOUT_S)
        except OSError as error:
            failed = self._error(step, address, error)
            failure = f"{failed}; name the interface in GLOO_SOCKET_IFNAME"
        self._agree(failure)

    def _agree(self, failure: str | None) -> None:
        """Raises on every worker what failed on any."""
        failures = [one for one in self._place.share(failure) if one]
        if failures:
            raise ConnectionError("; ".join(failures))

    def _fit_to_the_link(self) -> None:
        """A transfer of TRANSFER_S or of the largest message; as large on all as on rank 0."""
        self.seconds()  # the first one fills the congestion window
        fitting = int(self.bytes * TRANSFER_S / self.seconds())
        self.bytes = self._place.share(min(max(fitting, self.bytes), MOST_BYTES))[0]

    def _send(self) -> None:
        left = self.bytes
        try:
            while left:
                size = min(BLOCK_BYTES, left)
                self._next.sendall(self._sent_block[:size])
                left -= size
        except OSError as error:
            self._unsent = error

    def _receive(self) -> None:
        left, of = self.bytes, f"receiving from rank {self._before}"
        while left:
            try:
                received = self._previous.recv_into(self._received_block[: min(BLOCK_BYTES, left)])
            except OSError as error:
                raise self._error(of, self._from, error) from None
            if not received:
                raise self._error(of, self._from, "it closed the connection")
            left -= received

    def _error(self, what: str, address: tuple[str, int], why: object) -> ConnectionError:
        return ConnectionError(f"rank {self._place.rank}: {what} at {address[0]}: {why}")


def _address() -> str:
    """IPv4 address that gloo uses too: that of GLOO_SOCKET_IFNAME, else of the host's name."""
    if name := os.environ.get("GLOO_SOCKET_IFNAME"):
        return interface_address(name.split(",")[0])
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
