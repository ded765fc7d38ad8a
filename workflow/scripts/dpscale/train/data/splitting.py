"""Setting samples apart, stratified: each class keeps its share in both parts."""

import math

import torch
from torch import Tensor

from dpscale.train.data.dataset import DatasetError, Split


def held_out_samples(samples: int, frac: float) -> int:
    """Samples set apart from `samples`: their share, rounded up."""
    return math.ceil(samples * frac)


def set_apart(split: Split, frac: float, *, seed: int) -> tuple[Split, Split]:
    """The split without, and the split of, a stratified share of its samples.

    The choice depends on `seed` alone; within each part samples keep their first order. Raises
    DatasetError when the share is too small to hold a sample of each class.
    """
    held_out = held_out_samples(len(split), frac)
    everything = torch.arange(len(split))
    if held_out == 0:
        return split, split.select(everything[:0])
    kept_indices, held_out_indices = _stratified_indices(split.labels, held_out, seed=seed)
    return split.select(kept_indices), split.select(held_out_indices)


def _stratified_indices(labels: Tensor, held_out: int, *, seed: int) -> tuple[Tensor, Tensor]:
    from sklearn.model_selection import train_test_split

    try:
        kept, apart = train_test_split(
            torch.arange(len(labels)).numpy(),
            test_size=held_out,
            stratify=labels.numpy(),
            random_state=seed,
        )
    except ValueError as error:
        message = f"cannot set {held_out} of {len(labels)} training images apart: {error}"
        raise DatasetError(f"{message} (data.validation_frac)") from error
    return torch.from_numpy(kept).sort().values, torch.from_numpy(apart).sort().values
