"""Downloading a dataset, whole or not at all, and verifying it by checksums, counts and sizes."""

import gzip
import hashlib
import http.client
import json
import shutil
import socket
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpscale.records.storage import write_text
from dpscale.train.data.dataset import DatasetError
from dpscale.train.data.sources import (
    SOURCES,
    UnreadableSourceError,
    open_source,
    torchvision_class,
)

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
# torchvision knows the md5 of the packed files alone, but files put by hand may be unpacked, or
# packed anew. These are the md5 of what the packed files hold.
UNPACKED_MD5 = {
    "mnist": {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    "fashion_mnist": {
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
}


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
        where = f"; {_by_hand(name, root)}" if name in SOURCES else ""
        one_line = " ".join(f"{name} could not be fetched: {reason}{where}".split())
        raise DatasetError(one_line) from error


def _by_hand(name: str, root: Path) -> str:
    """The sentence that says which files to put where when there is no network."""
    places = " ".join(str(root / place) for place, _ in _archives(name))
    return f"without a network, put by hand: {places}, and run again"


def _write_marker(name: str, root: Path, files: list[Path], marker: Path) -> None:
    rows = [
        {
            "path": path.relative_to(root).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": _digest(path, "sha256"),
        }
        for path in files
    ]
    write_text(marker, json.dumps({"dataset": name, "files": rows}, indent=2) + "\n")


def _files_of(name: str, root: Path) -> list[Path]:
    root.mkdir(parents=True, exist_ok=True)
    if _problem_with(name, root):
        _download(name, root)
    folder = root / SOURCES[name].folder
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _download(name: str, root: Path) -> None:
    workplace = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
    folder = SOURCES[name].folder
    try:
        _take_given(name, root, workplace)
        with _network_timeout():
            torchvision_class(name)(workplace, download=True)
        if problem := _problem_with(name, workplace):
            raise DatasetError(problem)
        if (root / folder).exists():
            # What failed the verification goes away with the workplace.
            (root / folder).rename(workplace / "replaced")
        (workplace / folder).rename(root / folder)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


@contextmanager
def _network_timeout() -> Iterator[None]:
    """Bounds each wait for the network: torchvision itself would wait without end."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _problem_with(name: str, root: Path) -> str | None:
    """What is wrong with the dataset's files under `root`; None when nothing is.

    CIFAR: torchvision compares the md5 of every file. The MNIST family: each unpacked file must
    have its known md5, or be what a .gz with torchvision's md5 beside it holds. All: the images
    must load, in the right number.
    """
    known = UNPACKED_MD5.get(name, {})
    for place, md5 in _archives(name):
        packed, unpacked = root / place, (root / place).with_suffix("")
        if unpacked.name not in known:
            continue
        if not unpacked.is_file():
            return f"{unpacked} is missing"
        if _digest(unpacked, "md5") == known[unpacked.name]:
            continue
        whole = packed.is_file() and _digest(packed, "md5") == md5
        if not whole or _unpacked(packed) != unpacked.read_bytes():
            return f"{unpacked} has the wrong md5"
    try:
        open_source(name, root)
    except UnreadableSourceError as error:
        return str(error)
    return None


def _archives(name: str) -> list[tuple[str, str]]:
    """Place under the root and md5 of each archive that torchvision downloads for a dataset."""
    kind = torchvision_class(name)
    if hasattr(kind, "tgz_md5"):
        return [(kind.filename, kind.tgz_md5)]
    raw = f"{SOURCES[name].folder}/raw"
    return [(f"{raw}/{file}", md5) for file, md5 in kind.resources]


def _take_given(name: str, root: Path, workplace: Path) -> None:
    """Puts whole files found under `root` where torchvision looks for them in `workplace`.

    An archive may lie in its place, in a folder `raw`, or in `root` itself. One of the MNIST
    family may be unpacked, or packed anew and so of another md5: what it holds is compared.
    """
    for place, md5 in _archives(name):
        target = workplace / place
        target.parent.mkdir(parents=True, exist_ok=True)
        for folder in ((root / place).parent, root / "raw", root):
            for given in (folder / target.name, folder / target.stem):
                if given.is_file():
                    _take(given, target, md5, UNPACKED_MD5.get(name, {}).get(target.stem))


def _take(given: Path, target: Path, md5: str, unpacked_md5: str | None) -> None:
    if _digest(given, "md5") == md5:
        shutil.copyfile(given, target)
    elif unpacked_md5:
        content = _unpacked(given) if given.suffix == ".gz" else given.read_bytes()
        if content and hashlib.md5(content, usedforsecurity=False).hexdigest() == unpacked_md5:
            target.with_suffix("").write_bytes(content)


def _unpacked(packed: Path) -> bytes | None:
    try:
        return gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()
