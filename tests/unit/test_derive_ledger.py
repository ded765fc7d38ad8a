"""What is passed on the network: the ledger and the wire."""

import pandas as pd

from builders import derived_lab, run_row, table
from dpscale.studies.ledger.derive import ledger, wire


def call(iteration: int | None, operation: str, size: int, **given) -> dict:
    """Return one row of `collectives` of run r, in the steady phase unless told otherwise."""
    return {
        "run": "r",
        "phase": "steady",
        "iteration": iteration,
        "index": 0,
        "calls": 1,
        "operation": operation,
        "purpose": "gradient bucket",
        "bytes": size,
    } | given


def runs_of(workers: int, **given) -> pd.DataFrame:
    return table("runs", [run_row("r", kind="ledger", study="ledger", workers=workers, **given)])


def wired(collectives: list[dict], sent: list[dict], runs: pd.DataFrame) -> pd.Series:
    made = wire(table("wire", sent), table("collectives", collectives), runs)
    assert len(made) == 1
    return made.iloc[0]


def test_a_steady_iteration_is_counted_once_however_many_were_seen():
    calls = [
        call(2, "allreduce", 700),
        call(2, "allreduce", 300, index=1),
        call(3, "allreduce", 700),
        call(3, "allreduce", 300, index=1),
    ]
    made = ledger(table("collectives", calls), runs_of(2)).iloc[0]
    assert (made["calls"], made["bytes"], made["iterations_seen"]) == (2, 1_000, 2)


def test_phases_follow_the_life_of_a_run_and_purposes_are_apart():
    made = derived_lab()["ledger"].query("workers == 2")
    rows = list(zip(made["phase"], made["operation"], made["purpose"], made["bytes"], strict=True))
    assert rows == [
        ("construction", "broadcast", "parameters at construction", 4_000_000),
        ("construction", "allgather", "shape check", 480),
        ("first", "broadcast", "buffers", 40_000),
        ("first", "allreduce", "gradient bucket", 4_000_000),
        ("rebuild", "broadcast", "bucket rebuild", 248),
        ("rebuild", "allreduce", "gradient bucket", 4_000_000),
        ("steady", "broadcast", "buffers", 40_000),
        ("steady", "allreduce", "gradient bucket", 4_000_000),
    ]


def test_construction_has_no_iteration():
    calls = [call(None, "broadcast", 10, phase="construction")]
    made = ledger(table("collectives", calls), runs_of(2)).iloc[0]
    assert made["bytes"] == 10
    assert pd.isna(made["iterations_seen"])


def test_prediction_is_gradients_twice_round_and_buffers_once():
    made = derived_lab()["wire"].set_index("workers")["predicted_bytes"]
    # 2*1*4,000,000 + 1*40,000 and 2*3*4,000,000 + 3*40,000
    assert made.to_dict() == {2: 8_040_000, 4: 24_120_000}


def test_the_ledgers_calls_cost_what_a_ring_costs():
    calls = [
        call(5, "allreduce", 1_000),
        call(5, "broadcast", 100),
        call(5, "allgather", 10),
        call(5, "barrier", 0),
        call(6, "allreduce", 1_000),
    ]
    made = wired(calls, [], runs_of(4))
    assert made["ledger_bytes"] == 6_000 + 300 + 120


def test_operations_are_known_under_either_spelling():
    assert wired([call(1, "ALL_REDUCE", 1_000)], [], runs_of(2))["ledger_bytes"] == 2_000


def test_an_operation_of_unknown_cost_leaves_the_sum_null_and_is_named():
    made = wired([call(1, "allreduce", 9), call(1, "alltoall", 9)], [], runs_of(2))
    assert pd.isna(made["ledger_bytes"])
    assert made["note"] == "no wire cost is known for alltoall"


def test_interfaces_are_summed_and_divided_by_the_steady_iterations():
    sent = [
        {"run": "r", "phase": "steady", "iterations": 4, "interface": "eth0", "sent_bytes": 90},
        {"run": "r", "phase": "steady", "iterations": 4, "interface": "lo", "sent_bytes": 10},
        {"run": "r", "phase": "first", "iterations": 1, "interface": "lo", "sent_bytes": 77},
    ]
    made = wired([], sent, runs_of(2))
    assert (made["interface_bytes"], made["interface"]) == (25.0, "eth0 lo")


def test_interfaces_that_were_not_counted_are_null():
    assert pd.isna(wired([call(1, "allreduce", 9)], [], runs_of(2))["interface_bytes"])
