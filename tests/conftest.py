"""What all tests begin with, their order, and which run side by side: those of a file, or of files
that share what they start."""

import atexit
import gc
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

try:
    from hypothesis import HealthCheck, settings
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # tests of real GPUs need no more than pytest
    LoadScopeScheduling = object
else:  # the same examples on every machine, however long it takes for one
    slow = [HealthCheck.too_slow]
    settings.register_profile("any", deadline=None, derandomize=True, suppress_health_check=slow)
    settings.load_profile("any")

HERE = Path(__file__).parent
# Folders and files of which each shares a cluster, a server or a checkout in one session.
SHARED = ("slurm", "distributed")
WORDS = re.compile(r"test_words\.py::.*\[(.*)\.j2\]")
LONGEST_FIRST = ("workflow", "distributed", "slurm", "rehearsal", "answers")
# Compiled anew, as on a machine that never did: what is kept does not tell its processor.
os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "0")
# Runs of tests side by side do not wait for each other: nobody reads their times.
os.environ["DPSCALE_LOCKS"] = tempfile.mkdtemp(prefix="dpscale-locks-")
atexit.register(shutil.rmtree, os.environ["DPSCALE_LOCKS"], ignore_errors=True)
KEPT = (signal.SIGPIPE, signal.SIGXFSZ)  # which Python itself ignores, and subprocess restores


def pytest_configure() -> None:
    """Have what tests start begin as from a terminal, however the tests were started.

    A background job of a script ignores SIGINT, under nohup SIGHUP, and both are handed down, as is
    a mask. A signal that is ignored is so here still: a handler does not outlast the start of a
    program, as being ignored does.
    """
    for number in signal.valid_signals() - set(KEPT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


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
        return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByWhatIsShared(config, log)
