"""What a run measured on all its workers, brought together on rank 0."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpscale.train.loop import Epoch
from dpscale.train.worker import Place


@dataclass
class Measurement:
    """Rows for steps.parquet and fields for record.json."""

    status: str = "complete"
    message: str | None = None
    steps: dict[str, np.ndarray] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)


class StepLog:
    """Step rows of one worker."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._parts: list[dict[str, np.ndarray]] = []

    def add(self, epoch: Epoch, *, seed: int, arm: str | None, repeat: int, number: int) -> None:
        """Append the steps of an epoch, which is epoch `number` of its repeat."""
        steps = len(epoch.samples)
        constant = {"seed": seed, "arm": arm, "repeat": repeat, "epoch": number, "rank": self._rank}
        self._parts.append(
            {name: np.array([value] * steps, dtype=object) for name, value in constant.items()}
            | {"step": np.arange(steps), "samples": epoch.samples}
            | epoch.seconds
            | {"loss": epoch.losses.astype(float)}
        )

    def columns(self) -> dict[str, np.ndarray]:
        """All rows as columns of equal length."""
        return join_columns(self._parts)


def join_columns(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Columns of several tables, one below the other."""
    names = parts[0] if parts else {}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def gather_steps(log: StepLog, place: Place) -> dict[str, np.ndarray]:
    """The step rows of all workers, on rank 0."""
    return join_columns([part for part in place.gather(log.columns()) if part])


def mean_of_known(values: list[float | None]) -> float | None:
    """Mean of the values that are known; None where there is none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
