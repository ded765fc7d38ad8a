"""A replica on each worker as what takes the steps of a training: by the timed loop."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dpscale.plan import Spec
from dpscale.records.columns import TableRow
from dpscale.train.clock import make_clock
from dpscale.train.data import Batch, Task
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.training import Stepper, Supply
from dpscale.train.worker import Place, Replica, build_replica, build_spec_loader


class ReplicaStepper(Stepper):
    """A replica of a spec's network with the initial values of a seed, and the batches it sees.

    loader: in place of the spec's; meter: shows how far the steps to the next stop have come;
    set_epoch: of Loader.
    """

    def __init__(
        self,
        spec: Spec,
        task: Task,
        place: Place,
        seed: int,
        *,
        count_correct: bool = True,
        loader: str | None = None,
        meter: Meter | None = None,
        set_epoch: bool = True,
    ) -> None:
        super().__init__(task, place, spec.per_worker_batch or 1)
        self.spec, self.seed = spec, seed
        self.loader = build_spec_loader(
            spec, task, place, seed=seed, loader=loader, set_epoch=set_epoch
        )
        self.supply = Supply(self.loader)
        self.replica = self.build()
        self.epoch: Epoch  # what the last steps gave on this worker
        self._clock, self._count_correct = make_clock(place.device), count_correct
        self._meter = meter

    def build(self) -> Replica:
        """Return the replica that is trained."""
        return build_replica(
            self.spec, self.task, self.place, seed=self.seed, steps_per_epoch=len(self.loader)
        )

    @property
    def lr(self) -> float:
        """The rate of the next step."""
        return float(self.replica.optimizer.param_groups[0]["lr"])

    def network(self) -> nn.Module:
        """Return this worker's module, with the running statistics that it holds."""
        return self.replica.module

    def train(self, batches: Iterable[Batch]) -> Tensor:
        """Train in the loop of all timed runs; returns the mean loss of its steps."""
        losses: list[Tensor | float] = []
        if self._meter is not None:
            batches = self._meter.watched(
                batches,
                losses,
                steps=len(self.loader),
                timed=self.spec.protocol.needs.alone,
                samples=self.loader.batch * self.place.workers,
            )
        self.epoch = train_epoch(
            self.replica, batches, self._clock, count_correct=self._count_correct, losses=losses
        )
        return torch.tensor(self.epoch.losses.mean())

    def columns(self) -> TableRow:
        """Return means over the samples of all workers, and the seconds of the slowest's steps."""
        epoch = self.epoch
        counts: tuple[Any, ...] = (
            float((epoch.losses * epoch.samples).sum()),
            int(epoch.samples.sum()),
            *(epoch.correct or (0, 0)),
            float(epoch.seconds["step_s"].sum()),
        )
        loss, samples, right, counted, steps_s = np.array(self.place.share(counts)).T
        mean_loss = float(loss.sum() / samples.sum())
        finite = bool(np.isfinite(mean_loss))
        known = finite and counted.sum() > 0
        return {
            "train_loss": mean_loss if finite else None,
            "train_accuracy_frac": float(right.sum() / counted.sum()) if known else None,
            "steps_s": float(steps_s.max()),
        }

    def begin_again(self) -> None:
        """Go back to the values of the seed and to its first batch; what DDP prepared is kept."""
        start = seeded_network(self.spec, self.task, self.seed).state_dict()
        self.replica.module.load_state_dict(start)
        self.replica.optimizer.state.clear()
        self.supply = Supply(self.loader)
