"""A worker whose peers or agent fall silent names the node as Slurm does."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import HANG_S, until
from torch.distributed import TCPStore

from dpscale.attempts import Cause, History
from dpscale.processes import SILENCE_S, STOPPED, StateClock, seconds_of

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
# A worker of two in a block that does not end by itself.
WAITS = """
import time
from dpscale.train.heartbeat import heartbeat
with heartbeat(1, 2):
    time.sleep(3600)
"""


def test_the_node_of_the_first_rank_is_named_when_it_does_not_answer(tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # a port where nobody answers
        port = server.getsockname()[1]
    variables = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "DPSCALE_SILENCE_S": "0.5",
        "DPSCALE_NODES": "node-1\nnode-2",
        "DPSCALE_HISTORY": str(tmp_path),
        "PYTHONPATH": str(SCRIPTS),
    }
    ended = subprocess.run(
        [sys.executable, "-c", WAITS], env=os.environ | variables, timeout=HANG_S, check=False
    )
    assert ended.returncode == 1
    (failure,) = History(tmp_path).noted()
    assert (failure.cause, failure.node) == (Cause.SILENT, "node-1")


def test_a_stopped_agent_of_a_step_is_killed_by_its_workers(tmp_path) -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    agent = subprocess.Popen(["sleep", str(HANG_S)])
    agent.send_signal(signal.SIGSTOP)
    variables = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "SLURMD_NODENAME": "n2",
        "DPSCALE_SILENCE_S": "2",
        "DPSCALE_HISTORY": str(tmp_path),
        "DPSCALE_AGENT": str(agent.pid),
        "PYTHONPATH": str(SCRIPTS),
    }
    with subprocess.Popen([sys.executable, "-c", WAITS], env=os.environ | variables) as worker:
        assert agent.wait(HANG_S) == -signal.SIGKILL
        worker.kill()  # as the kernel does when its agent has died
    (failure,) = History(tmp_path).noted()
    assert (failure.cause, failure.node, failure.rank) == (Cause.SILENT, "n2", None)
    assert f"the agent, process {agent.pid}, was stopped" in failure.message


@pytest.mark.parametrize("text", ["soon", "0", "1e-9", "-1", "inf", "nan", ""])
def test_a_time_that_is_none_is_refused_by_its_variable(monkeypatch, text) -> None:
    monkeypatch.setenv("DPSCALE_SILENCE_S", text)
    with pytest.raises(
        SystemExit, match=f"DPSCALE_SILENCE_S = '{text}': give seconds, 0.1 at least"
    ):
        seconds_of("DPSCALE_SILENCE_S", 60)


def test_time_in_which_a_watcher_was_stopped_itself_does_not_count(monkeypatch) -> None:
    process = subprocess.Popen(["sleep", str(HANG_S)])
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    clock = StateClock(STOPPED)
    process.send_signal(signal.SIGSTOP)
    until(lambda: process.pid in clock.look([process.pid]))
    seen = []
    for passed_s in (6, 6, 3600):
        now_s[0] += passed_s
        seen.append(clock.look([process.pid])[process.pid])
    assert seen == [6, 12, 12 + SILENCE_S / 2]
    process.send_signal(signal.SIGCONT)
    until(lambda: not clock.look([process.pid]))
    process.kill()
    process.wait()
