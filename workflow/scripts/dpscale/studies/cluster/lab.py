"""The lab as asked, `config/lab.yaml`, as far as formulas predict it."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dpscale.config.reading import read_mapping
from dpscale.derive.formulas import payload_bytes

FILE = Path(__file__).resolve().parents[5] / "config" / "lab.yaml"
PARAMETERS = {"resnet18_cifar": 11_173_962}  # trainable ones; another network's are not known here
SAMPLES = {"cifar10": 50_000, "cifar100": 50_000, "mnist": 60_000, "fashion_mnist": 60_000}
FLOAT_BYTES = 4


class Lab(NamedTuple):
    """What the lab asks for; reference_batch: the global batch that its learning rate is for.

    optimizer: as S1 names them, by its momentum.
    """

    model: str
    dataset: str
    devices: int
    workers: tuple[int, ...]
    per_worker_batches: tuple[int, ...]
    optimizer: str
    lr: float
    reference_batch: int
    link_bytes_per_s: float | None

    @property
    def payload_bytes(self) -> float | None:
        """Return the bytes of its gradients; None of a network whose size is not known."""
        parameters = PARAMETERS.get(self.model)
        return None if parameters is None else payload_bytes(float(parameters), FLOAT_BYTES)

    @property
    def train_samples(self) -> int | None:
        """Return its training images; None of data that are not known."""
        return SAMPLES.get(self.dataset)


@cache
def lab(path: Path = FILE) -> Lab:
    """Return the lab of a configuration."""
    given: dict[str, Any] = read_mapping(path)
    scaling, large, training = given["scaling"], given["large_batch"], given["training"]
    moving = "nesterov" if training.get("nesterov") else "momentum"
    return Lab(
        model=given["model"]["name"],
        dataset=given["data"]["dataset"],
        devices=given["hardware"]["devices"],
        workers=tuple(scaling["workers"]),
        per_worker_batches=tuple(scaling["per_worker_batches"]),
        optimizer=moving if training["momentum"] else "sgd",
        lr=training["lr"],
        reference_batch=large["workers"] * large["small_per_worker_batch"],
        link_bytes_per_s=given["communication"]["link_bytes_per_s"],
    )
