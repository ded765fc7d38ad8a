"""Our loaders against torchvision's transforms in a DataLoader, with 0, 1 and 2 processes.

    python benchmarks/loading.py [--rounds 15]

Images of CIFAR-10's shape, random crop with padding, flip and normalisation, batches of 128. The
peer is what a user writes: PIL images, torchvision's transforms, torch's DataLoader. Then each of
our loaders against what Q1 trains of the digits at every batch size: a loader below that rate
would be what Q1 measures.
"""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from loop_worker import spec_of  # noqa: E402
from PIL import Image  # noqa: E402
from ratios import Ratio, compare, interleaved, machine, told  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import transforms  # noqa: E402

from dpscale.config.sections import DataConfig  # noqa: E402
from dpscale.train.arms import build_arms  # noqa: E402
from dpscale.train.data import Dataset, build_loader, load_dataset  # noqa: E402
from dpscale.train.timed import ready_batches  # noqa: E402
from dpscale.train.worker import join_workers  # noqa: E402

CPU = torch.device("cpu")
BATCH, SAMPLES = 128, 4096  # of an epoch of images
PROCESSES = (0, 1, 2)
Q1_BATCHES = (32, 128, 512)


class PilImages(torch.utils.data.Dataset):
    """Images as torchvision's CIFAR-10 holds and hands them out."""

    def __init__(self, dataset: Dataset) -> None:
        self._arrays = dataset.train.images.permute(0, 2, 3, 1).contiguous().numpy()
        self._labels = dataset.train.labels.tolist()
        self._transform = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(dataset.mean, dataset.std),
            ]
        )

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self._transform(Image.fromarray(self._arrays[index])), self._labels[index]


def cifar_shaped(samples: int) -> Dataset:
    """Random images under CIFAR-10's name, so that they are augmented as those are."""
    from dataclasses import replace

    data = DataConfig(dataset="synthetic", channels=3, image_size=32, classes=10, samples=samples)
    return replace(load_dataset(data), name="cifar10")


def rate(epoch: Callable[[], Iterable], samples: int) -> Callable[[], float]:
    """Samples per second of one epoch that nobody trains on."""

    def measure() -> float:
        """Samples per second of one more epoch."""
        start_s = time.perf_counter()
        for _ in epoch():
            pass
        return samples / (time.perf_counter() - start_s)

    return measure


def our_loader(dataset: Dataset, kind: str, processes: int, *, batch: int, augment: bool):
    """The rate of one of our loaders with so many processes, an epoch a call."""
    loader = build_loader(
        dataset.train,
        dataset,
        loader=kind,
        batch=batch,
        workers=1,
        rank=0,
        seed=0,
        augment=augment,
        device=CPU,
        loader_workers=processes,
    )
    numbers = itertools.count(1)
    return rate(lambda: loader.batches(next(numbers)), len(loader) * batch)


def against_torchvision(rounds: int, samples: int, processes: Sequence[int]) -> list[Ratio]:
    """Ratios of our loaders to the peer with as many processes."""
    dataset = cifar_shaped(samples)
    measures = {"resident": our_loader(dataset, "resident", 0, batch=BATCH, augment=True)}
    for number in processes:
        peer = DataLoader(
            PilImages(dataset),
            BATCH,
            shuffle=True,
            drop_last=True,
            num_workers=number,
            persistent_workers=number > 0,
        )
        measures[f"torchvision, {number}"] = rate(lambda peer=peer: peer, len(peer) * BATCH)
        measures[f"dataloader, {number}"] = our_loader(
            dataset, "dataloader", number, batch=BATCH, augment=True
        )
    for measure in measures.values():  # processes start, files are read
        measure()
    rates = interleaved(measures, rounds)
    found = []
    for number in processes:
        title = f"torchvision, {number} processes"
        peer = rates[f"torchvision, {number}"]
        for name, case in (("resident", "resident"), (f"dataloader, {number}", "dataloader")):
            found.append(compared(case, title, rates[name], peer))
    return found


def against_training(rounds: int, batches: Sequence[int]) -> list[Ratio]:
    """Ratios of our loaders to what the network of Q1 trains, digits, each batch size."""
    found = []
    for batch in batches:
        spec = spec_of("resnet_8x8", batch, 1)
        with join_workers(spec) as place:
            dataset = load_dataset(spec.data)
            ready = ready_batches(spec, dataset, place)
            arm = build_arms(spec, dataset, place, ready=ready, loaded=None).by_name[
                "without_loading"
            ]
            measures = {
                kind: our_loader(dataset, kind, 0, batch=batch, augment=False)
                for kind in ("dataloader", "resident")
            }
            measures["training"] = rate(arm.repeat, len(ready) * batch)
            rates = interleaved(measures, rounds)
        for kind in ("dataloader", "resident"):
            case = f"{kind}, digits, b = {batch}"
            trained = rates["training"]
            found.append(compared(case, "training of Q1", rates[kind], trained))
    return found


def compared(case: str, peer_name: str, ours: list[float], peer: list[float]) -> Ratio:
    """The ratio of two series of samples per second, printed."""
    one = compare("loading", case, peer_name, "samples/s", ours, peer)
    print(told(one, ours=ours, peer=peer), flush=True)
    return one


def run(
    rounds: int = 15,
    samples: int = SAMPLES,
    processes: Sequence[int] = PROCESSES,
    batches: Sequence[int] = Q1_BATCHES,
) -> list[Ratio]:
    """All ratios, printed."""
    training_rounds = min(rounds, max(5, rounds // 2))
    return [
        *against_torchvision(rounds, samples, processes),
        *against_training(training_rounds, batches),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    print(machine(), flush=True)
    run(parser.parse_args().rounds)
