"""Which tests run side by side: those of a file, or of a folder that shares what it starts."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Their files share a cluster, a checkout or a server for the length of the session.
SHARED = ("distributed", "network", "rehearsal", "slurm")
CHECKOUT = ("test_smoke.py", "test_boundary.py")  # of tests/workflow


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder, *_ = item.path.relative_to(HERE).parts
        shared = folder in SHARED or item.path.name in CHECKOUT
        item.add_marker(pytest.mark.xdist_group(folder if shared else str(item.path)))
        if folder == "network":  # it measures what links carry
            item.add_marker(pytest.mark.alone)
