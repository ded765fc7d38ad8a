"""One real Slurm for all tests here; skipped, with the reason, where none can be started."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster, missing
from workflow import Workflow


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if reason := missing():
        pytest.skip(f"no Slurm can be started here: {reason}")
    with Cluster(2) as started:
        yield started


@pytest.fixture
def workflow(
    cluster: Cluster, tmp_path: Path
) -> Iterator[Callable[[str | dict[str, Any]], Workflow]]:
    """Makes checkouts whose calls and jobs are gone when the test ends."""
    made: list[Workflow] = []

    def make(config: str | dict[str, Any]) -> Workflow:
        made.append(Workflow(cluster, tmp_path / f"checkout{len(made)}", config))
        return made[-1]

    yield make
    for one in made:
        print(one.output()[-6000:])
        one.end()
