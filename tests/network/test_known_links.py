"""The link's bandwidth against links of known rate, and the rig itself.

The whole range, 100 Mbit/s to 5 Gbit/s with 2 to 4 nodes: pytest -m slow tests/network
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import until
from raw_tcp import tcp_ceiling
from rig import PREFIX, Rig

SCRIPT = Path(__file__).resolve().parents[2] / "workflow/scripts/measure_link.py"
MakeRig = Callable[[int, str], Rig]
KEYS = {
    "workers",
    "payload_bytes",
    "allreduce_s",
    "busbw_bytes_per_s",
    "busbw_bytes_per_s_low",
    "busbw_bytes_per_s_high",
    "interface_bytes",
}


def measured(rig: Rig, output: Path, payload_bytes: int, **options: Any) -> dict[str, Any]:
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    ended = rig.torchrun(SCRIPT, f"--payload-bytes={payload_bytes}", f"--output={output}", *given)
    assert all(one.status == 0 for one in ended), ended
    return json.loads(output.read_text(encoding="utf-8"))


def check(found: dict[str, Any], workers: int, payload_bytes: int) -> None:
    assert set(found) == KEYS
    assert (found["workers"], found["payload_bytes"]) == (workers, payload_bytes)
    moved = 2 * (workers - 1) / workers * payload_bytes
    assert found["busbw_bytes_per_s"] == pytest.approx(moved / found["allreduce_s"])
    assert found["busbw_bytes_per_s_low"] <= found["busbw_bytes_per_s"]
    assert found["interface_bytes"] == pytest.approx(2 * (workers - 1) * payload_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("nodes", "rate", "bytes_per_s", "payload_bytes"),
    [(2, "200mbit", 25e6, 16_000_000), (3, "100mbit", 12.5e6, 8_000_000)],
)
def test_the_bus_bandwidth_is_that_of_the_link(
    make_rig, tmp_path, nodes, rate, bytes_per_s, payload_bytes
) -> None:
    rig, fastest = make_rig(nodes, rate), 0.0
    # A busy machine holds up some measurements and speeds up none; at these rates a slow processor
    # holds up none.
    for _ in range(10):
        found = measured(rig, tmp_path / "link.json", payload_bytes, repeats=5, budget_s=3)
        check(found, nodes, payload_bytes)
        fastest = max(fastest, found["busbw_bytes_per_s_high"])
        if fastest > 0.85 * bytes_per_s:
            break
    # Frames and their headers take 5% of the line, and rounds of the ring some more.
    assert 0.85 * bytes_per_s < fastest < 1.02 * bytes_per_s


def test_one_worker_communicates_nothing(make_rig, tmp_path) -> None:
    found = measured(make_rig(1, "1gbit"), tmp_path / "link.json", 4_000_000)
    assert (found["allreduce_s"], found["interface_bytes"]) == (0.0, 0)
    assert found["busbw_bytes_per_s"] is None


def test_a_payload_that_is_no_gradient_is_refused_in_a_line(make_rig, tmp_path) -> None:
    rig = make_rig(1, "1gbit")
    (ended,) = rig.torchrun(SCRIPT, "--payload-bytes=10", f"--output={tmp_path / 'link.json'}")
    assert ended.status != 0
    assert "measure_link.py: rank 0: a payload of 10 bytes" in ended.errors
    assert not (tmp_path / "link.json").exists()


def listed() -> list[str]:
    found = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return found.stdout.split()


def namespaces() -> list[str]:
    """Those of this process's rigs: others may be at work at the same time."""
    return [name for name in listed() if name.startswith(f"{PREFIX}{os.getpid()}")]


def inside(namespace: str) -> bool:
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, check=False)
    return bool(found.stdout.split())


def test_a_rig_leaves_nothing_behind_even_after_an_error() -> None:
    def fail() -> None:
        with Rig(2, "1gbit"):
            assert len(namespaces()) == 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert namespaces() == []


def alive(process: int) -> bool:
    """Whether a process is there and no mere entry that nobody has fetched (a zombie)."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


# A rig of one node on which torchrun's worker writes its process id and sleeps.
SLEEPER = """
import os, pathlib, sys, time
new = pathlib.Path(sys.argv[1] + ".new")
new.write_text(str(os.getpid()))
new.rename(sys.argv[1])
time.sleep(3600)
"""
KILLED = """
import sys
from rig import Rig
with Rig(1, "1gbit") as rig:
    rig.torchrun(*sys.argv[1:])
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> tuple[Path, Path]:
    """A script, and the file in which it leaves its process id."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    return tmp_path / "sleeper.py", tmp_path / "started"


def test_torchruns_workers_end_with_the_rig(sleeper) -> None:
    script, started = sleeper
    with Rig(1, "1gbit") as rig:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        rig.start(0, [*torchrun, str(script), str(started)])
        until(started.exists)
        worker = int(started.read_text())
        assert alive(worker)
    assert not alive(worker)


def test_a_killed_rig_ends_its_workers_and_the_next_one_removes_its_remains(
    sleeper, tmp_path
) -> None:
    script, started = sleeper
    (tmp_path / "killed.py").write_text(KILLED)
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, tmp_path / "killed.py", script, started]
    with subprocess.Popen(command, env=here) as killed:
        until(started.exists)
        killed.kill()
    node = f"{PREFIX}{killed.pid}n0"
    until(lambda: not alive(int(started.read_text())))
    until(lambda: not inside(node))
    with Rig(1, "1gbit"):
        assert node not in listed()


def test_what_still_runs_on_a_node_of_a_killed_rig_is_left_alone() -> None:
    node = f"{PREFIX}4194305n0"  # above the largest process id: no rig of that id lives
    subprocess.run(["ip", "netns", "add", node], check=True)
    with subprocess.Popen(["ip", "netns", "exec", node, "sleep", "3600"]) as other:
        try:
            until(lambda: inside(node))
            with Rig(1, "1gbit"):
                assert node in listed()
            assert other.poll() is None
        finally:
            other.kill()
    with Rig(1, "1gbit"):
        assert node not in listed()


def test_a_rate_that_tc_does_not_know_is_an_error_and_leaves_nothing() -> None:
    with pytest.raises(RuntimeError, match="rate"), Rig(2, "fast"):
        pass
    assert namespaces() == []


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 3, 4])
@pytest.mark.parametrize("rate", ["100mbit", "1gbit", "2gbit", "5gbit"])
def test_the_bus_bandwidth_over_the_whole_range(make_rig, tmp_path, nodes, rate) -> None:
    payload_bytes = 44_695_848
    rig = make_rig(nodes, rate)
    found = measured(rig, tmp_path / "link.json", payload_bytes, repeats=5)
    share = found["busbw_bytes_per_s_high"] / tcp_ceiling(rig)
    print(f"N={nodes} {rate}: {share:.3f} of TCP")
    check(found, nodes, payload_bytes)
    assert share == pytest.approx(1, rel=0.05)
