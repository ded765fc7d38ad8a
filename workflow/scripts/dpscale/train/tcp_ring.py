"""A ring of raw TCP connections between the workers: what the link gives without a library.

Every worker sends to the next one at the same time, as in a ring all-reduce, over the same
interface as the backend. The ceiling to compare the all-reduce's bus bandwidth with.
"""

import fcntl
import os
import socket
import struct
import threading
import time
from types import TracebackType

from dpscale.train.worker import Place

TIMEOUT_S = 60.0
BLOCK_BYTES = 2**20
# A transfer long enough that its start does not count, and short enough to repeat. It is no shorter
# than the largest message either: what a switch lets through in a burst would flatter a small one.
GOAL_S = 0.2
FEWEST_BYTES = 2**18
MOST_BYTES = 64 * 2**20
_SIOCGIFADDR = 0x8915  # ioctl: IPv4 address of an interface (netdevice(7))


class TcpRing:
    """The ring, open for the length of a block; `bytes` is the size of one transfer.

    Raises ConnectionError that names rank and address where a neighbour cannot be reached: on every
    worker while the ring is being opened, so that nobody waits for a worker that gave up.
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
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            self._listener.settimeout(TIMEOUT_S)
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
            self._next = socket.create_connection(self._to, timeout=TIMEOUT_S)
            self._sockets.append(self._next)
            step, address = f"waiting for rank {self._before}", self._from
            self._previous, _ = self._listener.accept()
            self._sockets.append(self._previous)
            self._previous.settimeout(TIMEOUT_S)
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
        """A transfer of GOAL_S or of the largest message; as large on all workers as on rank 0."""
        self.seconds()  # the first one fills the congestion window
        fitting = int(self.bytes * GOAL_S / self.seconds())
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
    name = os.environ.get("GLOO_SOCKET_IFNAME")
    if name:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            request = struct.pack("256s", name.split(",")[0].encode()[:15])
            return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)[20:24])
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
