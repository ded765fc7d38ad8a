"""Downloading a dataset, whole or not at all."""

import hashlib
import http.client
import json
import os
import shutil
import socket
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpscale.train.data.dataset import DatasetError
from dpscale.train.data.sources import SOURCES, torchvision_class
from dpscale.train.data.verify import by_hand, problem_with, take_given

NOT_DOWNLOADED = ("digits", "image_folder", "synthetic")
_TIMEOUT_S = 60.0
_DOWNLOAD_ERRORS = (
    OSError,
    RuntimeError,
    EOFError,
    tarfile.TarError,
    http.client.HTTPException,
    zlib.error,
)


def fetch_dataset(name: str, root: Path, marker: Path) -> None:
    """Makes `root` hold the dataset, verified, then writes `marker`.

    Files that are there already, put by hand or by an earlier run, are verified and taken
    without a network. Else torchvision downloads (over its mirrors) into a folder beside, which
    is renamed into place once it is verified: an interrupted or corrupt download is never taken
    for a whole one. The marker is JSON: the dataset, and path under `root`, bytes and sha256 of
    each of its files. Datasets that need no download get a marker without files. Raises
    DatasetError in one line that says where to put the files by hand.
    """
    if name not in SOURCES and name not in NOT_DOWNLOADED:
        known = ", ".join(sorted([*SOURCES, *NOT_DOWNLOADED]))
        raise DatasetError(f"data.dataset: {name!r} is not one of {known}")
    try:
        files = _files_of(name, root) if name in SOURCES else []
        _write_marker(name, root, files, marker)
    except _DOWNLOAD_ERRORS as error:
        reason = str(error) or type(error).__name__
        where = f"; {by_hand(name, root)}" if name in SOURCES else ""
        one_line = " ".join(f"{name} could not be fetched: {reason}{where}".split())
        raise DatasetError(one_line) from error


def _files_of(name: str, root: Path) -> list[Path]:
    root.mkdir(parents=True, exist_ok=True)
    if problem_with(name, root):
        _download(name, root)
    folder = root / SOURCES[name].folder
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _download(name: str, root: Path) -> None:
    workplace = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
    try:
        take_given(name, root, workplace)
        with _network_timeout():
            torchvision_class(name)(workplace, download=True)
        if problem := problem_with(name, workplace):
            raise DatasetError(problem)
        _move_into_place(workplace, root, SOURCES[name].folder)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def _move_into_place(workplace: Path, root: Path, folder: str) -> None:
    if (root / folder).exists():
        # What failed the verification goes away with the workplace.
        (root / folder).rename(workplace / "replaced")
    (workplace / folder).rename(root / folder)


@contextmanager
def _network_timeout() -> Iterator[None]:
    """Bounds each wait for the network: torchvision itself would wait without end."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _write_marker(name: str, root: Path, files: list[Path], marker: Path) -> None:
    content = {
        "dataset": name,
        "files": [
            {
                "path": path.relative_to(root).as_posix(),
                "bytes": path.stat().st_size,
                "sha256": _sha256(path),
            }
            for path in files
        ],
    }
    marker.parent.mkdir(parents=True, exist_ok=True)
    temporary = marker.with_name(f".{marker.name}.tmp")
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    os.replace(temporary, marker)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
