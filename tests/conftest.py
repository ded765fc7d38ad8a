"""The order of the tests, and which run side by side: those of a file, or of files that share
what they start."""

import gc
import re
from pathlib import Path
from typing import Any

import pytest

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # tests of real GPUs need no more than pytest
    LoadScopeScheduling = object

HERE = Path(__file__).parent
# Folders and files of which each shares a cluster, a server or a checkout in one session.
SHARED = ("slurm", "distributed")
WORDS = re.compile(r"test_words\.py::.*\[(.*)\.j2\]")
CHECKOUT = ("workflow/test_smoke.py", "workflow/test_boundary.py")
LONGEST_FIRST = ("workflow", "distributed", "slurm", "rehearsal", "answers")


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(HERE).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)
    for item in items:
        if item.path.is_relative_to(HERE / "network"):  # it measures what links carry
            item.add_marker(pytest.mark.alone)


def pytest_collection_finish() -> None:
    gc.freeze()  # what is imported and collected is no garbage: a twentieth of the tests' time
    gc.set_threshold(100_000, 50, 100)


class ByWhatIsShared(LoadScopeScheduling):  # type: ignore[misc]
    """Deals out whole files, and those together that share what they start."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0].removeprefix("tests/")
        folder = file.split("/")[0]
        if folder in SHARED:
            return folder
        if own := WORDS.search(nodeid):  # what the cases of the question read is made once
            return f"answers/test_{own[1].lower().replace('.', '_')}.py"
        return "checkout" if file in CHECKOUT else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByWhatIsShared(config, log)
