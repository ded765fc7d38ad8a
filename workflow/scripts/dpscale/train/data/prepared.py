"""A dataset kept ready as one file, so that a run does not read, split and import anew.

Every worker of every run loads the dataset; reading digits through scikit-learn takes a second
of it, reading CIFAR-10 through torchvision several. The file's name holds a digest of what decides
its content.
"""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from dpscale.train.data.dataset import Dataset, Split

if TYPE_CHECKING:
    from dpscale.config.sections import DataConfig

_FORMAT = 1  # raised when reading or splitting a dataset changes
_SPLITS = ("train", "validation", "test")
# An image folder is the user's and may change without its name changing.
_NEVER = ("image_folder", "synthetic")


def prepared_file(data: "DataConfig", split_seed: int) -> Path | None:
    """Where the prepared dataset lies; None for a dataset that is never kept."""
    if data.dataset in _NEVER:
        return None
    key = json.dumps([_FORMAT, data.dataset, data.validation_frac, split_seed])
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    return Path(data.root) / "prepared" / f"{data.dataset}-{digest}.npz"


def read_prepared(path: Path) -> Dataset | None:
    """The dataset in a file; None where the file is missing or damaged."""
    try:
        with np.load(path) as arrays:
            splits = {
                name: Split(
                    torch.from_numpy(arrays[f"{name}_images"]),
                    torch.from_numpy(arrays[f"{name}_labels"]),
                )
                for name in _SPLITS
            }
            return Dataset(
                str(arrays["name"]),
                classes=int(arrays["classes"]),
                mean=tuple(arrays["mean"].tolist()),
                std=tuple(arrays["std"].tolist()),
                **splits,
            )
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def write_prepared(path: Path, dataset: Dataset) -> None:
    """Keep a dataset, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        f"{name}_{part}": getattr(getattr(dataset, name), part).numpy()
        for name in _SPLITS
        for part in ("images", "labels")
    }
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    try:
        np.savez(
            temporary,
            name=dataset.name,
            classes=dataset.classes,
            mean=np.array(dataset.mean),
            std=np.array(dataset.std),
            **arrays,
        )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
