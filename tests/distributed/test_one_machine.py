"""Runs on one machine need no network, are reached by nobody else, and unpickle nothing."""

import ipaddress
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import psutil
import pytest
from patience import HANG_S

from dpscale.attempts import History
from dpscale.config.sections import ModelConfig
from dpscale.plan.spec import TimedProtocol, Timing
from dpscale.processes import family
from dpscale.records import read_record
from dpscale.studies.choose.config import GridProtocol
from dpscale.studies.strategies.config import SharingProtocol

DNS_PORT = 53
LAUNCH = Path(__file__).resolve().parents[2] / "workflow/scripts/launch.py"
RENAMED = """
import os, socket, sys
socket.sethostname(sys.argv[1])
os.execv(sys.argv[2], sys.argv[2:])
"""
# Starts a run beside a name server that answers nothing, and prints what it was asked.
SILENT = """
import socket, subprocess, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.9", 53))
server.settimeout(1)
bound = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
run = subprocess.Popen(["unshare", "--mount", "sh", "-c", bound, *sys.argv[1:]])
while run.poll() is None:
    try:
        print(server.recv(1024).hex(), flush=True)
    except TimeoutError:
        pass
sys.exit(run.returncode)
"""
# Starts a run in whose workers torch neither makes nor reads pickles.
UNPICKLED = """
import runpy, sys
import torch.distributed.distributed_c10d as c10d
def refuse(*given, **more):
    raise RuntimeError("an object went over the wire as a pickle")
assert c10d._object_to_tensor and c10d._tensor_to_object  # else this would refuse nothing
c10d._object_to_tensor = c10d._tensor_to_object = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Call:
    """launch.py of a spec, cold, as a rule calls it."""

    def __init__(self, launcher: Any, folder: Path, **fields: Any) -> None:
        self.folder, self.log = folder, folder / "run.log"
        spec = launcher.spec(workers=2, **fields)
        (folder / "spec.json").write_text(spec.model_dump_json())
        self.words = [
            sys.executable,
            str(LAUNCH),
            str(folder / "spec.json"),
            f"--log={self.log}",
            f"--history={folder / 'attempts'}",
        ]

    def start(
        self, *before: str, stdout: IO[str] | None = None, **environment: str
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*before, *self.words],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def ends_well(self, process: "subprocess.Popen[str]") -> None:
        _, errors = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, errors + self.log.read_text()
        assert read_record(self.folder / "record.json").status == "complete"


def addresses(process: int) -> tuple[set[str], set[str]]:
    """Where a process and its descendants listen, and with whom they are connected.

    Without the name servers, which torch asks who 127.0.0.1 is: it needs no answer.
    """
    listens, connected = set(), set()
    for one in family(process):
        try:
            sockets = psutil.Process(one).net_connections("inet")
        except psutil.Error:  # it has just ended
            continue
        # UDP has no state; where it is connected, as to a name server, it hears that peer alone.
        listens |= {
            s.laddr.ip
            for s in sockets
            if s.status == psutil.CONN_LISTEN or (s.status == psutil.CONN_NONE and not s.raddr)
        }
        connected |= {s.raddr.ip for s in sockets if s.raddr and s.raddr.port != DNS_PORT}
    return listens, connected


def test_all_sockets_of_a_run_are_of_this_machine_alone(launcher, tmp_path) -> None:
    run = Call(launcher, tmp_path, training={"epochs": 3})
    process = run.start(GLOO_SOCKET_IFNAME="no-such-interface")
    listens, connected = set[str](), set[str]()
    while process.poll() is None:
        now_listens, now_connected = addresses(process.pid)
        listens |= now_listens
        connected |= now_connected
        time.sleep(0.05)
    run.ends_well(process)
    assert listens
    assert connected
    for address in listens | connected:
        known = ipaddress.ip_address(address)
        assert (getattr(known, "ipv4_mapped", None) or known).is_loopback, address


@pytest.mark.parametrize("name", ["nope-xyz", "no/p e[x]'*"])
def test_a_host_whose_name_does_not_resolve_trains(launcher, tmp_path, name) -> None:
    named = ["unshare", "--uts", sys.executable, "-c", RENAMED, name]
    if subprocess.run([*named, "/bin/true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot give this machine another name for a while")
    run = Call(launcher, tmp_path)
    run.ends_well(run.start(*named))
    assert read_record(tmp_path / "record.json").rank_nodes == [name, name]
    assert History(tmp_path / "attempts").read()[0].host == name


def test_a_name_server_that_is_silent_is_asked_once(launcher, tmp_path) -> None:
    (resolver := tmp_path / "resolv.conf").write_text("nameserver 127.0.0.9\n")
    silent = [sys.executable, "-c", SILENT, str(resolver)]
    if subprocess.run([*silent, "/bin/true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot give this machine another name server for a while")
    run = Call(launcher, tmp_path)
    with (tmp_path / "asked").open("w+") as asked:
        run.ends_well(run.start(*silent, stdout=asked))
        asked.seek(0)
        questions = asked.read().split()
    assert len(questions) == len(set(questions))  # each begins with a number of its own


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "training", "training": {"epochs": 1}},
        {
            "kind": "timed",
            "protocol": TimedProtocol(
                timing=Timing(
                    arms=("with_loading", "without_loading", "reference", "fsdp", "zero1"),
                    repeats=1,
                    min_steps=3,
                    warmup_steps=2,
                ),
                micro_batches=4,
                broadcast_buffers=False,
            ),
        },
        {
            "kind": "sharing",
            "per_worker_batch": 16,
            "protocol": SharingProtocol(
                micro_batches=4, first_steps=2, budget_bytes=2**24, resolution_frac=0.5
            ),
        },
        {
            "kind": "grid",
            "model": ModelConfig(name="mlp"),
            "protocol": GridProtocol(per_worker_batches=(4, 16), repeats=1, repeat_s=0.005),
        },
    ],
    ids=lambda fields: fields["kind"],
)
def test_no_worker_unpickles_what_another_sent(launcher, tmp_path, fields) -> None:
    script = tmp_path / "unpickled.py"
    script.write_text(UNPICKLED, encoding="utf-8")
    spec = launcher.spec(run=f"unpickled-{fields['kind']}", workers=2, **fields)
    ended = launcher.start(spec, through=[str(script)])
    assert ended.status == 0, ended.log[-3000:]
    assert launcher.result(spec).record.status == "complete"
