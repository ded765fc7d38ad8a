"""Datasets as whole uint8 tensors, and the loaders that make batches of them."""

from dpscale.train.data.dataset import Dataset, DatasetError, Split
from dpscale.train.data.fetch import fetch_dataset
from dpscale.train.data.load import load_dataset
from dpscale.train.data.loaders import (
    Batch,
    BatchExceedsDatasetError,
    Loader,
    build_loader,
    evaluation_batches,
)

__all__ = [
    "Batch", "BatchExceedsDatasetError", "Dataset", "DatasetError", "Loader", "Split",
    "build_loader", "evaluation_batches", "fetch_dataset", "load_dataset",
]  # fmt: skip
