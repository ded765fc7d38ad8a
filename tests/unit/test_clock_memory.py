"""Clocks tile the epoch, the memory budget is real, and the phases are those of the loop."""

import faulthandler
import os
import signal

import numpy as np
import pytest
import torch

from dpscale.train.clock import PHASES, HostClock, phase_columns
from dpscale.train.machine.device import mean_within
from dpscale.train.machine.memory import PeakMemory, is_out_of_memory, memory_budget, run_in_child


def test_phases_are_the_differences_of_marks_and_tile_the_step() -> None:
    marks = np.array([10.0, 10.5, 10.6, 11.0, 12.0, 12.2, 12.3, 12.4, 12.9, 13.9, 14.2])
    columns = phase_columns(np.diff(marks))
    assert columns["step_s"] == pytest.approx([2.2, 2.0])
    assert columns["load_s"] == pytest.approx([0.5, 0.1])
    assert columns["backward_s"] == pytest.approx([1.0, 1.0])
    assert sum(columns[f"{phase}_s"] for phase in PHASES) == pytest.approx(columns["step_s"])


def test_where_nothing_is_copied_the_copy_takes_no_time_and_steps_still_tile() -> None:
    columns = phase_columns(np.array([0.5, 0.4, 1.0, 0.2] * 2), copies=False)
    assert columns["step_s"] == pytest.approx([2.1, 2.1])
    assert columns["copy_s"] == pytest.approx([0.0, 0.0])
    assert [columns[f"{phase}_s"][1] for phase in PHASES] == [0.5, 0.0, 0.4, 1.0, 0.2]


def test_an_epoch_without_steps_has_no_rows() -> None:
    clock = HostClock()
    clock.start()
    assert all(len(column) == 0 for column in phase_columns(clock.intervals()).values())


def test_notes_are_kept_apart_from_the_marks() -> None:
    clock = HostClock()
    clock.start()
    clock.note()
    clock.mark()
    clock.note()
    (interval,), (first, second) = clock.intervals(), clock.notes()
    assert 0 <= first <= interval <= second
    clock.start()
    assert len(clock.notes()) == 0


def test_within_the_budget_memory_is_given_and_beyond_it_an_allocation_really_fails() -> None:
    with memory_budget(64 * 2**20):
        assert torch.zeros(16 * 2**20, dtype=torch.uint8).max() == 0
        with pytest.raises(RuntimeError) as caught:
            torch.zeros(128 * 2**20, dtype=torch.uint8)
        assert is_out_of_memory(caught.value)
    assert torch.zeros(128 * 2**20, dtype=torch.uint8).numel() == 128 * 2**20


def test_other_errors_are_not_taken_for_missing_memory() -> None:
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("can't allocate memory"))
    primitive = RuntimeError("could not create a primitive")
    assert not is_out_of_memory(primitive)
    assert is_out_of_memory(primitive, limited=True)
    assert is_out_of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory"))


def test_cudnn_names_a_failed_allocation_on_the_device_as_a_status() -> None:
    status = "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_{}_ALLOCATION_FAILED"
    assert is_out_of_memory(RuntimeError(status.format("DEVICE")), on_cpu=False)
    assert not is_out_of_memory(RuntimeError(status.format("HOST")), on_cpu=False)


def test_memory_of_the_host_is_not_that_of_a_gpu() -> None:
    for error in (MemoryError(), RuntimeError("[enforce fail] can't allocate memory")):
        assert is_out_of_memory(error)
        assert not is_out_of_memory(error, on_cpu=False)
    assert is_out_of_memory(RuntimeError("CUDA error: out of memory"), on_cpu=False)


def test_a_failure_behind_which_an_allocation_failed_is_missing_memory() -> None:
    def capture() -> None:
        try:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        finally:
            raise RuntimeError("operation failed due to a previous error during capture")

    with pytest.raises(RuntimeError, match="previous error") as caught:
        capture()
    assert is_out_of_memory(caught.value)


def test_peak_memory_sees_what_was_held_for_a_moment() -> None:
    peak = PeakMemory(torch.device("cpu"))
    if peak.bytes() is None:
        pytest.skip("this system does not reset the peak of a process")
    held = torch.ones(64 * 2**20, dtype=torch.uint8)
    del held
    measured = peak.bytes()
    assert measured is not None
    assert 60 * 2**20 < measured < 96 * 2**20


def test_a_child_that_crashes_leaves_its_parent_to_say_so() -> None:
    def crash() -> None:
        faulthandler.disable()  # pytest's would print where
        os.kill(os.getpid(), signal.SIGSEGV)

    assert run_in_child(crash) == "SIGSEGV"
    assert run_in_child(lambda: None) is None


def test_an_error_in_a_child_is_raised_in_the_parent() -> None:
    def fail() -> None:
        raise ValueError("no such batch")

    with pytest.raises(RuntimeError, match="ValueError: no such batch"):
        run_in_child(fail)


def test_utilisation_is_of_the_samples_that_lie_within() -> None:
    # Stamps in microseconds, percent since the stamp before: of 100 to 600 two lie within.
    samples = [(50, 90), (150, 80), (350, 20), (650, 70), (450, 50)]
    assert mean_within(samples, 100, 600) == pytest.approx((200 * 0.2 + 100 * 0.5) / 300)
    assert mean_within(samples, 160, 340) is None
    assert mean_within([], 0, 100) is None
