"""What trains in an arm of S3: k learners around a central model, or one model by SGD."""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD

from dpscale.config.model_averaging import AveragingArm
from dpscale.config.sections import TrainingConfig
from dpscale.train.data import Batch
from dpscale.train.device import set_float32_precision
from dpscale.train.optim import build_scheduler
from dpscale.train.stacked import Stack
from dpscale.train.studies.central_model import CentralModel, all_reduced
from dpscale.train.sync import AllReduce, Solo, Sync
from dpscale.train.worker import Place


class Trainee(Protocol):
    """Something that learns from batches, and a network to evaluate."""

    @property
    def rounds(self) -> int:
        """Exchanges so far: of gradients, or of corrections."""

    @property
    def sent_bytes(self) -> int:
        """Bytes handed to all-reduces by this process so far."""

    def train(self, batch: Batch) -> Tensor:
        """One step; the mean loss of this process before it, on the device."""

    def evaluated(self) -> nn.Module:
        """The network as it stands; called by all processes together."""

    def lr(self) -> float:
        """The rate of the next step."""


class SynchronousSgd:
    """One model and one batch, its gradient averaged over the processes that share the batch."""

    def __init__(
        self, network: nn.Module, arm: AveragingArm, training: TrainingConfig, place: Place,
        steps_per_epoch: int,
    ) -> None:  # fmt: skip
        self._module = network.to(place.device)
        sync: Sync = AllReduce() if place.workers > 1 else Solo()
        self._model = sync.wrap(self._module, place.device)
        self._optimizer = SGD(
            self._module.parameters(),
            lr=arm.lr,
            momentum=training.momentum,
            weight_decay=training.weight_decay,
            fused=training.fused or None,
        )
        self._scheduler = build_scheduler(self._optimizer, training, steps_per_epoch)
        self._payload = _payload_bytes(self._module) if place.workers > 1 else 0
        self._steps = 0

    @property
    def rounds(self) -> int:
        """Exchanges of gradients so far: one a step."""
        return self._steps

    @property
    def sent_bytes(self) -> int:
        """Gradients handed to the all-reduce by a process so far."""
        return self._payload * self.rounds

    def train(self, batch: Batch) -> Tensor:
        """One step of SGD; the loss before it."""
        images, labels = batch
        self._model.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(self._model(images), labels)
        loss.backward()
        self._optimizer.step()
        if self._scheduler is not None:
            self._scheduler.step()
        self._steps += 1
        return loss.detach()

    def evaluated(self) -> nn.Module:
        """The model itself."""
        return self._module

    def lr(self) -> float:
        """The rate of the next step."""
        return float(self._optimizer.param_groups[0]["lr"])


class ModelAveraging:
    """This process's learners, stacked, and the central model that all processes agree on."""

    def __init__(
        self, network: nn.Module, arm: AveragingArm, training: TrainingConfig, place: Place,
        steps_per_epoch: int,
    ) -> None:  # fmt: skip
        assert arm.alpha is not None
        assert arm.tau is not None
        self._place, self._all_learners = place, arm.learners
        self._network = network.to(place.device)
        own = arm.learners // place.workers
        self._stack = Stack([self._network] * own, place.device)
        self._optimizer = SGD(
            self._stack.parameters.values(), lr=arm.lr, weight_decay=training.weight_decay,
            fused=training.fused or None,
        )  # fmt: skip
        self._scheduler = build_scheduler(self._optimizer, training, steps_per_epoch)
        self._central = CentralModel(
            list(self._stack.parameters.values()),
            alpha=arm.alpha,
            momentum=training.momentum,
            tau=arm.tau,
            sum_over_processes=all_reduced if place.workers > 1 else None,
        )
        self._payload = _payload_bytes(network) if place.workers > 1 else 0

    @property
    def rounds(self) -> int:
        """Averagings so far."""
        return self._central.rounds

    @property
    def sent_bytes(self) -> int:
        """Corrections handed to the all-reduce by a process so far."""
        return self._payload * self.rounds

    def train(self, batch: Batch) -> Tensor:
        """One iteration of all learners on images [learners, b, ...]; their mean loss before it."""
        losses, _ = self._stack.backward(*batch)
        self._central.step(self._optimizer)
        before = self.lr()
        if self._scheduler is not None:
            self._scheduler.step()
        if self.lr() < before:
            self._central.restart()
        return losses.mean()

    @torch.no_grad()
    def evaluated(self) -> nn.Module:
        """The central model, with running statistics averaged over all learners.

        Batch norm of each learner sees its own batches alone, and z none at all.
        """
        names = self._stack.parameters.keys()
        state: dict[str, Tensor] = dict(zip(names, self._central.values, strict=True))
        return _loaded(self._network, state | self._mean_buffers())

    def _mean_buffers(self) -> dict[str, Tensor]:
        buffers = self._stack.buffers
        # Counters of batches are alike everywhere, and no mean of integers is needed.
        means = {name: value for name, value in buffers.items() if value.is_floating_point()}
        sums = [value.sum(0) for value in means.values()]
        if self._place.workers > 1 and sums:
            sums = all_reduced(sums)
        averaged = {
            name: total / self._all_learners for name, total in zip(means, sums, strict=True)
        }
        return {name: averaged.get(name, value[0]) for name, value in buffers.items()}

    def lr(self) -> float:
        """The rate of the next step."""
        return float(self._optimizer.param_groups[0]["lr"])


def build_trainee(
    network: nn.Module, arm: AveragingArm, training: TrainingConfig, place: Place, steps: int
) -> Trainee:
    """What the arm trains; steps: of an epoch."""
    set_float32_precision(training)
    kind = ModelAveraging if arm.algorithm == "sma" else SynchronousSgd
    return kind(network, arm, training, place, steps)


def _payload_bytes(network: nn.Module) -> int:
    return sum(value.nelement() * value.element_size() for value in network.parameters())


def _loaded(network: nn.Module, state: dict[str, Tensor]) -> nn.Module:
    network.load_state_dict(state)
    return network
