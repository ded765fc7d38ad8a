"""From the configuration's data section to a dataset in memory.

What was read once is kept ready as one file, whose name holds a digest of what decides its content:
every worker of every run loads the dataset, and reading digits through scikit-learn takes a second
of it, reading CIFAR-10 through torchvision several.
"""

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dpscale.config.sections import DataConfig
from dpscale.files import whole
from dpscale.plan import Spec
from dpscale.train.data.dataset import Dataset, DatasetError, Split, channel_statistics, set_apart
from dpscale.train.data.own import OwnTask
from dpscale.train.data.sources import make_synthetic, read_digits, read_image_folder, read_source
from dpscale.train.data.task import Task

_FORMAT = 1  # raised when reading or splitting a dataset changes
_SPLITS, _PARTS = ("train", "validation", "test"), ("images", "labels")
# Never kept ready: an image folder is the user's and may change without its name changing.
_READ_ANEW = ("image_folder", "synthetic")


def load_task(spec: Spec) -> Task:
    """What the spec trains; raises DatasetError where its samples or its file cannot be used."""
    return OwnTask(spec.own, repeats=spec.data.repeats) if spec.own else load_dataset(spec.data)


def load_dataset(data: DataConfig, *, split_seed: int = 0) -> Dataset:
    """The dataset that the data section names, whole in memory as uint8.

    Validation images are a stratified share `data.validation_frac` of the training images,
    chosen by `split_seed`; they are never in the train split. Test images depend on neither. The
    train split is repeated `data.repeats` times (timing only); mean and std are of the train
    split. What was read once is kept prepared under `data.root`. Raises DatasetError when the
    files are missing or unreadable.
    """
    path = None if data.dataset in _READ_ANEW else _prepared_file(data, split_seed)
    dataset = _read_prepared(path) if path else None
    if dataset is None:
        train, validation, test, classes = _read_parts(data, split_seed)
        mean, std = channel_statistics(train.images)
        dataset = Dataset(data.dataset, train, validation, test, classes, mean, std)
        if path:
            _write_prepared(path, dataset)
    return replace(dataset, train=dataset.train.repeated(data.repeats))


def _read_parts(data: DataConfig, split_seed: int) -> tuple[Split, Split, Split, int]:
    """Train, validation and test split, and the number of classes."""
    if data.dataset == "synthetic":
        shape = {name: _needed(data, name) for name in ("samples", "channels", "image_size")}
        classes = _needed(data, "classes")
        splits = make_synthetic(**shape, classes=classes, validation_frac=data.validation_frac)
        return *splits, classes
    validation: Split | None = None
    root = Path(data.root).expanduser()
    if data.dataset == "digits":
        train, test, classes = read_digits()
    elif data.dataset == "image_folder":
        size = _needed(data, "image_size")
        train, validation, test, classes = read_image_folder(root, image_size=size)
    else:
        train, test, classes = read_source(data.dataset, root)
    if validation is None:
        train, validation = set_apart(train, data.validation_frac, seed=split_seed)
    return train, validation, test, classes


def _needed(data: DataConfig, key: str) -> int:
    value = getattr(data, key)
    if value is None:
        raise DatasetError(f"data.{key} is null, and data.dataset {data.dataset} needs it")
    return int(value)


def _prepared_file(data: DataConfig, split_seed: int) -> Path:
    key = json.dumps([_FORMAT, data.dataset, data.validation_frac, split_seed])
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    return Path(data.root) / "prepared" / f"{data.dataset}-{digest}.npz"


def _read_prepared(path: Path) -> Dataset | None:
    """The dataset in a file; None where the file is missing or damaged."""
    try:
        with np.load(path) as arrays:
            train, validation, test = (
                Split(*(torch.from_numpy(arrays[f"{name}_{part}"]) for part in _PARTS))
                for name in _SPLITS
            )
            name, classes = str(arrays["name"]), int(arrays["classes"])
            mean, std = tuple(arrays["mean"].tolist()), tuple(arrays["std"].tolist())
            return Dataset(name, train, validation, test, classes, mean, std)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _write_prepared(path: Path, dataset: Dataset) -> None:
    arrays: dict[str, Any] = {
        f"{name}_{part}": getattr(getattr(dataset, name), part).numpy()
        for name in _SPLITS
        for part in _PARTS
    }
    arrays |= {name: getattr(dataset, name) for name in ("name", "classes", "mean", "std")}
    with whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
