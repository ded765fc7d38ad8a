"""Observers of collectives: what a worker hands to its process group, call by call.

Two ways to see it. Hooks of the process group are called as each collective is issued, gradient
buckets from DDP's own threads included. Where torch or a backend has no such hooks, the profiler's
trace names the same calls with their sizes and types.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

OUTSIDE = "outside"  # phase of what the observer itself and the bookkeeping send
_HOOK_ID = 1
_SETTLE_S = 0.1
# Bucket layout is agreed on in int32; counters of batch norm are int64, statistics float.
_LAYOUT_DTYPE = "int32"
# The profiler's names of types: C++ names with gloo, c10 names with NCCL.
_DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "long int": torch.int64,
    "long": torch.int64,
    "int": torch.int32,
    "bfloat16": torch.bfloat16,
    "c10::bfloat16": torch.bfloat16,
    "half": torch.float16,
    "c10::half": torch.float16,
    "byte": torch.uint8,
    "unsigned char": torch.uint8,
}


def purpose(operation: str, dtype: str, phase: str) -> str:
    """What DDP sends a collective for, from its kind, its type and when it is sent."""
    if operation == "allreduce":
        return "gradient bucket"
    if phase == "construction":
        if operation == "broadcast" and dtype.startswith(("float", "bfloat")):
            return "parameters and buffers at construction"
        return "shape check" if operation == "allgather" else "shapes and counters at construction"
    return "bucket rebuild" if dtype == _LAYOUT_DTYPE else "buffers"


class Observer:
    """Rows of collectives by phase and iteration; a subclass says how they are seen."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._phase = OUTSIDE
        self._iteration: int | None = None

    @staticmethod
    def available() -> bool:
        """Whether this torch has what the observer needs."""
        raise NotImplementedError

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observe the default process group for the length of the block."""
        yield

    def start(self, phase: str, iteration: int | None = None) -> None:
        """What follows belongs to this phase and iteration; OUTSIDE is not recorded."""
        self._phase, self._iteration = phase, iteration

    def _record(self, operation: str, dtype: torch.dtype, size: int) -> None:
        if self._phase == OUTSIDE:
            return
        name = str(dtype).removeprefix("torch.")
        self.rows.append(
            {
                "phase": self._phase,
                "iteration": self._iteration,
                "index": len(self.rows),
                "operation": operation,
                "purpose": purpose(operation, name, self._phase),
                "dtype": name,
                "calls": 1,
                "bytes": size,
            }
        )


class HookObserver(Observer):
    """Sees collectives through hooks of the process group (torch 2.14 and newer)."""

    @staticmethod
    def available() -> bool:
        """Whether process groups of this torch have hooks."""
        return hasattr(dist.ProcessGroup, "register_pre_hook")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keep a hook in the process group meanwhile."""
        group: Any = dist.group.WORLD
        group.register_pre_hook(_HOOK_ID, self._enter)
        try:
            yield
        finally:
            group.unregister_pre_hook(_HOOK_ID)

    def _enter(self, call: Any) -> None:
        sizes: Counter[torch.dtype] = Counter()
        for tensor in call.input_tensors:
            sizes[tensor.dtype] += tensor.nelement() * tensor.element_size()
        for dtype, size in sizes.items():
            self._record(call.name.name.lower(), dtype, size)


class ProfilerObserver(Observer):
    """Sees collectives in the profiler's trace of each phase and iteration."""

    def __init__(self) -> None:
        super().__init__()
        self._profile: profile | None = None

    @staticmethod
    def available() -> bool:
        """Always: every torch has the profiler."""
        return True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Read the last trace at the end."""
        try:
            yield
        finally:
            self.start(OUTSIDE)

    def start(self, phase: str, iteration: int | None = None) -> None:
        """Read the trace of the phase before, and begin one."""
        self._collect()
        super().start(phase, iteration)
        if phase != OUTSIDE:
            self._profile = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
            self._profile.start()

    def _collect(self) -> None:
        if self._profile is None:
            return
        # The backend's threads close their events after the caller went on; nothing is timed here.
        time.sleep(_SETTLE_S)
        self._profile.stop()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(path))
            events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        self._profile = None
        for event in sorted(events, key=lambda event: event.get("ts", 0)):
            if call := _call(event):
                self._record(*call)


def observers() -> Iterator[Observer]:
    """The observers that this torch has, the one that sees most first."""
    for kind in (HookObserver, ProfilerObserver):
        if kind.available():
            yield kind()


def _call(event: dict[str, Any]) -> tuple[str, torch.dtype, int] | None:
    """Operation, type and bytes of a trace event that is a collective of gloo or NCCL."""
    name, facts = event.get("name", ""), event.get("args", {})
    if name.startswith("gloo:") and "Input type" in facts:  # a barrier has no input
        operation, kind = name.removeprefix("gloo:"), facts["Input type"][0]
        elements = sum(_product(shape) for shape in facts["Input Dims"])
    elif name == "record_param_comms" and "In msg nelems" in facts:
        operation, kind = facts["Collective name"], facts["dtype"]
        elements = int(facts["In msg nelems"])
    else:
        return None
    dtype = _DTYPES.get(kind.lower())
    if dtype is None or not elements:
        return None
    return operation.replace("_", "").lower(), dtype, elements * dtype.itemsize


def _product(shape: list[int]) -> int:
    elements = 1
    for length in shape:
        elements *= length
    return elements
