"""The assignment's training at full size, on MNIST from beside the repository."""

import gzip
import os
from pathlib import Path

import pytest

from dpscale.config.sections import ModelConfig
from dpscale.derive.formulas import full_steps, run_steps

BESIDE = Path(__file__).resolve().parents[2].parent / "shared"
MNIST = Path(os.environ.get("DPSCALE_MNIST", BESIDE / "data/mnist"))
EPOCHS = 8
TRAIN_SAMPLES, BATCH, BASE_LR = 60_000, 128, 0.001

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The images unpacked where torchvision looks for them."""
    if not MNIST.is_dir():
        pytest.skip(f"MNIST is not in {MNIST}")
    folder = tmp_path_factory.mktemp("mnist")
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for packed in MNIST.glob("*.gz"):
        (raw / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


@pytest.mark.parametrize("workers", [1, 2])
def test_mnist_reaches_99_percent(launcher, root, workers) -> None:
    spec = launcher.spec(
        run=f"mnist-n{workers}",
        workers=workers,
        per_worker_batch=BATCH,
        data={"dataset": "mnist", "root": str(root), "validation_frac": 0.0},
        model=ModelConfig(name="mnist_cnn"),
        training={
            "optimizer": "adam",
            "lr": BASE_LR * workers,
            "weight_decay": 0.0,
            "epochs": EPOCHS,
        },
    )
    result = launcher.run(spec)
    assert result.record.train_samples == TRAIN_SAMPLES
    steps = run_steps(full_steps(TRAIN_SAMPLES, workers * BATCH), EPOCHS)
    assert len(result.steps[["epoch", "step"]].drop_duplicates()) == steps
    accuracies = [row["test_accuracy_frac"] for row in result.record.curves]
    print(f"N = {workers}: {accuracies}")
    assert accuracies[-1] >= 0.99
