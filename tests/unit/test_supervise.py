"""How a run ended is told from what its workers left behind, and decides whether it is repeated."""

import sys
from pathlib import Path

import pytest

from dpscale.attempts import Attempt, Cause, History
from dpscale.launch import supervise as MODULE
from dpscale.launch.supervise import supervise
from dpscale.plan import Spec
from dpscale.plan.spec import TIMED, RunProtocol, build_spec
from dpscale.studies import load_config

STUDIES = ("sweep", "scaling", "communication", "large_batch", "replicas", "ledger")
# A worker whose watchdog ends it, as torch's of NCCL does: by SIGABRT, after its last words.
ABORTS = """
import os, sys
print("[rank0]:[E ProcessGroupNCCL.cpp:2192] [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group "
      f"watchdog thread terminated with exception: {sys.argv[1]}", file=sys.stderr, flush=True)
os.abort()
"""


@pytest.fixture
def spec() -> Spec:
    config = load_config({"name": "t"} | dict.fromkeys(STUDIES))
    return build_spec(
        config, TIMED, run="a", study="test", workers=1, per_worker_batch=8, protocol=RunProtocol()
    )


def launched(
    spec: Spec, folder: Path, words: list[str], patch: pytest.MonkeyPatch, number: int = 1
) -> Attempt:
    """The attempt at a spec whose one worker is started by some words."""
    patch.setattr(MODULE, "command", lambda *_: words)
    history = History(folder / "attempts")
    with (folder / "log").open("w+") as log:
        assert supervise(spec, folder / "spec.json", history=history, number=number, log=log) == 1
    return history.read()[-1]


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)", "network"),
        ("CUDA error: uncorrectable ECC error encountered", "device"),
        ("CUDA error: an illegal memory access was encountered", "error"),
    ],
)
def test_a_worker_that_aborts_is_tried_again_unless_its_program_is_wrong(
    said, cause, spec, tmp_path, monkeypatch
) -> None:
    words = [sys.executable, "-c", ABORTS, said]
    attempt = launched(spec, tmp_path, words, monkeypatch)
    assert attempt.failure is not None
    assert attempt.failure.cause == cause
    assert attempt.failure.rank == 0
    again = launched(spec, tmp_path, words, monkeypatch, number=2)
    assert again.number == (1 if cause == Cause.ERROR else 2)
