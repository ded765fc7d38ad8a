"""From the configuration's data section to a dataset in memory."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpscale.train.data.dataset import Dataset, DatasetError, Split, channel_statistics
from dpscale.train.data.digits import read_digits
from dpscale.train.data.image_folder import read_image_folder
from dpscale.train.data.prepared import prepared_file, read_prepared, write_prepared
from dpscale.train.data.sources import SOURCES, read_source
from dpscale.train.data.splitting import set_apart
from dpscale.train.data.synthetic import make_synthetic

if TYPE_CHECKING:
    from dpscale.config.sections import DataConfig

_Parts = tuple[Split, Split, Split, int]


def load_dataset(data: "DataConfig", *, split_seed: int = 0) -> Dataset:
    """The dataset that the data section names, whole in memory as uint8.

    Validation images are a stratified share `data.validation_frac` of the training images,
    chosen by `split_seed`; they are never in the train split. Test images depend on neither. The
    train split is repeated `data.repeats` times (timing only); mean and std are of the train
    split. What was read once is kept prepared under `data.root`. Raises DatasetError when the
    files are missing or unreadable.
    """
    path = prepared_file(data, split_seed)
    dataset = read_prepared(path) if path else None
    if dataset is None:
        train, validation, test, classes = _read_parts(data, split_seed=split_seed)
        mean, std = channel_statistics(train.images)
        dataset = Dataset(data.dataset, train, validation, test, classes, mean, std)
        if path:
            write_prepared(path, dataset)
    return replace(dataset, train=dataset.train.repeated(data.repeats))


def _read_parts(data: "DataConfig", *, split_seed: int) -> _Parts:
    if data.dataset == "synthetic":
        return _synthetic_parts(data)
    validation: Split | None = None
    root = Path(data.root).expanduser()
    if data.dataset == "digits":
        train, test, classes = read_digits()
    elif data.dataset == "image_folder":
        size = _needed(data, "image_size")
        train, validation, test, classes = read_image_folder(root, image_size=size)
    elif data.dataset in SOURCES:
        train, test, classes = read_source(data.dataset, root)
    else:
        raise DatasetError(f"data.dataset: {data.dataset!r} is not a known dataset")
    if validation is None:
        train, validation = set_apart(train, data.validation_frac, seed=split_seed)
    return train, validation, test, classes


def _synthetic_parts(data: "DataConfig") -> _Parts:
    classes = _needed(data, "classes")
    splits = make_synthetic(
        samples=_needed(data, "samples"),
        channels=_needed(data, "channels"),
        image_size=_needed(data, "image_size"),
        classes=classes,
        validation_frac=data.validation_frac,
    )
    return *splits, classes


def _needed(data: "DataConfig", key: str) -> int:
    value = getattr(data, key)
    if value is None:
        raise DatasetError(f"data.{key} is null, and data.dataset {data.dataset} needs it")
    return int(value)
