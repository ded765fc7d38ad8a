"""The training loop: every run of the project trains in `train_epoch`.

The timed region is the body of the loop and nothing else: statistics, evaluation and messages
happen outside. It never waits for the device; losses stay there until the epoch is over.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from dpscale.train.clock import Clock, phase_columns
from dpscale.train.data import Batch, samples_of
from dpscale.train.worker import Forward, Replica


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
    losses: list[Tensor | float] | None = None,
) -> Epoch:
    """One pass over `batches`: load, copy, forward, backward, update, timed by `clock`.

    batches: an iterator, or batches that lie ready and can be gone through again.
    losses: an empty list to put the loss of each step into, for one who looks on. Of micro-batches
    the outputs are those of the last, and the loss that of all: the others have been through their
    backward pass.
    """
    # Looked up once: at a step of 100 us everything that stands between two operators counts.
    model, optimizer, scheduler = replica.model, replica.optimizer, replica.scheduler
    task, count_correct = replica.task, count_correct and replica.task.counts_correct
    parts = replica.sync.micro_batches
    assert not (count_correct and parts > 1)  # outputs are of the last alone
    copied, mark, loss_of = replica.copied, clock.mark, task.loss
    moves, graphs = replica.moves_batches, replica.graphs

    @replica.in_precision
    def forward(inputs: Any, targets: Any) -> tuple[Tensor, Any]:
        """The loss, and the outputs where they are counted: else they are done with here."""
        outputs = model(inputs)
        # Outside the compiled network: the next replay of its graph overwrites the outputs, but not
        # the loss, which is read after the epoch.
        return loss_of(outputs, targets), outputs if count_correct else None

    # A number where that waits for nothing: a tensor that is kept costs the next steps more.
    kept = Tensor.item if replica.place.device.type == "cpu" else Tensor.detach
    losses = [] if losses is None else losses
    samples: list[int] = []
    correct = []
    model.train()
    # Batches that lie ready are counted after the epoch, those that come as they come.
    supply = _counted(batches, samples) if isinstance(batches, Iterator) else iter(batches)
    clock.start()
    for batch in supply:
        mark()  # load
        inputs, targets = batch
        if moves:
            inputs, targets = copied(batch)
            mark()  # copy
        if graphs:  # what they gave in the step before is done with
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad()
        if parts > 1:
            (inputs, targets), earlier = _all_but_last(replica, forward, (inputs, targets))
        loss, outputs = forward(inputs, targets)
        if parts > 1:
            loss = loss / parts + earlier
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
        losses.append(kept(loss))
    samples = samples or [samples_of(batch) for batch in batches]
    seconds = phase_columns(clock.intervals(), copies=moves)
    if parts > 1:  # forward and backward passes take turns
        seconds |= dict.fromkeys(("forward_s", "backward_s"), np.full(len(samples), np.nan))
    return Epoch(
        seconds,
        _as_array(losses),
        np.array(samples),
        (_total(right for right, _ in correct), _total(of for _, of in correct))
        if correct
        else None,
    )


def _as_array(losses: list[Tensor | float]) -> np.ndarray:
    """Losses on the host, of which those on a device are fetched once: float32, shape (steps,)."""
    on_device = [loss for loss in losses if isinstance(loss, Tensor)]
    if on_device:
        return torch.stack(on_device).float().cpu().numpy()
    return np.array(losses, np.float32)


def _counted(batches: Iterable[Batch], samples: list[int]) -> Iterator[Batch]:
    """The batches, each one's samples noted."""
    for batch in batches:
        samples.append(samples_of(batch))
        yield batch


def _all_but_last(replica: Replica, forward: Forward, batch: Batch) -> tuple[Batch, Tensor]:
    """Trains on all micro-batches of a batch but the last, without sending what they give.

    Returns the last, and the loss of the others as their part of the batch's mean.
    """
    parts = replica.sync.micro_batches
    *earlier, last = micro_batches(batch, parts)
    total = torch.zeros((), device=replica.place.device)
    with replica.model.no_sync():  # type: ignore[operator]
        for inputs, targets in earlier:
            loss = forward(inputs, targets)[0] / parts
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
