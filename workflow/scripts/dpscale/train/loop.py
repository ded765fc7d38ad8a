"""The training loop: every run of the project trains in `train_epoch`.

The timed region is the body of the loop and nothing else: statistics, evaluation and messages
happen outside. It never waits for the device; losses stay there until the epoch is over.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from dpscale.train.clock import Clock, phase_columns
from dpscale.train.data import Batch, samples_of
from dpscale.train.worker import Replica


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave on this worker."""

    seconds: dict[str, np.ndarray]  # clock.COLUMNS, each of shape (steps,)
    losses: np.ndarray  # mean loss of each step, shape (steps,)
    samples: np.ndarray  # of this worker in each step, shape (steps,)
    correct: tuple[float, float] | None  # right answers before each update, of so many counted


def train_epoch(
    replica: Replica,
    batches: Iterable[Batch],
    clock: Clock,
    *,
    count_correct: bool = False,
    losses: list[Tensor] | None = None,
) -> Epoch:
    """One pass over `batches`: load, copy, forward, backward, update, timed by `clock`.

    losses: an empty list to put the loss of each step into, for one who looks on.
    """
    # Looked up once: at a step of 100 us everything that stands between two operators counts.
    optimizer, scheduler = replica.optimizer, replica.scheduler
    task, count_correct = replica.task, count_correct and replica.task.counts_correct
    assert not (count_correct and replica.sync.micro_batches > 1)  # outputs are of the last alone
    precision, copied, mark = replica.precision(), replica.copied, clock.mark
    losses = [] if losses is None else losses
    samples, correct = [], []
    replica.model.train()
    supply = iter(batches)
    clock.start()
    while (batch := next(supply, None)) is not None:
        mark()  # load
        inputs, targets = copied(batch)
        mark()  # copy
        replica.begin_step()
        optimizer.zero_grad(set_to_none=True)
        outputs, loss = _forward(replica, (inputs, targets), precision)
        mark()  # forward
        loss.backward()
        mark()  # backward, with the all-reduce that it hides
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        if count_correct:
            with torch.no_grad():
                correct.append(task.correct(outputs, targets))
        mark()  # update
        losses.append(loss.detach())
        samples.append(samples_of(batch))
    seconds = phase_columns(clock.intervals())
    if replica.sync.micro_batches > 1:  # forward and backward passes take turns
        seconds |= dict.fromkeys(("forward_s", "backward_s"), np.full(len(samples), np.nan))
    return Epoch(
        seconds,
        torch.stack(losses).float().cpu().numpy() if losses else np.empty(0, np.float32),
        np.array(samples),
        (_total(one for one, _ in correct), _total(of for _, of in correct)) if correct else None,
    )


def _forward(
    replica: Replica, batch: Batch, precision: AbstractContextManager[Any]
) -> tuple[Any, Tensor]:
    """Outputs and loss of a batch.

    Of micro-batches the outputs of the last, and the loss of all: the others have been through
    their backward pass.
    """
    parts = replica.sync.micro_batches
    if parts > 1:
        batch, earlier = _all_but_last(replica, batch)
    inputs, targets = batch
    with precision:
        outputs = replica.model(inputs)
        # Outside the compiled network: the next replay of its graph overwrites the outputs, but
        # not the loss, which is read after the epoch.
        loss = replica.task.loss(outputs, targets)
    return outputs, loss if parts == 1 else loss / parts + earlier


def _all_but_last(replica: Replica, batch: Batch) -> tuple[Batch, Tensor]:
    """Trains on all micro-batches of a batch but the last, without sending what they give.

    Returns the last, and the loss of the others as their part of the batch's mean.
    """
    parts = replica.sync.micro_batches
    *earlier, last = micro_batches(batch, parts)
    total = torch.zeros((), device=replica.place.device)
    with replica.model.no_sync():  # type: ignore[operator]
        for inputs, targets in earlier:
            with replica.precision():
                loss = replica.task.loss(replica.model(inputs), targets) / parts
            loss.backward()
            total += loss.detach()
    return last, total


def micro_batches(batch: Batch, parts: int) -> list[Batch]:
    """A batch in so many equal parts; raises ValueError where it does not divide."""
    samples = samples_of(batch)
    if samples % parts:
        raise ValueError(f"a batch of {samples} does not divide into {parts} micro-batches")
    size = samples // parts

    def part(start: int) -> Batch:
        """The micro-batch that begins with a sample."""
        return cast(Batch, tree_map_only(Tensor, lambda one: one[start : start + size], batch))

    return [part(start) for start in range(0, samples, size)]


def _total(counts: Iterable[Tensor | float]) -> float:
    """The sum of some counts, of which those on a device are fetched once."""
    return float(torch.stack([torch.as_tensor(count).double() for count in counts]).sum())
