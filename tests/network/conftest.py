"""Links of known rate for the tests; skipped, with the reason, where they cannot be built."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rig import Rig, missing

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"
CEILING = Path(__file__).with_name("tcp_ceiling.py")


@pytest.fixture(scope="session", autouse=True)
def possible() -> None:
    if reason := missing():
        pytest.skip(f"no network namespaces with shaped links here: {reason}")


@pytest.fixture
def make_rig(possible: None) -> Iterator[Callable[[int, str], Rig]]:
    """Makes rigs that are gone when the test ends."""
    opened: list[Rig] = []

    def make(nodes: int, rate: str) -> Rig:
        rig = Rig(nodes, rate)
        opened.append(rig.__enter__())
        return rig

    yield make
    for rig in opened:
        rig.__exit__(None, None, None)


def tcp_ceiling(rig: Rig) -> float:
    """Bytes per second of one TCP connection from node 0 to node 1."""
    address = rig.address(1)
    receiver = rig.start(1, [sys.executable, str(CEILING), "receive", address])
    sender = rig.start(0, [sys.executable, str(CEILING), "send", address])
    output, errors = receiver.communicate(timeout=60)
    assert receiver.returncode == 0, errors
    sender.communicate(timeout=60)
    return float(output)
