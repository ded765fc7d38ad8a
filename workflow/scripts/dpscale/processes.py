"""Processes: not outliving the one that started them, their names, the node they run on.

What starts each run reads this module: so little is imported at the top.
"""

import ctypes
import fcntl
import gc
import math
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

# Of linux/prctl.h: PR_SET_PDEATHSIG, PR_SET_NAME.
_SET_PARENT_DEATH_SIGNAL, _SET_NAME = 1, 15
_GET_ADDRESS = 0x8915  # SIOCGIFADDR of linux/sockios.h
LOOPBACK = "127.0.0.1"
AGENT = "DPSCALE_AGENT"  # number of the process that started a node's workers, for them
NODES = "DPSCALE_NODES"  # names of a run's nodes, a line each, for its workers
# The state of proc(5) in which a process answers nobody, until SIGCONT.
STOPPED = "T"
LEAST_S = 0.1  # a shorter time is over before anybody could have answered


def seconds_of(variable: str, default: float) -> float:
    """Return the seconds that a variable of the environment gives; a wrong one ends the process."""
    text = os.environ.get(variable, str(default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not LEAST_S <= seconds < math.inf:
        sys.exit(f"{variable} = {text!r}: give seconds, {LEAST_S} at least")
    return seconds


# A process that does not answer for so long has stopped for good.
SILENCE_S = seconds_of("DPSCALE_SILENCE_S", 60)


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, dies, however it dies.

    Ends at once where the parent is dead already: the kernel tells of no death before the asking.
    """
    if hasattr(libc := ctypes.CDLL(None), "prctl"):  # Linux
        libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def collect_garbage_rarely() -> None:
    """Have Python look for garbage among its new objects after 100,000, not 700.

    For a process that builds what lives until its end (Snakemake's plan of thousands of runs, the
    boxes of all pages): to look through that again and again takes a fifth of the time.
    """
    gc.set_threshold(100_000)


def show_as(name: str) -> None:
    """Have `ps` and `top` show this process under a name, cut off after 15 bytes."""
    if hasattr(libc := ctypes.CDLL(None), "prctl"):  # Linux
        libc.prctl(_SET_NAME, name.encode())


def shown_as(process: int) -> str:
    """Return the name that `ps` shows of a process; empty where it is dead."""
    with suppress(OSError):
        return _read(f"/proc/{process}/comm").strip()
    return ""


def family(process: int) -> list[int]:
    """Return a process and all that descend from it; empty where it is dead."""
    import psutil

    with suppress(psutil.Error):
        first = psutil.Process(process)
        return [process, *(child.pid for child in first.children(recursive=True))]
    return []


def node_name() -> str:
    """Return what this node is called: by Slurm in a job of it, else by its host name."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def interface_address(name: str) -> str:
    """Return the IPv4 address of a network interface; raises OSError where it has none."""
    request = struct.pack("256s", name.encode()[:15])  # struct ifreq of netdevice(7)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), _GET_ADDRESS, request)[20:24])


def born(process: int | str) -> int | None:
    """Return when a process of this machine began, in clock ticks since boot; None if it is dead.

    Process numbers are used again; the number and this time together are not.
    """
    state, *fields = _stat(process)
    return None if state in "ZX" else int(fields[18])  # field 22 of proc(5)


def _stat(process: int | str) -> list[str]:
    """The fields of /proc/PID/stat from the state on; X, dead, where there is no such process."""
    try:
        text = _read(f"/proc/{process}/stat")
    except OSError:
        return ["X"]
    return text.rpartition(")")[2].split()


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


class StateClock:
    """Tells for how long processes have been in one state, as looks at them show.

    Time in which the one that looks was stopped itself, as all are by Ctrl-Z, does not count.
    """

    def __init__(self, state: str) -> None:
        self._state = state
        self._seconds: dict[int, float] = {}
        self._last = time.monotonic()

    def look(self, processes: Iterable[int]) -> dict[int, float]:
        """Return the seconds for which each process in the state has been seen so at every look."""
        now = time.monotonic()
        passed_s = min(now - self._last, SILENCE_S / 2)
        self._seconds = {
            process: self._seconds.get(process, -passed_s) + passed_s
            for process in processes
            if _stat(process)[0] == self._state
        }
        self._last = now
        return self._seconds


def identity(process: int) -> str:
    """Return what tells a running process from a later one of the same number: `lives` reads it."""
    return f"{process} {born(process)}"


def lives(known: str) -> bool:
    """Return whether the process that `identity` described still runs on this machine."""
    process, _, since = known.partition(" ")
    began = born(process)
    return began is not None and str(began) == since


def age_s() -> float | None:
    """Return seconds since this process began, or the agent of torchrun that started it.

    None where the kernel does not tell when a process began (other than Linux).
    """
    launched = "TORCHELASTIC_RUN_ID" in os.environ
    processes: tuple[int | str, ...] = ("self", os.getppid()) if launched else ("self",)
    ticks = [began for process in processes if (began := born(process)) is not None]
    if not ticks or not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME) - min(ticks) / os.sysconf("SC_CLK_TCK")
