"""Datasets: what is read, how it is split, what the statistics are, which errors are named."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

from dpscale.config.sections import DataConfig
from dpscale.train.data import Dataset, DatasetError, Split, load_dataset
from dpscale.train.data.dataset import channel_statistics, set_apart

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


@pytest.fixture(autouse=True)
def nothing_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Datasets are read anew in each test: none lies prepared under the default root."""
    monkeypatch.chdir(tmp_path)


def digits(**settings: object) -> Dataset:
    return load_dataset(DataConfig(dataset="digits", **settings))


def rows(split: Split) -> set[bytes]:
    return {image.numpy().tobytes() for image in split.images}


def test_digits_are_split_into_1293_training_144_validation_and_360_test_images() -> None:
    dataset = digits()
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (1293, 144, 360)
    assert dataset.classes == 10
    assert dataset.image_shape == (1, 8, 8)
    assert dataset.train.images.dtype == torch.uint8
    assert dataset.train.labels.dtype == torch.int64


def test_digits_levels_0_to_16_become_0_to_255() -> None:
    # The first image of scikit-learn's digits begins 0 0 5 13 9 1 0 0; each times 255 / 16.
    expected = bytes([0, 0, 80, 207, 143, 16, 0, 0])
    dataset = digits()
    images = rows(dataset.train) | rows(dataset.validation) | rows(dataset.test)
    assert any(image.startswith(expected) for image in images)
    assert max(max(image) for image in images) == 255


def test_splits_of_digits_share_no_image() -> None:
    dataset = digits()
    train, validation, test = map(rows, (dataset.train, dataset.validation, dataset.test))
    assert not train & validation
    assert not train & test
    assert not validation & test


def test_every_class_keeps_its_share_in_the_test_split_of_digits() -> None:
    # 178 182 177 183 181 182 181 179 174 180 images of 0..9, a fifth of each.
    counts = digits().test.labels.bincount().tolist()
    assert counts == [36, 36, 35, 37, 36, 37, 36, 36, 35, 36]


def test_split_seed_moves_the_validation_images_but_not_the_test_images() -> None:
    config = DataConfig(dataset="digits")
    one, two = load_dataset(config, split_seed=1), load_dataset(config, split_seed=2)
    assert rows(one.validation) != rows(two.validation)
    assert torch.equal(one.test.images, two.test.images)


def test_the_same_split_seed_gives_the_same_splits() -> None:
    config = DataConfig(dataset="digits")
    one, two = load_dataset(config, split_seed=3), load_dataset(config, split_seed=3)
    assert torch.equal(one.train.images, two.train.images)
    assert torch.equal(one.validation.labels, two.validation.labels)


def test_repeats_copy_only_the_training_images() -> None:
    once, thrice = digits(), digits(repeats=3)
    assert torch.equal(thrice.train.images, torch.cat([once.train.images] * 3))
    assert torch.equal(thrice.train.labels, torch.cat([once.train.labels] * 3))
    assert len(thrice.test) == 360
    assert thrice.mean == once.mean


def test_no_validation_share_leaves_every_training_image_in_train() -> None:
    dataset = digits(validation_frac=0.0)
    assert (len(dataset.train), len(dataset.validation)) == (1437, 0)


def test_setting_apart_takes_the_same_share_of_each_class() -> None:
    labels = torch.tensor([0] * 6 + [1] * 4)
    split = Split(torch.arange(10, dtype=torch.uint8).view(10, 1, 1, 1), labels)
    kept, apart = set_apart(split, 0.5, seed=0)
    assert kept.labels.tolist() == [0, 0, 0, 1, 1]
    assert apart.labels.tolist() == [0, 0, 0, 1, 1]
    assert sorted([*kept.images.flatten().tolist(), *apart.images.flatten().tolist()]) == list(
        range(10)
    )


def test_a_validation_share_too_small_for_the_classes_names_the_key() -> None:
    split = Split(torch.zeros(10, 1, 1, 1, dtype=torch.uint8), torch.arange(5).repeat(2))
    with pytest.raises(DatasetError, match=r"cannot set 1 of 10 .*data\.validation_frac"):
        set_apart(split, 0.1, seed=0)


def test_statistics_of_0_and_255_are_a_half_and_a_half_per_channel() -> None:
    images = torch.tensor([[0, 255], [51, 51]], dtype=torch.uint8).view(1, 2, 1, 2)
    mean, std = channel_statistics(images)
    assert mean == pytest.approx((0.5, 0.2))
    # The second channel never changes: one grey level, 1/255.
    assert std == pytest.approx((0.5, 1 / 255))


def test_statistics_are_those_of_the_train_split() -> None:
    dataset = digits()
    assert dataset.mean[0] == pytest.approx(dataset.train.images.double().mean().item() / 255)
    assert dataset.mean[0] != pytest.approx(dataset.test.images.double().mean().item() / 255)


def test_synthetic_has_the_samples_shape_and_classes_asked_for() -> None:
    config = DataConfig(dataset="synthetic", samples=40, channels=3, image_size=5, classes=4)
    dataset = load_dataset(config)
    assert dataset.train.images.shape == (40, 3, 5, 5)
    assert (len(dataset.validation), len(dataset.test)) == (4, 8)
    assert set(dataset.train.labels.tolist()) == {0, 1, 2, 3}
    assert torch.equal(load_dataset(config).train.images, dataset.train.images)


def test_synthetic_without_samples_names_the_key() -> None:
    config = DataConfig(dataset="synthetic", channels=3, image_size=5, classes=4)
    with pytest.raises(DatasetError, match=r"data\.samples is null"):
        load_dataset(config)


def test_a_missing_dataset_names_the_rule_and_the_command_that_download_it(tmp_path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset(DataConfig(dataset="cifar10", root=str(tmp_path)))
    message = str(caught.value)
    assert f"snakemake {tmp_path}/cifar10.json" in message
    assert f"fetch_dataset.py --dataset cifar10 --root {tmp_path}" in message


def image_folder(root: Path) -> DataConfig:
    for split, images in (("train", 4), ("test", 2)):
        for name, colour in (("cat", (255, 0, 0)), ("dog", (0, 0, 255))):
            folder = root / split / name
            folder.mkdir(parents=True)
            for number in range(images):
                Image.new("RGB", (6, 4), colour).save(folder / f"{number}.png")
    return DataConfig(dataset="image_folder", root=str(root), image_size=3, validation_frac=0.25)


def test_image_folder_is_resized_to_uint8_with_classes_in_alphabetical_order(tmp_path) -> None:
    dataset = load_dataset(image_folder(tmp_path))
    assert dataset.train.images.shape == (6, 3, 3, 3)
    assert (len(dataset.validation), len(dataset.test)) == (2, 4)
    assert dataset.test.labels.tolist() == [0, 0, 1, 1]
    assert dataset.test.images[0, :, 1, 1].tolist() == [255, 0, 0]
    assert dataset.test.images[3, :, 1, 1].tolist() == [0, 0, 255]


def test_image_folder_takes_its_own_validation_folder(tmp_path) -> None:
    config = image_folder(tmp_path)
    (tmp_path / "validation" / "dog").mkdir(parents=True)
    Image.new("RGB", (3, 3)).save(tmp_path / "validation" / "dog" / "0.png")
    dataset = load_dataset(config)
    assert len(dataset.train) == 8
    assert dataset.validation.labels.tolist() == [1]


def test_a_broken_image_is_named(tmp_path) -> None:
    config = image_folder(tmp_path)
    broken = tmp_path / "train" / "cat" / "broken.png"
    broken.write_bytes(b"not an image")
    with pytest.raises(DatasetError, match=str(broken)):
        load_dataset(config)


def test_a_missing_test_folder_is_named(tmp_path) -> None:
    config = image_folder(tmp_path)
    (tmp_path / "test").rename(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match=str(tmp_path / "test")):
        load_dataset(config)


def test_a_class_that_train_lacks_is_named(tmp_path) -> None:
    config = image_folder(tmp_path)
    (tmp_path / "test" / "fox").mkdir()
    with pytest.raises(DatasetError, match="test/fox"):
        load_dataset(config)


def test_digits_without_augmentation_never_import_torchvision(tmp_path) -> None:
    program = """
import sys, torch
from dpscale.config.sections import DataConfig
from dpscale.train.data import build_loader, load_dataset
from dpscale.train.models import build_model
dataset = load_dataset(DataConfig(dataset="digits", root=sys.argv[1]))
build_model("resnet_8x8", in_channels=1, classes=10, image_size=8, zero_gamma=False)
loader = build_loader(dataset.train, dataset, loader="dataloader", batch=32, workers=1, rank=0,
                      seed=0, augment=False, device=torch.device("cpu"))
next(iter(loader.batches(0)))
assert "torchvision" not in sys.modules
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=SCRIPTS, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


def test_a_prepared_dataset_is_the_one_that_was_read(monkeypatch) -> None:
    read = digits()
    files = list(Path("data/prepared").iterdir())
    assert len(files) == 1

    def unread(*_: object, **__: object) -> None:
        raise AssertionError("a prepared dataset is not read again")

    monkeypatch.setattr("dpscale.train.data.load.read_digits", unread)
    prepared = digits()
    for name in ("train", "validation", "test"):
        one, other = getattr(read, name), getattr(prepared, name)
        assert torch.equal(one.images, other.images)
        assert torch.equal(one.labels, other.labels)
    assert (prepared.mean, prepared.std, prepared.classes) == (read.mean, read.std, read.classes)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short"])
def test_a_damaged_prepared_dataset_is_read_anew(damage) -> None:
    read = digits()
    next(Path("data/prepared").iterdir()).write_bytes(damage)
    assert torch.equal(digits().train.images, read.train.images)


def test_another_share_of_validation_images_is_another_prepared_dataset() -> None:
    assert len(digits(validation_frac=0.1).train) != len(digits(validation_frac=0.3).train)
