"""Memory of one worker: a budget that really limits it, its peak, and running out of it.

Under a budget a failed allocation mostly raises, but some libraries under torch do not check for it
and crash: the work is done in a child, whose parent has no budget and is there to say so.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from dpscale.processes import end_with_parent

HOST_SIGNS = ("can't allocate memory", "not enough memory", "Cannot allocate memory", "bad_alloc")
DEVICE_SIGNS = (
    "out of memory",  # CUDA's and NCCL's own, outside torch's allocator
    "STATUS_ALLOC_FAILED",  # cuBLAS, cuDNN 8
    "DEVICE_ALLOCATION_FAILED",  # cuDNN 9
)
PRIMITIVE_SIGNS = ("could not create a", "could not execute a primitive")
_STATUS = Path("/proc/self/status")
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h: larger blocks are mappings of their own


@contextmanager
def memory_budget(budget_bytes: int | None) -> Iterator[None]:
    """Within the block this process may add `budget_bytes` of data to what it has now.

    An allocation beyond it fails as it does on a full device (Linux, RLIMIT_DATA). None: no limit.
    """
    if budget_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_status_bytes("VmData") + budget_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def run_in_child(work: Callable[[], None]) -> str | None:
    """Do the work in a forked child and wait for it.

    Returns the name of the signal that ended the child, None where it ended by itself. Raises
    RuntimeError with the child's own error where the work raised one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        end_with_parent(parent)
        _work_and_exit(work, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        error = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    if os.WEXITSTATUS(status):
        raise RuntimeError(error or f"ended with status {os.WEXITSTATUS(status)}")
    return None


def _work_and_exit(work: Callable[[], None], writer: int) -> None:
    status = 1
    try:
        work()
        status = 0
    except Exception as error:
        traceback.print_exc()
        os.write(writer, f"{type(error).__name__}: {error}".encode())
    finally:
        sys.stderr.flush()
        os._exit(status)


class PeakMemory:
    """Peak memory of the work above what there was at construction, in bytes.

    CUDA: what the allocator gave to tensors. CPU: the process's resident set, None where the system
    does not count its peak.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._counted = self.again()
        self._base = self._now() if self._counted else 0

    def again(self) -> bool:
        """Starts the peak anew, above the same base; whether the system can."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            return True
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return False
        return True

    def _now(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.memory_allocated(self.device)
        return _status_bytes("VmRSS")

    def bytes(self) -> int | None:
        """Peak since construction, or since it was started anew."""
        if not self._counted:
            return None
        on_cpu = self.device.type == "cpu"
        peak = _status_bytes("VmHWM") if on_cpu else torch.cuda.max_memory_allocated(self.device)
        return max(0, peak - self._base)


def give_back_what_is_freed() -> None:
    """Gives memory back to the system, now and whenever a tensor is freed, which takes time.

    Else the resident set holds what the C library keeps ready for later tensors.
    """
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    with suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, 64 * 2**10)
        library.malloc_trim(0)


def failed_allocations(device: torch.device | None = None) -> int:
    """How many allocations of this process failed so far on a GPU, by default the current one."""
    return int(torch.cuda.memory_stats(device).get("num_ooms", 0))


def is_out_of_memory(
    error: BaseException, *, on_cpu: bool = True, limited: bool = False, num_ooms: int = 0
) -> bool:
    """Whether an exception says that an allocation failed where the work is done.

    on_cpu: that is the host, whose memory concerns no work on a GPU. limited: a memory budget was
    in force. oneDNN then reports a failed allocation as a primitive that it could not create or
    run, words that without a budget may mean something else. num_ooms: allocations on the GPU that
    failed during the work. An error of torch then speaks of them, whatever its words: cuDNN's
    search keeps them to itself, and says that it was "unable to find an engine". The allocation may
    stand behind the exception: a CUDA graph whose capture it ends fails in turn.
    """
    if num_ooms and type(error) is RuntimeError:  # those of CUDA and of communication are subtypes
        return True
    earlier = error.__cause__ or error.__context__
    return _is_failed_allocation(error, on_cpu, limited) or (
        earlier is not None and is_out_of_memory(earlier, on_cpu=on_cpu, limited=limited)
    )


def _is_failed_allocation(error: BaseException, on_cpu: bool, limited: bool) -> bool:
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return True
    if isinstance(error, MemoryError):
        return on_cpu
    signs = DEVICE_SIGNS + (HOST_SIGNS if on_cpu else ()) + (PRIMITIVE_SIGNS if limited else ())
    text = str(error)
    return isinstance(error, (RuntimeError, OSError)) and any(sign in text for sign in signs)


def _status_bytes(field: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {field}")
