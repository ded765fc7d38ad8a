"""Temporary files lie in one folder of the user's, and none outlives its process for long."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from patience import HANG_S

import dpscale
from dpscale.launch.temporary import private_folder, temporary_folder

SCRIPTS = Path(dpscale.__file__).parents[1]
# Makes a folder beside which another one, elsewhere, is to be removed; and waits.
WAITS = """
import sys, time
from pathlib import Path
from dpscale.launch.temporary import temporary_folder_until_exit
print(temporary_folder_until_exit(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def started(root: Path, also: Path) -> "tuple[subprocess.Popen[str], Path]":
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(also)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(root), "PYTHONPATH": str(SCRIPTS)},
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_removed_at_the_end_with_all_that_is_in_it(root) -> None:
    with temporary_folder() as folder:
        (folder / "file").write_text("text")
        assert folder.parent.parent == root
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert not folder.exists()


@pytest.mark.parametrize("number", [None, signal.SIGKILL], ids=["at its end", "after a kill"])
def test_what_a_process_leaves_is_removed(root, number) -> None:
    also = root / "elsewhere"
    also.mkdir()
    process, folder = started(root, also)
    with temporary_folder():
        assert folder.is_dir()  # of a process that lives
    if number:
        process.send_signal(number)
    process.communicate(timeout=HANG_S)
    assert folder.is_dir() == also.is_dir() == (number is not None)
    with temporary_folder():
        assert not folder.exists()
        assert not also.exists()


def test_links_that_others_make_in_it_are_not_followed(root) -> None:
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    with temporary_folder() as folder:
        (folder / "files").mkdir()
        for link in (folder / "files/link", folder / "link"):
            link.symlink_to(elsewhere)
    assert elsewhere.is_dir()


def test_a_folder_that_others_can_enter_is_not_used(root) -> None:
    with temporary_folder() as folder:
        base = folder.parent
    dead = base / f"{folder.name.rpartition(':')[0]}:1-0"
    dead.mkdir()
    base.chmod(0o755)
    with pytest.raises(PermissionError, match="not a folder of yours alone; remove it"):
        private_folder(base)
    with temporary_folder() as folder:
        assert folder.parent != base
        assert folder.parent.parent == root
        assert dead.is_dir()  # nor is it believed what lies there
