"""Why a worker ended, told from what it left behind, and which end came first."""

import re
import signal
from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Cause(StrEnum):
    """What ended an attempt, a root before what follows from it: peers of a dead worker end too."""

    DISK = "disk"  # no space left, or a quota
    MEMORY = "memory"  # an allocation failed on the host
    DEVICE = "device"  # a device of the node is broken, busy or not there
    SILENT = "silent"  # a worker stopped answering
    KILLED = "killed"  # by SIGKILL, as the kernel does when memory is short
    CRASHED = "crashed"  # by another signal
    ERROR = "error"  # the program's own
    TIME = "time"  # the time limit of the job
    CANCELLED = "cancelled"  # by a person, the scheduler or the end of snakemake
    NETWORK = "network"  # a connection broke, and nobody here knows why
    LOST = "lost"  # it began and nobody wrote an end: its node is gone, or it was killed whole


SIGNS = {
    Cause.DISK: r"No space left on device|Disk quota exceeded",
    Cause.MEMORY: r"MemoryError|[Cc]an(?:'|no)t allocate memory|std::bad_alloc",
    Cause.KILLED: r"ended by SIGKILL",  # a worker's child
    # Words of CUDA, NVML and torch for what another node or another moment would mend; an illegal
    # access or an assert of a kernel is an error of the program.
    Cause.DEVICE: r"uncorrectable (?:ECC|NVLink) error|or a hardware error|CUDA-capable device"
    r"|No CUDA GPUs are available|Found no NVIDIA driver|CUDA devices? of the \d+ asked for"
    r"|exclusive-thread device already in use|CUDA error: unknown error"
    r"|GPU is lost|GPU requires re(?:start|set)|fallen off the bus"
    r"|system not yet initialized|unsupported display driver"
    r"|(?:library|RM) version mismatch|Driver Not Loaded",
    Cause.ERROR: r"illegal memory access|device-side assert|misaligned address|illegal instruction",
    Cause.NETWORK: r"Connection (?:closed|reset|refused)|[Bb]roken pipe|Timed out waiting"
    r"|timeout caused|[Ss]ocket|Dist(?:Network|Store)Error|failed to connect|remote process exited"
    r"|NCCL",
}
_ORDER = list(Cause)
# What torch's watchdog of NCCL, or an exception that nobody caught, leaves in the log before the
# process aborts; the lines up to the stack tell more of it.
_ABORT = re.compile(
    r"(?:\b[Rr]ank ?(?P<rank>\d+)\][^\n]*?)?"
    r"(?P<message>(?:CUDA error: |NCCL error: |Watchdog caught collective operation timeout"
    r"|ProcessGroupNCCL's watchdog got stuck).{,500}?)"
    r"(?=\nException raised from|\nCompile with|\nSearch for|\n\n|\n\S*\[rank|\Z)",
    re.DOTALL,
)


class Failure(BaseModel):
    """The end of one worker, or of all that one node ran."""

    model_config = ConfigDict(frozen=True)

    cause: Cause
    node: str  # as Slurm names it; empty where it is unknown
    rank: int | None = None
    message: str = ""

    def described(self) -> str:
        """One line that names worker, node and cause."""
        node = self.node or "an unknown node"
        who = f"rank {self.rank} on {node}" if self.rank is not None else node
        return f"{who}: {self.message or self.cause.value}"


def cause_of(exitcode: int, message: str) -> Cause:
    """Return why a worker ended, from its exit code (negative: a signal) and its last error."""
    for cause, pattern in SIGNS.items():
        if re.search(pattern, message):
            return cause
    if exitcode == -signal.SIGKILL:
        return Cause.KILLED
    if exitcode == -signal.SIGTERM:
        return Cause.CANCELLED
    return Cause.CRASHED if exitcode < 0 else Cause.ERROR


def before_abort(log: str) -> list[tuple[int | None, str]]:
    """Return what CUDA and NCCL said in a log, each with its rank, None where the line has none."""
    return [
        (int(match["rank"]) if match["rank"] else None, " ".join(match["message"].split()))
        for match in _ABORT.finditer(log)
    ]


def root(failures: Sequence[Failure]) -> Failure | None:
    """Return the failure that the others follow from; None without failures."""
    return min(failures, key=lambda failure: _ORDER.index(failure.cause), default=None)
