"""Figures of a published answer to the cluster-training assignment: quoted, never measured here.

Source: the figures that the assignment's own description gives beside its questions, a student's
answer on GPUs of a cluster; neither its code nor the model of its GPUs is known. MNIST, a small
CNN, Adam, b = 128 a worker. The times are of 40 epochs.
"""

from typing import NamedTuple

SOURCE = "a published answer to the same assignment, on GPUs of a cluster"
DATASET = "mnist"
TEST_SAMPLES = 10_000
TRAIN_SAMPLES = 60_000
FULL_EPOCHS = 40
PER_WORKER_BATCH = 128


class Published(NamedTuple):
    """One training: times in seconds, accuracies as fractions, null where it gives none."""

    workers: int
    nodes: int
    epochs: int
    test_accuracy_frac: float
    train_s: float | None = None


TRAININGS = (
    Published(1, 1, 40, 0.9827, 456.15),
    Published(2, 1, 40, 0.9862, 379.69),
    Published(4, 1, 40, 0.9903, 203.63),
    Published(1, 1, 21, 0.9854),
    Published(2, 1, 21, 0.9922),
    Published(4, 1, 21, 0.9920),
    Published(2, 2, 40, 0.9902),
    Published(6, 2, 40, 0.9905),
    Published(8, 2, 40, 0.9879),
)
UTILISATION = {128: 0.20, 1024: 0.54}  # per-worker batch: share of time
UTILISATION_ROUNDING = 0.005  # printed in whole percent


class Label(NamedTuple):
    """A run's label and its printed steps, which can contradict each other."""

    workers: int
    steps: int
    epochs: int


MISLABELLED = Label(workers=2, steps=3120, epochs=40)
# Said of two workers against one as "times faster", whose times stand in TRAININGS.
MISCALLED_RATIO = 0.53
