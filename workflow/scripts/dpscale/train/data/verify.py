"""Verifying the files of a downloaded dataset by checksums, counts and sizes."""

import gzip
import hashlib
import shutil
import zlib
from pathlib import Path

from dpscale.train.data.sources import (
    SOURCES,
    UnreadableSourceError,
    open_source,
    torchvision_class,
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


def problem_with(name: str, root: Path) -> str | None:
    """What is wrong with the dataset's files under `root`; None when nothing is.

    CIFAR: torchvision compares the md5 of every file. The MNIST family: each unpacked file must
    have its known md5, or be what a .gz with torchvision's md5 beside it holds. All: the images
    must load, in the right number.
    """
    known = UNPACKED_MD5.get(name, {})
    for place, md5 in archives(name):
        unpacked = (root / place).with_suffix("")
        if unpacked.name not in known:
            continue
        if not unpacked.is_file():
            return f"{unpacked} is missing"
        unpacked_right = _md5(unpacked) == known[unpacked.name]
        if not unpacked_right and not _is_unpacked_from(root / place, md5, unpacked):
            return f"{unpacked} has the wrong md5"
    try:
        open_source(name, root)
    except UnreadableSourceError as error:
        return str(error)
    return None


def archives(name: str) -> list[tuple[str, str]]:
    """Place under the root and md5 of each archive that torchvision downloads for a dataset."""
    kind = torchvision_class(name)
    if hasattr(kind, "tgz_md5"):
        return [(kind.filename, kind.tgz_md5)]
    raw = f"{SOURCES[name].folder}/raw"
    return [(f"{raw}/{file}", md5) for file, md5 in kind.resources]


def take_given(name: str, root: Path, workplace: Path) -> None:
    """Puts whole files found under `root` where torchvision looks for them in `workplace`.

    An archive may lie in its place, in a folder `raw`, or in `root` itself. One of the MNIST
    family may be unpacked, or packed anew and so of another md5: what it holds is compared.
    """
    for place, md5 in archives(name):
        target = workplace / place
        target.parent.mkdir(parents=True, exist_ok=True)
        for folder in ((root / place).parent, root / "raw", root):
            for given in (folder / target.name, folder / target.stem):
                if given.is_file():
                    _take(given, target, md5, UNPACKED_MD5.get(name, {}).get(target.stem))


def _take(given: Path, target: Path, md5: str, unpacked_md5: str | None) -> None:
    if _md5(given) == md5:
        shutil.copyfile(given, target)
        return
    if not unpacked_md5:
        return
    content = _unpacked(given) if given.suffix == ".gz" else given.read_bytes()
    if content and hashlib.md5(content, usedforsecurity=False).hexdigest() == unpacked_md5:
        target.with_suffix("").write_bytes(content)


def by_hand(name: str, root: Path) -> str:
    """The sentence that says which files to put where when there is no network."""
    places = " ".join(str(root / place) for place, _ in archives(name))
    return f"without a network, put by hand: {places}, and run again"


def _is_unpacked_from(packed: Path, md5: str, unpacked: Path) -> bool:
    if not packed.is_file() or _md5(packed) != md5:
        return False
    return _unpacked(packed) == unpacked.read_bytes()


def _unpacked(packed: Path) -> bytes | None:
    try:
        return gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
