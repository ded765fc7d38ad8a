"""Every formula against a value worked by hand."""

import pandas as pd
import pytest

from dpscale.derive import formulas


@pytest.mark.parametrize(
    ("formula", "given", "by_hand"),
    [
        ("ring_allreduce_bytes", (44_695_848, 2), 44_695_848),
        ("ring_allreduce_bytes", (44_695_848, 4), 67_043_772),
        ("ring_allreduce_bytes", (44_695_848, 1), 0),
        ("level_latency_seconds", (44_000_000, 4, 1e9), 0.011),
        ("partly_faster", (0.5, 3.0), 1.5),  # 1 / (1/2 + 1/6)
        ("added_step_seconds", (12.0, 1.5, 2), 4.0),  # 2 * 12 / (12 + 4) = 1.5
        ("affordable_epoch_seconds", (2.0, 4, 0.5), 8.0),  # T_N = 8/4 + 2 = 4, and 8/(4*4) = 0.5
        ("affordable_hidden_seconds", (2.0, 4, 0.5), 4.0),  # T_N = 2, not 4/4, and 4/(4*2) = 0.5
        ("bounded_speedup", (3.0, 1.0, 4), 3.0),  # each step takes 4 s in place of 3 s
        ("allreduce_wire_bytes", (100, 4), 600),  # of all workers together: 4 times 150
        ("broadcast_wire_bytes", (38_560, 4), 115_680),
        ("allgather_wire_bytes", (480, 3), 2_880),
        # 2*(2-1)*44,695,848 + (2-1)*38,560
        ("step_wire_bytes", (44_695_848, 38_560, 2), 89_430_256),
        ("epoch_seconds", (6.0, 30_000, 50_000), 10.0),
        # 3 GFLOP a sample, 2,000 samples/s: 6 TFLOP/s of 24
        ("model_flop_utilisation", (3e9, 2_000, 24e12), 0.25),
        ("iterations_per_epoch", (50_000, 4, 32), 390.625),
        ("payload_bytes", (11_173_962, 4), 44_695_848),
        ("loader_steps", (60_000, 128), 469),  # the last partial batch too
        ("loader_steps", (60_000, 100), 600),
        ("full_steps", (60_000, 128), 468),
        ("run_steps", (60_000 / 128, 40), 18_750),
        ("speedup", (4.946042, 4.017061), pytest.approx(1.231259, abs=1e-6)),
        ("efficiency", (1.2, 2), 0.6),
        ("compute_seconds", (8.0, 4), 2.0),
        ("communication_seconds", (8.0, 5.0, 4), 3.0),
        # 4 MB an iteration, 100 iterations in 2 s: 0.2 GB/s, not the 0.002 of a single iteration
        ("bandwidth", (4_000_000, 100, 2.0), 200_000_000),
        ("samples_per_second", (50_000, 12.5), 4_000),
    ],
)
def test_a_formula_gives_the_value_worked_by_hand(formula, given, by_hand) -> None:
    assert getattr(formulas, formula)(*given) == by_hand


def test_formulas_take_columns() -> None:
    moved = formulas.ring_allreduce_bytes(pd.Series([100, 100]), pd.Series([2, 4]))
    assert list(moved) == [100.0, 150.0]


def test_a_link_of_twice_the_rate_saves_half_of_the_bytes_share():
    # 2 MB of latency beside 6 MB of bytes: a quarter of the time, and half of three quarters.
    assert formulas.latency_share(2e6, 6e6) == 0.25
    assert formulas.double_rate_saving(2e6, 6e6) == 0.375
