"""Calls done by forks of a process: results in order, errors as they were, no foreign garbage."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from patience import HANG_S

from dpscale.forks import forks

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
KILLED = """
import os, signal
from dpscale.forks import forks
with forks(2) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def halved(number: int) -> float:
    if number % 2:
        error = ValueError(f"{number} is odd")
        error.add_note("halved")
        raise error
    return number / 2


@pytest.mark.parametrize("count", [1, 2])
def test_results_come_in_order_and_an_error_with_its_notes(count: int) -> None:
    with forks(count) as pool:
        assert list(pool.map(halved, [4, 2, 8])) == [2, 1, 4]
        with pytest.raises(ValueError, match="3 is odd") as raised:
            pool.submit(halved, 3).result()
    assert raised.value.__notes__ == ["halved"]


def test_one_is_this_process_and_several_are_others() -> None:
    with forks(1) as pool:
        assert pool.submit(os.getpid).result() == os.getpid()
    with forks(2) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()


def test_a_fork_collects_no_garbage_of_the_process_that_it_is_of() -> None:
    before = gc.get_freeze_count()
    with forks(2) as pool:
        assert pool.submit(gc.get_freeze_count).result() > before
    assert gc.get_freeze_count() == 0


def test_forks_are_gone_soon_after_their_process_was_killed() -> None:
    command = [sys.executable, "-c", KILLED]
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=SCRIPTS, timeout=HANG_S, check=False
    )
    assert ended.returncode < 0  # killed, and no fork holds its output open
    left = [one for one in psutil.process_iter() if one.pid == int(ended.stdout)]
    _, alive = psutil.wait_procs(left, timeout=HANG_S)
    assert not alive
