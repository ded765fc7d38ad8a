"""Every formula against a value worked by hand."""

import pandas as pd
import pytest

from dpscale.derive import formulas


def test_ring_allreduce_on_two_workers_moves_the_payload_once():
    assert formulas.ring_allreduce_bytes(44_695_848, 2) == 44_695_848


def test_ring_allreduce_on_four_workers_moves_one_and_a_half_payloads():
    assert formulas.ring_allreduce_bytes(44_695_848, 4) == 67_043_772


def test_ring_allreduce_on_one_worker_moves_nothing():
    assert formulas.ring_allreduce_bytes(44_695_848, 1) == 0


def test_wire_bytes_of_an_allreduce_are_those_of_all_workers_together():
    assert formulas.allreduce_wire_bytes(100, 4) == 600
    assert formulas.allreduce_wire_bytes(100, 4) == 4 * formulas.ring_allreduce_bytes(100, 4)


def test_broadcast_reaches_every_other_worker_once():
    assert formulas.broadcast_wire_bytes(38_560, 4) == 115_680


def test_allgather_sends_every_contribution_to_every_other_worker():
    assert formulas.allgather_wire_bytes(480, 3) == 2_880


def test_a_steady_step_sends_gradients_twice_round_and_buffers_once():
    # 2*(2-1)*44,695,848 + (2-1)*38,560
    assert formulas.step_wire_bytes(44_695_848, 38_560, 2) == 89_430_256


def test_epoch_is_scaled_from_the_samples_measured_to_all():
    assert formulas.epoch_seconds(6.0, 30_000, 50_000) == 10.0


def test_flop_utilisation_is_the_used_share_of_the_peak():
    # 3 GFLOP a sample, 2,000 samples/s: 6 TFLOP/s of 24.
    assert formulas.model_flop_utilisation(3e9, 2_000, 24e12) == 0.25


def test_iterations_scale_one_full_step_to_an_epoch():
    assert formulas.iterations_per_epoch(50_000, 4, 32) == 390.625


def test_four_byte_parameters_make_the_payload():
    assert formulas.payload_bytes(11_173_962, 4) == 44_695_848


def test_a_loader_keeps_the_last_partial_batch():
    assert formulas.loader_steps(60_000, 128) == 469
    assert formulas.loader_steps(60_000, 100) == 600


def test_forty_epochs_of_60_000_at_128_are_18_750_steps():
    assert formulas.run_steps(60_000 / 128, 40) == 18_750


def test_full_steps_drop_the_last_partial_batch():
    assert formulas.full_steps(60_000, 128) == 468


def test_speedup_is_not_multiplied_by_the_workers():
    assert formulas.speedup(4.946042, 4.017061) == pytest.approx(1.231259, abs=1e-6)


def test_efficiency_is_speedup_over_workers():
    assert formulas.efficiency(1.2, 2) == 0.6


def test_computation_and_communication_add_up_to_the_epoch():
    parts = formulas.compute_seconds(8.0, 4), formulas.communication_seconds(8.0, 5.0, 4)
    assert parts == (2.0, 3.0)


def test_bandwidth_takes_the_bytes_of_the_whole_epoch():
    # 4 MB an iteration, 100 iterations in 2 s: 0.2 GB/s, not the 0.002 of a single iteration
    assert formulas.bandwidth(4_000_000, 100, 2.0) == 200_000_000


def test_samples_per_second_of_an_epoch():
    assert formulas.samples_per_second(50_000, 12.5) == 4_000


def test_formulas_take_columns():
    moved = formulas.ring_allreduce_bytes(pd.Series([100, 100]), pd.Series([2, 4]))
    assert list(moved) == [100.0, 150.0]
