"""One folder for all temporary files of a user's runs; nothing in it outlives its process for long.

What a killed process left there is removed by the next one that makes a folder of its own.
"""

import atexit
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from getpass import getuser
from pathlib import Path

from dpscale.processes import identity, lives

NAME = f"dpscale-{os.getuid()}"
ALSO = "also"  # a link to a folder elsewhere
TRIES = 10


@contextmanager
def temporary_folder(also: Path | None = None) -> Iterator[Path]:
    """A folder of this process, for its user alone, as long as the block runs.

    also: a folder elsewhere that is to be removed with it.
    """
    try:
        base = private_folder(_base())
    except OSError:  # somebody else was here first, or the file system keeps no modes
        base = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
    remove_what_is_left()
    folder = base / f"{_here()}:{identity(os.getpid()).replace(' ', '-')}"
    folder.mkdir(exist_ok=True)
    if also:
        (folder / ALSO).symlink_to(also)
    try:
        yield folder
    finally:
        _remove(folder)


def remove_what_is_left() -> None:
    """Remove the folders of processes of this machine that are dead."""
    with suppress(OSError):  # a folder of somebody else's says nothing to be believed
        for folder in private_folder(_base()).iterdir():
            where, _, process = folder.name.rpartition(":")
            if where == _here() and not lives(process.replace("-", " ")):
                _remove(folder)


def temporary_folder_until_exit(also: Path) -> Path:
    """Return a `temporary_folder` of this process that is there until it ends."""
    stay = ExitStack()
    atexit.register(stay.close)
    return stay.enter_context(temporary_folder(also))


def use_for_temporary_files(folder: Path) -> None:
    """Have this process and all that it starts here keep their temporary files in a folder.

    Compiled code stays where torch keeps it, for the next call.
    """
    with suppress(KeyError, OSError):  # a user without a name
        cache = Path(tempfile.gettempdir(), f"torchinductor_{getuser()}")
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache))
    files = folder / "files"
    files.mkdir(exist_ok=True)
    # The second is what Snakemake gives to its jobs.
    os.environ["TMPDIR"] = tempfile.tempdir = str(files)


def private_folder(folder: Path) -> Path:
    """Return a folder, made if need be, that nobody else can enter; raises OSError otherwise."""
    with suppress(FileExistsError):  # as what, is seen below
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of yours alone; remove it")
    return folder


def _base() -> Path:
    return Path(tempfile.gettempdir(), NAME)


def _here() -> str:
    """Where a process number means something: a host, and a container on it."""
    space = Path("/proc/self/ns/pid")
    host = socket.gethostname().replace("/", "-")  # the kernel takes any name
    return f"{host}-{space.stat().st_ino if space.exists() else 0}"


def _remove(folder: Path) -> None:
    with suppress(OSError):  # there is none, or another process removes it just now
        shutil.rmtree((folder / ALSO).readlink(), ignore_errors=True)
    for _ in range(TRIES):  # processes that are just ending may still write into it
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.2)
