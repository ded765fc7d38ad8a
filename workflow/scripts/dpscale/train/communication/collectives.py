"""The collectives that a worker hands to its process group, call by call.

Hooks of the process group are called as each collective is issued, gradient buckets from DDP's own
threads included.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

OUTSIDE = "outside"  # phase of what the observer itself and the bookkeeping send
_HOOK_ID = 1
# Bucket layout, and which parameters a step used, are agreed on in int32; counters of batch norm
# are int64, statistics float.
_LAYOUT_DTYPE = "int32"


def purpose(operation: str, dtype: str, phase: str) -> str:
    """What DDP sends a collective for, from its kind, its type and when it is sent."""
    if operation == "allreduce":
        return "used parameters" if dtype == _LAYOUT_DTYPE else "gradient bucket"
    if operation == "reduce_scatter":
        return "gradients, a part for each"
    if operation == "allgather" and phase != "construction":
        return "parameters, a part of each"
    if phase == "construction":
        if operation == "broadcast" and dtype.startswith(("float", "bfloat")):
            return "parameters and buffers at construction"
        return "shape check" if operation == "allgather" else "shapes and counters at construction"
    return "bucket rebuild" if dtype == _LAYOUT_DTYPE and phase != "steady" else "buffers"


def unobservable() -> str | None:
    """Why this torch lets nobody see its collectives, or None."""
    if hasattr(dist.ProcessGroup, "register_pre_hook"):
        return None
    return f"torch {torch.__version__} has no hooks of collectives; 2.14 has"


class Observer:
    """Rows of collectives by phase and iteration, seen on the default process group.

    Sees nothing where torch is `unobservable`.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._phase = OUTSIDE
        self._iteration: int | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Observe for the length of the block."""
        if unobservable():
            yield
            return
        group: Any = dist.group.WORLD
        group.register_pre_hook(_HOOK_ID, self._enter)
        try:
            yield
        finally:
            group.unregister_pre_hook(_HOOK_ID)

    def start(self, phase: str, iteration: int | None = None) -> None:
        """What follows belongs to this phase and iteration; OUTSIDE is not recorded."""
        self._phase, self._iteration = phase, iteration

    def require_buckets(self, rows: list[dict[str, Any]], run: str) -> None:
        """Raise RuntimeError where torch can be observed and these rows hold no gradient bucket."""
        seen = any(row["purpose"] == "gradient bucket" for row in rows)
        if not seen and not unobservable():
            raise RuntimeError(f"{run}: several workers trained and no all-reduce was seen")

    def _enter(self, call: Any) -> None:
        if self._phase == OUTSIDE:
            return
        sizes: Counter[torch.dtype] = Counter()
        for tensor in call.input_tensors:
            sizes[tensor.dtype] += tensor.nelement() * tensor.element_size()
        operation = call.name.name.lower()
        for dtype, size in sizes.items():
            name = str(dtype).removeprefix("torch.")
            row = {
                "phase": self._phase,
                "iteration": self._iteration,
                "index": len(self.rows),
                "operation": operation,
                "purpose": purpose(operation, name, self._phase),
                "dtype": name,
                "calls": 1,
                "bytes": size,
            }
            self.rows.append(row)
