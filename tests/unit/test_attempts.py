"""How attempts at a run ended, and what that asks of the next one."""

import pytest

from dpscale.attempts import (
    Attempt,
    Cause,
    Failure,
    History,
    before_abort,
    cause_of,
    hopeless,
    memory_factor,
    nodes_to_avoid,
    root,
    time_factor,
)


def attempt(number: int = 1, cause: Cause | None = None, node: str = "n1") -> Attempt:
    failure = cause and Failure(cause=cause, node=node, rank=1, message="why")
    return Attempt(
        number=number,
        host="login",
        process=7,
        born=1,
        began_at="2026-01-01T00:00:00",
        ended_at="2026-01-01T00:01:00",
        failure=failure,
    )


@pytest.mark.parametrize(
    ("exitcode", "message", "cause"),
    [
        (-9, "Signal 9 (SIGKILL) received by PID 7", Cause.KILLED),
        (-15, "", Cause.CANCELLED),
        (-11, "Signal 11 (SIGSEGV) received by PID 7", Cause.CRASHED),
        (1, "OSError: [Errno 28] No space left on device: 'record.json'", Cause.DISK),
        (1, "OSError: [Errno 122] Disk quota exceeded", Cause.DISK),
        (1, "RuntimeError: DefaultCPUAllocator: can't allocate memory", Cause.MEMORY),
        (1, "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:4", Cause.NETWORK),
        (1, "DistBackendError: NCCL error: remote process exited", Cause.NETWORK),
        (1, "ValueError: unknown model", Cause.ERROR),
        (1, "run.py: rank 0 on n1: RuntimeError: ended by SIGKILL", Cause.KILLED),
        (1, "AcceleratorError: CUDA error: uncorrectable ECC error encountered", Cause.DEVICE),
        (1, "CUDA error: CUDA-capable device(s) is/are busy or unavailable", Cause.DEVICE),
        (1, "CUDA error: all CUDA-capable devices are busy or unavailable", Cause.DEVICE),
        (1, "RuntimeError: CUDA error: no CUDA-capable device is detected", Cause.DEVICE),
        (1, "RuntimeError: No CUDA GPUs are available", Cause.DEVICE),
        (1, "CUDA error: uncorrectable NVLink error detected during the execution", Cause.DEVICE),
        (1, "Invalid access of peer GPU memory over nvlink or a hardware error", Cause.DEVICE),
        (
            1,
            "DistBackendError: NCCL error: Cuda failure 214 'uncorrectable ECC error encountered'",
            Cause.DEVICE,
        ),
        (
            1,
            "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
            Cause.DEVICE,
        ),
        (1, "CUDA error: unknown error", Cause.DEVICE),
        (1, "NVMLError_GpuIsLost: GPU is lost", Cause.DEVICE),
        (1, "NVMLError_ResetRequired: GPU requires restart", Cause.DEVICE),
        (1, "RuntimeError: n2 shows 1 CUDA devices of the 4 asked for in job 7", Cause.DEVICE),
        (1, "CUDA error: an illegal memory access was encountered", Cause.ERROR),
        (1, "CUDA error: device-side assert triggered", Cause.ERROR),
        (1, "CUDA error: unspecified launch failure", Cause.ERROR),
        (1, "CUDA error: invalid device ordinal", Cause.ERROR),
        (
            1,
            "NCCL error: unhandled cuda error, NCCL version 2.27.5 ncclUnhandledCudaError: Call to "
            "CUDA function failed. Last error: Cuda failure 'an illegal memory access was "
            "encountered'",
            Cause.ERROR,
        ),
        (1, "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)", Cause.NETWORK),
        (1, "ProcessGroupNCCL's watchdog got stuck for 480 seconds", Cause.NETWORK),
    ],
)
def test_a_cause_follows_from_signal_and_message(exitcode, message, cause):
    assert cause_of(exitcode, message) == cause


# As torch 2.14 writes them, the stacks cut off.
TIMED_OUT = """\
[rank3]:[E1123 14:27:04.376516135 ProcessGroupNCCL.cpp:689] [Rank 3] Watchdog caught collective \
operation timeout: WorkNCCL(SeqNum=4) ran for 600011 milliseconds before timing out.
[rank3]:[E1123 14:27:04.377811986 ProcessGroupNCCL.cpp:785] Stack trace of the failed collective:
"""
ASYNCHRONOUS = """\
1: [rank1]:[E1123 14:27:04.376516135 ProcessGroupNCCL.cpp:657] [PG GUID 0(default_pg) Rank 1] \
Collective WorkNCCL(SeqNum=1) raised the following async exception: NCCL error: remote error, \
NCCL version 2.27.5
1: ncclRemoteError: A call failed possibly due to a network error.
Exception raised from checkForNCCLErrorsInternal at ProcessGroupNCCL.cpp:2861 (most recent first):
"""
THROWN = """\
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group watchdog thread terminated with \
exception: CUDA error: an illegal memory access was encountered
Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com for more information.

Exception raised from query at c10/cuda/CUDAEvent.h:111 (most recent call first):
"""


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (
            TIMED_OUT,
            (
                3,
                "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4) "
                "ran for 600011 milliseconds before timing out.",
            ),
        ),
        (
            ASYNCHRONOUS,
            (
                1,
                "NCCL error: remote error, NCCL version 2.27.5 1: ncclRemoteError: A call failed "
                "possibly due to a network error.",
            ),
        ),
        (THROWN, (0, "CUDA error: an illegal memory access was encountered")),
        (
            "  what():  CUDA error: unspecified launch failure\n",
            (None, "CUDA error: unspecified launch failure"),
        ),
    ],
)
def test_the_last_words_before_an_abort_are_found_with_their_rank(log, told):
    assert before_abort(f"run: epoch 1 of 5\n{log}") == [told]


def test_words_of_other_aborts_are_none_of_a_device():
    assert before_abort("terminate called without an active exception\nfree(): invalid size") == []


@pytest.mark.parametrize(
    ("causes", "first"),
    [
        ([Cause.NETWORK, Cause.KILLED, Cause.NETWORK], Cause.KILLED),
        ([Cause.KILLED, Cause.ERROR, Cause.SILENT], Cause.SILENT),
        ([Cause.NETWORK, Cause.DISK], Cause.DISK),
        ([Cause.CANCELLED, Cause.ERROR], Cause.ERROR),
        ([Cause.NETWORK, Cause.SILENT, Cause.DEVICE], Cause.DEVICE),
    ],
)
def test_the_root_is_what_the_other_ends_follow_from(causes, first):
    found = root([Failure(cause=cause, node="n1") for cause in causes])
    assert found is not None
    assert found.cause == first
    assert root([]) is None


def test_a_failure_names_rank_node_and_cause():
    assert Failure(cause=Cause.KILLED, node="n2", rank=3).described() == "rank 3 on n2: killed"
    assert Failure(cause=Cause.TIME, node="n2", message="late").described() == "n2: late"
    lost = Failure(cause=Cause.SILENT, node="", rank=3)
    assert lost.described() == "rank 3 on an unknown node: silent"


@pytest.mark.parametrize("cause", list(Cause))
def test_only_what_would_happen_again_is_hopeless(cause):
    never = {Cause.DISK, Cause.ERROR, Cause.CRASHED}
    assert (hopeless([attempt(cause=cause)]) is not None) == (cause in never)


def test_an_attempt_without_an_end_tells_nothing():
    lost = attempt().model_copy(update={"ended_at": None})
    assert hopeless([attempt(cause=Cause.ERROR), lost]) is None
    assert (memory_factor([lost]), time_factor([lost]), nodes_to_avoid([lost])) == (1, 1, [])


def test_memory_and_time_double_with_each_attempt_that_lacked_them():
    causes = [Cause.KILLED, Cause.TIME, Cause.MEMORY, Cause.CANCELLED]
    attempts = [attempt(number, cause) for number, cause in enumerate(causes, start=1)]
    assert (memory_factor(attempts), time_factor(attempts)) == (4, 2)


def test_nodes_that_fell_silent_or_lack_a_device_are_avoided():
    attempts = [
        attempt(1, Cause.SILENT, "n2"),
        attempt(2, Cause.KILLED, "n3"),
        attempt(3, Cause.DEVICE, "n1"),
        attempt(4, Cause.SILENT, ""),
    ]
    assert nodes_to_avoid(attempts) == ["n1", "n2"]


def test_a_history_keeps_the_attempts_of_one_call(tmp_path):
    history = History(tmp_path / "run")
    assert history.read() == []
    begun = attempt(1).model_copy(update={"ended_at": None})
    for one in (begun, attempt(1, Cause.KILLED), attempt(2)):
        history.write(one)
    assert history.read() == [attempt(1, Cause.KILLED), attempt(2)]
    history.write(begun)
    assert history.read() == [begun]


def test_what_nodes_note_is_read_once(tmp_path):
    history, failure = History(tmp_path), Failure(cause=Cause.KILLED, node="n2", rank=1)
    history.note(failure)
    assert history.noted() == [failure]
    assert history.noted() == []


def test_a_damaged_attempt_or_failure_tells_nothing(tmp_path):
    history = History(tmp_path)
    failure = Failure(cause=Cause.KILLED, node="n1", rank=1)
    history.note(failure)
    for name, text in (("attempt-1.json", '{"number": 1, "ho'), ("failure-n2-7.json", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "attempt-2.json").mkdir()
    assert history.read() == []
    assert history.noted() == [failure]
    assert history.noted() == []
