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
    """Bytes per second of one TCP connection from each node to the next, all at the same time.

    That of the slowest. All at once, since the nodes share one machine: at some Gbit/s its cores
    carry less over all links together than over one.
    """
    command = [sys.executable, str(CEILING)]
    following = [(node + 1) % rig.nodes for node in range(rig.nodes)]
    receivers = [rig.start(node, [*command, "receive", rig.address(node)]) for node in following]
    senders = [
        rig.start(node, [*command, "send", rig.address(to)]) for node, to in enumerate(following)
    ]
    rates = []
    for receiver in receivers:
        output, errors = receiver.communicate(timeout=60)
        assert receiver.returncode == 0, errors
        rates.append(float(output))
    for sender in senders:
        sender.communicate(timeout=60)
    return min(rates)
