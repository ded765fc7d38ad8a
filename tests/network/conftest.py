"""Links of known rate for the tests; skipped, with the reason, where they cannot be built."""

from collections.abc import Callable, Iterator

import pytest
from rig import Rig, missing


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
