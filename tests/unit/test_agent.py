"""Agents meet at a store of their own; workers that are forks begin once all of them exist."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import HANG_S

import dpscale
from dpscale.attempts import Cause
from dpscale.launch.meeting import Meeting
from dpscale.train import agent

SCRIPTS = Path(dpscale.__file__).parents[1]

FORKS = """
import os, time
from dpscale.forks import begin_together

def say(line):
    os.write(1, f"{line}\\n".encode())  # whole, beside those of the others

begin_together(3)
for number in range(3):
    if os.fork() == 0:
        say(f"begins {time.monotonic()}")
        if os.fork() == 0:
            say("a fork of a fork")
            os._exit(0)
        os.wait()
        os._exit(0)
    time.sleep(0.1)
    say(f"forked {time.monotonic()}")
for number in range(3):
    os.wait()
"""


def test_no_fork_begins_before_the_last_exists_and_forks_of_forks_begin_at_once():
    made = subprocess.run(
        [sys.executable, "-c", FORKS],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
    )
    lines = made.stdout.splitlines()
    begun = [float(line.split()[1]) for line in lines if line.startswith("begins")]
    forked = [float(line.split()[1]) for line in lines if line.startswith("forked")]
    assert len(begun) == len(forked) == 3
    assert min(begun) > forked[-2]  # the last is noted 0.1 s after it exists
    assert lines.count("a fork of a fork") == 3
    assert made.stderr == ""


NAMES = ("n1", "n2", "n3")


@pytest.fixture
def port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_the_agents_of_all_nodes_meet_at_one_store(port) -> None:
    rendezvous = [agent.Rendezvous(Meeting(NAMES, node, "127.0.0.1", port)) for node in range(3)]
    with ThreadPoolExecutor(3) as threads:
        met = list(threads.map(lambda one: one.next_rendezvous(), rendezvous))
    assert [(one.rank, one.world_size) for one in met] == [(0, 3), (1, 3), (2, 3)]
    assert {one.bootstrap_store_info.master_port for one in met} == {port}
    met[2].store.set("key", "value")
    assert met[0].store.get("key") == b"value"


def test_a_loopback_interface_that_is_down_is_no_wait() -> None:
    without = ["unshare", "--net"]
    if subprocess.run([*without, "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot take the network away for a while")
    meets = (
        "from dpscale.launch.meeting import meeting_place\n"
        "from dpscale.train.agent import Rendezvous\n"
        "Rendezvous(meeting_place(1, {})).next_rendezvous()"
    )
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    ended = subprocess.run(
        [*without, sys.executable, "-c", meets],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert "cannot listen for workers at 127.0.0.1:0: " in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(("present", "absent"), [(0, "n2"), (1, "n1")])
def test_a_node_that_does_not_come_is_named(monkeypatch, port, present, absent) -> None:
    monkeypatch.setattr(agent, "MEETING_S", 1.0)
    meeting = Meeting(NAMES, present, "127.0.0.1", port)
    with pytest.raises(agent.RendezvousError, match="did not come to the rendezvous") as raised:
        agent.Rendezvous(meeting).next_rendezvous()
    assert (raised.value.failure.cause, raised.value.failure.node) == (Cause.SILENT, absent)


def test_an_address_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        meeting = Meeting(NAMES, 0, "127.0.0.1", server.getsockname()[1])
        with pytest.raises(agent.RendezvousError, match=r"cannot listen .*127\.0\.0\.1") as raised:
            agent.Rendezvous(meeting).next_rendezvous()
    assert (raised.value.failure.cause, raised.value.failure.node) == (Cause.NETWORK, "n1")
