"""What a run trains: built-in images as whole uint8 tensors or a user's own, and their loaders."""

from dpscale.train.data.dataset import Dataset, DatasetError, Split
from dpscale.train.data.fetch import fetch_dataset
from dpscale.train.data.load import load_dataset, load_task
from dpscale.train.data.loaders import (
    BatchExceedsDatasetError,
    Loader,
    build_loader,
    evaluation_batches,
)
from dpscale.train.data.task import Batch, Task, entries, map_tensors, on_device, samples_of

__all__ = [
    "Batch",
    "BatchExceedsDatasetError",
    "Dataset",
    "DatasetError",
    "Loader",
    "Split",
    "Task",
    "build_loader",
    "entries",
    "evaluation_batches",
    "fetch_dataset",
    "load_dataset",
    "load_task",
    "map_tensors",
    "on_device",
    "samples_of",
]
