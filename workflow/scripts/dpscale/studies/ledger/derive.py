"""What is passed on the network: the collectives of a run, and the bytes that left its hosts."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import allreduce_wire_bytes, step_wire_bytes
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.tables import Table
from dpscale.derive.wire import interface_bytes, ledger_bytes, one_steady_iteration
from dpscale.records.columns import Columns, columns
from dpscale.vocabulary import words

PHASES = ["construction", "first", "rebuild", "steady"]

GRADIENTS = "gradient bucket"
# What is set beside what it should be.
GAPS = {
    "ledger": ("ledger_bytes", "predicted_bytes"),
    "interface": ("interface_bytes", "predicted_bytes"),
    "bucket": ("bucket_bytes", "payload_bytes"),
}

LEDGER_COLUMNS: Columns = (
    columns("workers")
    | words("phase", PHASES)
    | columns("operation purpose calls bytes nodes iterations_seen status runs dtype")
)
WIRE_COLUMNS: Columns = (
    columns("workers predicted_bytes ledger_bytes interface_bytes nodes payload_bytes")
    | columns("buffer_bytes iterations interface status note runs gradient_bytes bucket_bytes")
    | columns(" ".join(f"{name}_gap_frac" for name in GAPS))
    | words(" ".join(f"{name}_side" for name in GAPS), ("exact", "above", "below", "unknown"))
)


def _planned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the ledger's runs by workers, after the check that one machine made them."""
    planned = in_study(runs, "ledger")
    require_same_machine(planned)
    return planned.sort_values(["workers", "nodes", "run"])


def ledger(collectives: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return calls and bytes by (workers, phase, operation, purpose, dtype), in order.

    bytes are logical payload on rank 0, summed over the calls; `steady` is one steady iteration
    (the first of iterations_seen). A run without a record is a row with its status and nulls.
    Raises MixedMachinesError for runs of different machines.
    """
    rows: list[dict[str, Any]] = []
    for _, run in _planned(runs).iterrows():
        whole = {
            "workers": run["workers"],
            "nodes": run["nodes"],
            "status": run["status"],
            "runs": run["run"],
        }
        calls = collectives[collectives["run"] == run["run"]]
        if calls.empty:
            rows.append(whole)
        seen = calls.groupby("phase")["iteration"].nunique()
        one = one_steady_iteration(calls).sort_values("index")
        for phase in [*PHASES, *sorted(set(one["phase"]) - set(PHASES))]:
            of_phase = one[one["phase"] == phase]
            for (operation, purpose, dtype), group in of_phase.groupby(
                ["operation", "purpose", "dtype"], sort=False, dropna=False
            ):
                rows.append(
                    whole
                    | {
                        "phase": phase,
                        "operation": operation,
                        "purpose": purpose,
                        "dtype": dtype,
                        "calls": group["calls"].sum(),
                        "bytes": group["bytes"].sum(),
                        "iterations_seen": seen[phase] or None,
                    }
                )
    return as_table(rows, LEDGER_COLUMNS)


def wire(wire: pd.DataFrame, collectives: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return, for each ledger run, the bytes all workers send in one steady iteration.

    gradient_bytes = 2(N-1)*S; predicted_bytes adds (N-1)*buffers; ledger_bytes = the ledger's
    calls at their ring cost; interface_bytes = what the network interfaces counted, per iteration;
    bucket_bytes = the gradients that one worker hands over. Null where unknown, with the reason in
    `note`. Raises MixedMachinesError for runs of different machines.
    """
    rows = []
    for _, run in _planned(runs).iterrows():
        workers = int(run["workers"])
        calls = collectives[collectives["run"] == run["run"]]
        counted = interface_bytes(wire[wire["run"] == run["run"]])
        payload, buffers = known(run["payload_bytes"]), known(run["buffer_bytes"])
        predicted = None
        if payload is not None and buffers is not None:
            predicted = step_wire_bytes(payload, buffers, workers)
        from_ledger, note = ledger_bytes(calls, workers, known(run["backend"]))
        rows.append(
            {
                "workers": workers,
                "predicted_bytes": predicted,
                "ledger_bytes": from_ledger,
                "gradient_bytes": None
                if payload is None
                else allreduce_wire_bytes(payload, workers),
                **counted,
                "bucket_bytes": _bucket_bytes(calls),
                "nodes": run["nodes"],
                "payload_bytes": payload,
                "buffer_bytes": buffers,
                "status": run["status"],
                "note": note if run["status"] == "complete" else None,
                "runs": run["run"],
            }
        )
    return as_table(rows, WIRE_COLUMNS)


def _bucket_bytes(calls: pd.DataFrame) -> int | None:
    """The bytes of the gradients of a steady iteration; None where there are none."""
    one = one_steady_iteration(calls)
    own = one[(one["phase"] == "steady") & (one["purpose"] == GRADIENTS)]
    return known(own["bytes"].sum()) or None


def judge_wire(rows: list[dict[str, Any]]) -> None:
    """Notes how far, as a fraction, and on which side counted bytes lie of those by formula."""
    for row in rows:
        for name, (counted, expected) in GAPS.items():
            known_both = row[counted] is not None and row[expected]
            gap = row[counted] / row[expected] - 1 if known_both else None
            side = "exact" if gap == 0 else "above" if gap and gap > 0 else "below"
            row |= {f"{name}_gap_frac": gap, f"{name}_side": "unknown" if gap is None else side}


TABLES = {
    "ledger": Table(ledger, ["collectives", "runs"], LEDGER_COLUMNS),
    "wire": Table(wire, ["wire", "collectives", "runs"], WIRE_COLUMNS, judge_wire),
}
