"""What a steady iteration puts on the network: by its collectives, and as interfaces count it."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from dpscale.derive.cells import first_known
from dpscale.derive.columns import known
from dpscale.derive.formulas import (
    allgather_wire_bytes,
    allreduce_wire_bytes,
    broadcast_wire_bytes,
    reduce_scatter_wire_bytes,
)

STEADY = "steady"
WIRE_COST: dict[str, Callable[[float, float], float]] = {
    "allreduce": allreduce_wire_bytes,
    "broadcast": broadcast_wire_bytes,
    "allgather": allgather_wire_bytes,
    "reducescatter": reduce_scatter_wire_bytes,
    "barrier": lambda _payload, _workers: 0.0,
}
# torch's gloo all-reduces the whole, and each worker keeps its part.
OF_BACKEND = {"gloo": {"reducescatter": allreduce_wire_bytes}}


def cost_of(backend: str | None) -> dict[str, Callable[[float, float], float]]:
    """Return what all workers send in each operation, by payload and workers, in a backend."""
    return WIRE_COST | OF_BACKEND.get(backend or "", {})


def one_steady_iteration(calls: pd.DataFrame) -> pd.DataFrame:
    """Return a run's calls with only the first of its steady iterations."""
    steady = calls["phase"] == STEADY
    first = calls.loc[steady, "iteration"].min()
    return calls[~steady | (calls["iteration"] == first).fillna(False).astype(bool)]


def ledger_bytes(
    calls: pd.DataFrame, workers: int, backend: str | None
) -> tuple[float | None, str | None]:
    """Return the bytes that all workers send in a steady iteration of these calls.

    None and the reason where there is none, or where an operation has no rule.
    """
    cost = cost_of(backend)
    steady = one_steady_iteration(calls)
    steady = steady[steady["phase"] == STEADY]
    names = steady["operation"].str.lower().str.replace("_", "")
    unknown = sorted(set(names) - set(cost))
    if unknown:
        return None, f"no wire cost is known for {', '.join(unknown)}"
    if steady.empty:
        return None, "no steady iteration in the ledger"
    sizes = steady["bytes"].astype(float)
    return sum(cost[name](size, workers) for name, size in zip(names, sizes, strict=True)), None


def interface_bytes(counted: pd.DataFrame) -> dict[str, Any]:
    """Return the bytes of a steady iteration that interfaces sent, which, and over how many."""
    steady = counted[counted["phase"] == STEADY]
    iterations = known(first_known(steady["iterations"]))
    return {
        "interface_bytes": steady["sent_bytes"].sum() / iterations if iterations else None,
        "interface": " ".join(steady["interface"].dropna()) or None,
        "iterations": iterations,
    }
