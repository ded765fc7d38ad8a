"""Both loaders: order, full batches, normalisation, and the distribution of the augmentation."""

from collections import Counter

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from dpscale.train.data import (
    BatchExceedsDatasetError,
    Dataset,
    DatasetError,
    Loader,
    Split,
    build_loader,
    evaluation_batches,
)
from dpscale.train.data.augmentation import AUGMENTATIONS, Augmentation

CPU = torch.device("cpu")
BOTH = pytest.mark.parametrize("loader", ["dataloader", "resident"])


def numbered(samples: int, *, size: int = 2, name: str = "digits") -> Dataset:
    """Images whose pixels all differ and are never 0; sample i has label i."""
    pixels = torch.arange(samples * size * size, dtype=torch.int64) % 250 + 1
    images = pixels.to(torch.uint8).view(samples, 1, size, size)
    split = Split(images, torch.arange(samples))
    return Dataset(name, split, split, split, samples, (0.5,), (0.25,))


def loader_of(dataset: Dataset, loader: str, **settings: object) -> Loader:
    arguments: dict = {"batch": 4, "workers": 1, "rank": 0, "seed": 0, "augment": False}
    return build_loader(dataset.train, dataset, loader=loader, device=CPU, **arguments | settings)


def labels_of(loader: Loader, epoch: int) -> list[int]:
    return [label for _, labels in loader.batches(epoch) for label in labels.tolist()]


@BOTH
def test_an_epoch_has_full_batches_only(loader) -> None:
    batches = list(loader_of(numbered(11), loader).batches(0))
    assert [len(labels) for _, labels in batches] == [4, 4]
    assert len(loader_of(numbered(11), loader)) == 2


@BOTH
def test_batches_take_the_samples_in_the_order_that_is_told(loader) -> None:
    made = loader_of(numbered(11), loader)
    assert labels_of(made, 3) == made.order(3).tolist()
    assert len(made.order(3)) == 8


def test_both_loaders_give_identical_tensors_without_augmentation() -> None:
    dataset = numbered(13)
    for epoch in (0, 1):
        one = list(loader_of(dataset, "dataloader").batches(epoch))
        two = list(loader_of(dataset, "resident").batches(epoch))
        assert len(one) == len(two) == 3
        for (images, labels), (other_images, other_labels) in zip(one, two, strict=True):
            assert torch.equal(images, other_images)
            assert torch.equal(labels, other_labels)


@BOTH
def test_images_are_normalised_by_the_mean_and_deviation_of_the_dataset(loader) -> None:
    images = torch.full((4, 1, 1, 1), 51, dtype=torch.uint8)
    split = Split(images, torch.zeros(4, dtype=torch.int64))
    dataset = Dataset("digits", split, split, split, 1, (0.5,), (0.1,))
    made, _ = next(iter(loader_of(dataset, loader).batches(0)))
    # (51 / 255 - 0.5) / 0.1
    assert made.flatten().tolist() == pytest.approx([-3.0] * 4)
    assert made.dtype == torch.float32


@BOTH
def test_workers_share_an_epoch_without_overlap_and_drop_what_is_left(loader) -> None:
    seen = [labels_of(loader_of(numbered(17), loader, workers=2, rank=r), 0) for r in (0, 1)]
    assert [len(samples) for samples in seen] == [8, 8]
    assert len({*seen[0], *seen[1]}) == 16


@BOTH
def test_the_order_changes_with_the_epoch(loader) -> None:
    made = loader_of(numbered(16), loader)
    assert labels_of(made, 0) != labels_of(made, 1)
    assert sorted(labels_of(made, 0)) == sorted(labels_of(made, 1)) == list(range(16))


@BOTH
def test_without_set_epoch_every_epoch_has_the_order_of_the_first(loader) -> None:
    made = loader_of(numbered(16), loader, set_epoch=False)
    assert labels_of(made, 0) == labels_of(made, 5)
    assert made.order(0).tolist() == made.order(5).tolist()
    assert labels_of(made, 0) == labels_of(loader_of(numbered(16), loader), 0)


def test_the_order_depends_on_the_seed() -> None:
    one, two = (loader_of(numbered(16), "resident", seed=seed).order(0) for seed in (0, 1))
    assert one.tolist() != two.tolist()


@BOTH
def test_a_batch_larger_than_a_workers_share_is_an_error(loader) -> None:
    with pytest.raises(BatchExceedsDatasetError, match="batch 6 exceeds the 5 samples"):
        loader_of(numbered(11), loader, batch=6, workers=2)


def test_an_unknown_loader_is_named() -> None:
    with pytest.raises(DatasetError, match=r"data\.loader: 'residnt'"):
        loader_of(numbered(8), "residnt")


def outcomes(image: Tensor, augmentation: Augmentation) -> dict[bytes, int]:
    """Every crop and flip of one image [1, h, w], numbered, written out by plain slicing."""
    size, pad = image.shape[-1], augmentation.pad
    padded = torch.zeros(1, size + 2 * pad, size + 2 * pad, dtype=torch.uint8)
    padded[:, pad : pad + size, pad : pad + size] = image
    crops = [
        padded[:, top : top + size, left : left + size]
        for top in range(2 * pad + 1)
        for left in range(2 * pad + 1)
    ]
    if augmentation.flip:
        crops += [crop.flip(2) for crop in crops]
    return {crop.contiguous().numpy().tobytes(): n for n, crop in enumerate(crops)}


@BOTH
@pytest.mark.parametrize("flip", [True, False])
def test_every_crop_and_flip_of_every_sample_is_equally_likely(loader, flip, monkeypatch) -> None:
    augmentation = Augmentation(pad=1, flip=flip)
    monkeypatch.setitem(AUGMENTATIONS, "synthetic", augmentation)
    dataset = numbered(4, size=4, name="synthetic")
    known = [outcomes(image, augmentation) for image in dataset.train.images]
    assert [len(crops) for crops in known] == [18 if flip else 9] * 4
    made = loader_of(dataset, loader, augment=True)
    counts: list[Counter[int]] = [Counter() for _ in known]
    for epoch in range(500):
        for images, labels in made.batches(epoch):
            pixels = (images * 0.25 * 255 + 0.5 * 255).round().to(torch.uint8)
            for crop, label in zip(pixels, labels.tolist(), strict=True):
                counts[label][known[label][crop.numpy().tobytes()]] += 1
    for sample, crops in enumerate(known):
        seen = [counts[sample][n] for n in range(len(crops))]
        assert sum(seen) == 500
        assert chisquare(seen).pvalue > 1e-3


def test_colour_channels_are_cropped_and_flipped_together() -> None:
    image = torch.arange(1, 26, dtype=torch.uint8).view(1, 1, 5, 5).expand(4, 3, 5, 5)
    split = Split(image.contiguous(), torch.zeros(4, dtype=torch.int64))
    dataset = Dataset("cifar10", split, split, split, 1, (0.0,) * 3, (1.0,) * 3)
    for images, _ in loader_of(dataset, "resident", augment=True).batches(0):
        assert torch.equal(images[:, 0], images[:, 1])
        assert torch.equal(images[:, 0], images[:, 2])


@BOTH
def test_crops_repeat_with_the_seed_and_differ_between_epochs_and_workers(loader) -> None:
    def images(epoch: int, rank: int) -> Tensor:
        # One image many times over: only the augmentation can tell batches apart.
        same = numbered(1, size=8)
        split = Split(same.train.images.repeat(64, 1, 1, 1), torch.zeros(64, dtype=torch.int64))
        dataset = Dataset("mnist", split, split, split, 1, (0.5,), (0.5,))
        made = loader_of(dataset, loader, batch=32, workers=2, rank=rank, augment=True)
        return torch.cat([batch for batch, _ in made.batches(epoch)])

    assert torch.equal(images(0, 0), images(0, 0))
    assert not torch.equal(images(0, 0), images(1, 0))
    assert not torch.equal(images(0, 0), images(0, 1))


@BOTH
def test_each_image_of_a_batch_is_cropped_for_itself(loader) -> None:
    image = numbered(1, size=8).train.images
    split = Split(image.repeat(64, 1, 1, 1), torch.zeros(64, dtype=torch.int64))
    dataset = Dataset("mnist", split, split, split, 1, (0.5,), (0.5,))
    images, _ = next(iter(loader_of(dataset, loader, batch=64, augment=True).batches(0)))
    # 64 draws of 81 crops: 44 distinct ones are expected.
    assert len({crop.numpy().tobytes() for crop in images}) > 30


@BOTH
def test_loading_leaves_the_random_numbers_of_the_training_alone(loader) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    list(loader_of(numbered(12, size=8), loader, augment=True).batches(0))
    assert torch.equal(torch.rand(3), expected)


def test_loader_processes_give_the_batches_of_the_main_process() -> None:
    dataset = numbered(12)
    made = loader_of(dataset, "dataloader", loader_workers=1)
    assert labels_of(made, 1) == labels_of(loader_of(dataset, "dataloader"), 1)


def test_loader_processes_repeat_their_crops_with_the_seed() -> None:
    def images() -> Tensor:
        made = loader_of(
            numbered(1, size=8, name="mnist"), "dataloader", batch=1, augment=True, loader_workers=1
        )
        return torch.cat([batch for epoch in range(4) for batch, _ in made.batches(epoch)])

    assert torch.equal(images(), images())
    assert not torch.equal(images()[0], images()[1])


def test_evaluating_an_empty_split_gives_no_batch() -> None:
    dataset = numbered(10)
    empty = dataset.test.select(torch.arange(0))
    assert list(evaluation_batches(empty, dataset, 4, CPU)) == []


def test_evaluation_takes_every_sample_once_in_order() -> None:
    dataset = numbered(10)
    batches = list(evaluation_batches(dataset.test, dataset, 4, CPU))
    assert [labels.tolist() for _, labels in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    # The first pixel is 1: (1 / 255 - 0.5) / 0.25
    assert batches[0][0][0, 0, 0, 0].item() == pytest.approx(-1.984314)


def test_digits_are_shifted_by_a_pixel_and_never_mirrored() -> None:
    assert AUGMENTATIONS["digits"] == Augmentation(pad=1, flip=False)
    assert AUGMENTATIONS["mnist"].flip is False
    assert AUGMENTATIONS["cifar10"] == Augmentation(pad=4, flip=True)
