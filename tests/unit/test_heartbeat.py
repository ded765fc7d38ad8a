"""A worker whose peers or agent fall silent names the node as Slurm does."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from patience import HANG_S
from torch.distributed import TCPStore

from dpscale.attempts import Cause, History

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
# A worker of two in a block that does not end by itself.
WAITS = """
import time
from dpscale.train.heartbeat import heartbeat
with heartbeat(1, 2):
    time.sleep(3600)
"""


def test_the_node_of_the_first_rank_is_named_when_it_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # a port where nobody answers
        port = server.getsockname()[1]
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "DPSCALE_SILENCE_S": "0.5",
                 "DPSCALE_NODES": "node-1 node-2",
                 "DPSCALE_HISTORY": str(tmp_path), "PYTHONPATH": str(SCRIPTS)}  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-c", WAITS], env=os.environ | variables, timeout=HANG_S, check=False
    )
    assert ended.returncode == 1
    (failure,) = History(tmp_path).noted()
    assert (failure.cause, failure.node) == (Cause.SILENT, "node-1")


def test_a_stopped_agent_of_a_step_is_killed_by_its_workers(tmp_path: Path) -> None:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    agent = subprocess.Popen(["sleep", str(HANG_S)])
    agent.send_signal(signal.SIGSTOP)
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
                 "SLURMD_NODENAME": "n2", "DPSCALE_SILENCE_S": "2",
                 "DPSCALE_HISTORY": str(tmp_path),
                 "DPSCALE_AGENT": str(agent.pid), "PYTHONPATH": str(SCRIPTS)}  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", WAITS], env=os.environ | variables) as worker:
        assert agent.wait(HANG_S) == -signal.SIGKILL
        worker.kill()  # as the kernel does when its agent has died
    (failure,) = History(tmp_path).noted()
    assert (failure.cause, failure.node, failure.rank) == (Cause.SILENT, "n2", None)
    assert f"the agent, process {agent.pid}, was stopped" in failure.message
