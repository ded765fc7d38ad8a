"""Fetching: verified or not at all. A tiny MNIST is served from this machine itself."""

import gzip
import hashlib
import json
import pickle
import shutil
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import fetch_dataset as script
from dpscale.config.sections import DataConfig
from dpscale.train.data import DatasetError, fetch_dataset, load_dataset
from dpscale.train.data.fetch import UNPACKED_MD5
from dpscale.train.data.sources import SOURCES, Source

RAW = "MNIST/raw"


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def write_idx(path: Path, values: np.ndarray) -> None:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes(), mtime=0))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that torchvision takes for MNIST's only mirror: 20 training and 10 test images."""
    folder = tmp_path / "server"
    folder.mkdir()
    for part, count in (("train", 20), ("t10k", 10)):
        pixels = np.arange(count * 784).reshape(count, 28, 28) % 256
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", pixels)
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", np.arange(count) % 2)
    files = sorted(folder.glob("*.gz"))
    monkeypatch.setattr(
        "torchvision.datasets.MNIST.resources", [(path.name, md5(path)) for path in files]
    )
    monkeypatch.setitem(SOURCES, "mnist", Source("MNIST", "MNIST", 20, 10, 2))
    unpacked = {path.stem: gzip.decompress(path.read_bytes()) for path in files}
    known = {file: hashlib.md5(content).hexdigest() for file, content in unpacked.items()}
    monkeypatch.setitem(UNPACKED_MD5, "mnist", known)
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{http_server.server_port}/"
        monkeypatch.setattr("torchvision.datasets.MNIST.mirrors", [url])
        yield folder
        http_server.shutdown()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


def fetch(root: Path, name: str = "mnist") -> Path:
    fetch_dataset(name, root, root / f"{name}.json")
    return root / f"{name}.json"


@pytest.fixture
def offline(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be downloaded any more."""
    monkeypatch.setattr("torchvision.datasets.MNIST.mirrors", ["file:///nowhere/"])


def put_by_hand(server: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in server.glob("*.gz"):
        (folder / path.name).write_bytes(path.read_bytes())


def test_a_download_is_renamed_into_place_and_leaves_nothing_beside(server, root) -> None:
    fetch(root)
    assert sorted(path.name for path in root.iterdir()) == ["MNIST", "mnist.json"]


def test_the_marker_lists_every_file_with_its_bytes_and_sha256(server, root) -> None:
    marker = json.loads(fetch(root).read_text())
    assert marker["dataset"] == "mnist"
    assert len(marker["files"]) == 8
    entry = next(f for f in marker["files"] if f["path"].endswith("t10k-labels-idx1-ubyte"))
    # 8 bytes of head, then the labels 0 1 0 1 0 1 0 1 0 1.
    content = bytes([0, 0, 8, 1, 0, 0, 0, 10]) + bytes([0, 1] * 5)
    assert entry == {
        "path": f"{RAW}/t10k-labels-idx1-ubyte",
        "bytes": 18,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def test_what_was_fetched_can_be_loaded(server, root) -> None:
    fetch(root)
    dataset = load_dataset(DataConfig(dataset="mnist", root=str(root)))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (18, 2, 10)
    assert dataset.image_shape == (1, 28, 28)
    assert dataset.test.images[0, 0, 0, :3].tolist() == [0, 1, 2]


def packed_anew(packed: Path) -> None:
    packed.write_bytes(gzip.compress(gzip.decompress(packed.read_bytes()), 1, mtime=1))


def unpacked(packed: Path) -> None:
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()


@pytest.mark.parametrize(
    ("folder", "change", "files"),
    [
        (RAW, Path.exists, 8),
        (".", Path.exists, 8),
        (RAW, packed_anew, 4),
        *((folder, unpacked, 4) for folder in (RAW, "raw", ".")),
    ],
)
def test_files_put_by_hand_are_taken_without_a_network(
    server, root, offline, folder, change, files
) -> None:
    put_by_hand(server, root / folder)
    for packed in (root / folder).glob("*.gz"):
        change(packed)
    assert len(json.loads(fetch(root).read_text())["files"]) == files


def test_an_unpacked_file_with_one_changed_byte_is_not_taken(server, root, offline) -> None:
    put_by_hand(server, root / RAW)
    for packed in (root / RAW).glob("*.gz"):
        unpacked(packed)
    images = root / RAW / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1] + b"!")
    with pytest.raises(DatasetError, match="put by hand"):
        fetch(root)


def test_a_whole_archive_is_right_even_where_the_unpacked_md5_is_not_known(
    server, root, monkeypatch
) -> None:
    monkeypatch.setitem(UNPACKED_MD5, "mnist", dict.fromkeys(UNPACKED_MD5["mnist"], "unknown"))
    assert fetch(root).exists()


def test_an_unpacked_file_cut_short_is_replaced(server, root) -> None:
    fetch(root).unlink()
    images = root / RAW / "train-images-idx3-ubyte"
    whole = images.read_bytes()
    images.write_bytes(whole[:5000])
    fetch(root)
    assert images.read_bytes() == whole


def test_a_corrupt_file_without_a_network_is_an_error_and_leaves_no_marker(
    server, root, offline
) -> None:
    put_by_hand(server, root / RAW)
    packed = root / RAW / "train-images-idx3-ubyte.gz"
    packed.write_bytes(packed.read_bytes()[:-10])
    with pytest.raises(DatasetError):
        fetch(root)
    assert not (root / "mnist.json").exists()
    assert packed.exists()


def test_a_corrupt_download_is_never_taken(server, root) -> None:
    served = server / "train-labels-idx1-ubyte.gz"
    served.write_bytes(served.read_bytes() + b"x")
    with pytest.raises(DatasetError, match="mnist could not be fetched"):
        fetch(root)
    assert list(root.iterdir()) == []


def test_a_wrong_number_of_images_is_never_taken(server, root, monkeypatch) -> None:
    monkeypatch.setitem(SOURCES, "mnist", Source("MNIST", "MNIST", 21, 10, 2))
    with pytest.raises(DatasetError, match="20 training images and 20 labels instead of 21"):
        fetch(root)
    assert list(root.iterdir()) == []


def test_an_interrupted_download_leaves_nothing(server, root, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("torchvision.datasets.utils.extract_archive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(root)
    assert list(root.iterdir()) == []


def test_a_failure_is_one_line_that_says_where_to_put_the_files(root, offline) -> None:
    with pytest.raises(DatasetError) as caught:
        fetch(root)
    message = str(caught.value)
    assert "\n" not in message
    assert f"put by hand: {root}/{RAW}/t10k-images-idx3-ubyte.gz" in message


@pytest.fixture
def cifar_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CIFAR-10 with one training batch of 6 images and a test batch of 4, packed as a tar.gz."""
    from torchvision.datasets import CIFAR10  # seconds, of the process alone that needs it

    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for file, count in (("data_batch_1", 6), ("test_batch", 4)):
        pixels = np.arange(count * 3072, dtype=np.uint32).reshape(count, 3072).astype(np.uint8)
        labels = [n % 2 for n in range(count)]
        (folder / file).write_bytes(pickle.dumps({"data": pixels, "labels": labels}))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["a", "b"]}))
    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    for key, file in (("train_list", "data_batch_1"), ("test_list", "test_batch")):
        monkeypatch.setattr(CIFAR10, key, [[file, md5(folder / file)]])
    meta = {**CIFAR10.meta, "md5": md5(folder / "batches.meta")}
    monkeypatch.setattr(CIFAR10, "meta", meta)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(archive))
    monkeypatch.setattr(CIFAR10, "url", "file:///nowhere/cifar-10-python.tar.gz")
    monkeypatch.setitem(SOURCES, "cifar10", Source("CIFAR10", folder.name, 6, 4, 2))
    return archive


def test_a_cifar_archive_put_by_hand_is_unpacked_without_a_network(cifar_server, root) -> None:
    root.mkdir()
    (root / cifar_server.name).write_bytes(cifar_server.read_bytes())
    fetch(root, "cifar10")
    dataset = load_dataset(DataConfig(dataset="cifar10", root=str(root), validation_frac=0.4))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (3, 3, 4)
    # Stored as 1,024 reds, then greens, then blues of one image.
    assert dataset.test.images[0, :, 0, 1].tolist() == [1, 1, 1]
    assert dataset.test.images[0, :, 1, 0].tolist() == [32, 32, 32]


def test_a_changed_cifar_file_is_not_taken(cifar_server, root) -> None:
    root.mkdir()
    shutil.unpack_archive(cifar_server, root)
    assert fetch(root, "cifar10").exists()
    (root / "cifar10.json").unlink()
    (root / "cifar-10-batches-py" / "test_batch").write_bytes(b"changed")
    with pytest.raises(DatasetError, match=r"put by hand: .*cifar-10-python\.tar\.gz"):
        fetch(root, "cifar10")


def test_digits_need_no_fetching(root) -> None:
    marker = fetch(root, "digits")
    assert json.loads(marker.read_text()) == {"dataset": "digits", "files": []}


def test_an_unknown_dataset_is_told_with_the_known_ones(root) -> None:
    with pytest.raises(DatasetError, match="'cifra10' is not one of cifar10"):
        fetch(root, "cifra10")


def test_the_script_ends_with_1_and_one_line_when_it_fails(root, offline, capsys) -> None:
    assert script.main(["--dataset", "mnist", "--root", str(root)]) == 1
    assert capsys.readouterr().err.startswith("error: mnist could not be fetched")


def test_the_script_writes_the_marker_into_the_root(server, root) -> None:
    assert script.main(["--dataset", "mnist", "--root", str(root)]) == 0
    assert (root / "mnist.json").exists()
