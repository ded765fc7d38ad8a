"""What trains in an arm of S3: k learners around a central model, or one model by SGD."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import SGD, Optimizer

from dpscale.config.sections import TrainingConfig
from dpscale.records.columns import TableRow
from dpscale.studies.model_averaging.config import AveragingArm
from dpscale.train.communication.sync import AllReduce, Solo
from dpscale.train.data import Batch, Task, on_device
from dpscale.train.machine.device import set_backends
from dpscale.train.optim import build_scheduler
from dpscale.train.stacked import Stack, dealt
from dpscale.train.training import Stepper
from dpscale.train.worker import Place


class CentralModel:
    """The model z, one tensor a parameter, kept by every process alike; z is what is evaluated.

    Koliousis et al., CROSSBOW: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers,
    VLDB 2019, section 3, algorithm 1. In an iteration each learner j corrects its own step,
    w_j <- w_j - γ g_j - c_j with c_j = α (w_j - z), and z moves by all corrections and its own
    momentum, z <- z + Σ c_j + μ (z - z_previous). Both use w_j and z as they were before.
    """

    def __init__(
        self,
        replicas: Iterable[Tensor],
        *,
        alpha: float,
        momentum: float,
        tau: int = 1,
        workers: int = 1,
    ) -> None:
        """`replicas`: each parameter of this process's learners, of shape [learners, ...].

        All learners of all processes start at one point, which is the first z.
        """
        self.replicas = list(replicas)
        self.values = [replica[0].detach().clone() for replica in self.replicas]
        self._previous = self.values
        self._alpha, self._momentum, self._tau, self._workers = alpha, momentum, tau, workers
        self._iterations = 0
        self.rounds = 0  # averagings so far

    @torch.no_grad()
    def step(self, optimizer: Optimizer) -> None:
        """One iteration: the learners' gradient steps and, every τ of them, their averaging."""
        self._iterations += 1
        if self._iterations % self._tau:
            optimizer.step()
            return
        corrections = [
            (replica - value).mul_(self._alpha)
            for replica, value in zip(self.replicas, self.values, strict=True)
        ]
        optimizer.step()
        for replica, correction in zip(self.replicas, corrections, strict=True):
            replica.sub_(correction)
        moves = summed([correction.sum(0) for correction in corrections], self._workers)
        self._previous, self.values = (
            self.values,
            [
                value + move + self._momentum * (value - previous)
                for value, move, previous in zip(self.values, moves, self._previous, strict=True)
            ],
        )
        self.rounds += 1

    @torch.no_grad()
    def restart(self) -> None:
        """All learners go back to z, and z forgets its momentum: done when the rate drops."""
        for replica, value in zip(self.replicas, self.values, strict=True):
            replica.copy_(value.expand_as(replica))
        self._previous = self.values
        self._iterations = 0


def summed(addends: Sequence[Tensor], workers: int) -> list[Tensor]:
    """Sums over all processes of the default group, sent as one message."""
    if workers == 1 or not addends:
        return list(addends)
    flat = torch.cat([addend.reshape(-1) for addend in addends])
    dist.all_reduce(flat)
    parts = flat.split([addend.numel() for addend in addends])
    return [part.view_as(addend) for part, addend in zip(parts, addends, strict=True)]


class Trainee(Stepper):
    """Something that learns from batches, and a network to evaluate.

    rounds: exchanges so far, of gradients or of corrections.
    """

    def __init__(
        self,
        network: nn.Module,
        parameters: Iterable[Tensor],
        momentum: float,
        arm: AveragingArm,
        training: TrainingConfig,
        task: Task,
        place: Place,
        steps_per_epoch: int,
    ) -> None:
        """`parameters` of the optimiser, a plain SGD without `momentum`."""
        super().__init__(task, place, evaluation_batch=arm.batch)
        self._optimizer = SGD(
            parameters,
            lr=arm.lr,
            momentum=momentum,
            weight_decay=training.weight_decay,
            fused=training.fused or None,
        )
        self._scheduler = build_scheduler(self._optimizer, training, steps_per_epoch)
        self._network = network
        self.rounds = 0

    def step(self, batch: Batch) -> Tensor:
        """One step; see Stepper."""
        return self.learn(on_device(batch, self.place.device))

    @abstractmethod
    def learn(self, batch: Batch) -> Tensor:
        """One step on a batch of the device; the mean loss of this process before it."""

    def ends(self) -> TableRow:
        """Return the exchanges, and the bytes that this process handed to all-reduces."""
        values = [value for value in self._network.parameters() if value.requires_grad]
        payload = sum(value.nbytes for value in values)
        sent_bytes = payload * self.rounds if self.place.workers > 1 else 0
        return {"rounds": self.rounds, "sent_bytes": sent_bytes}

    def network(self) -> nn.Module:
        """Return the network as it stands."""
        return self._network

    @property
    def lr(self) -> float:
        """The rate of the next step."""
        return float(self._optimizer.param_groups[0]["lr"])

    def _schedule(self) -> None:
        if self._scheduler is not None:
            self._scheduler.step()


class SynchronousSgd(Trainee):
    """One model and one batch, its gradient averaged over the processes that share the batch."""

    def __init__(
        self,
        network: nn.Module,
        task: Task,
        arm: AveragingArm,
        training: TrainingConfig,
        place: Place,
        steps_per_epoch: int,
    ) -> None:
        network = network.to(place.device)
        sync = AllReduce() if place.workers > 1 else Solo()
        self._model = sync.wrap(network, place.device, task)
        super().__init__(
            network,
            network.parameters(),
            training.momentum,
            arm,
            training,
            task,
            place,
            steps_per_epoch,
        )

    def learn(self, batch: Batch) -> Tensor:
        """One step of SGD; the loss before it."""
        inputs, targets = batch
        self._model.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self.task.loss(self._model(inputs), targets)
        loss.backward()
        self._optimizer.step()
        self._schedule()
        self.rounds += 1
        return loss.detach()


class ModelAveraging(Trainee):
    """This process's learners, stacked, and the central model that all processes agree on."""

    def __init__(
        self,
        network: nn.Module,
        task: Task,
        arm: AveragingArm,
        training: TrainingConfig,
        place: Place,
        steps_per_epoch: int,
    ) -> None:
        assert arm.alpha is not None
        assert arm.tau is not None
        network, own = network.to(place.device), arm.learners // place.workers
        self._all_learners = arm.learners
        self._stack = Stack([network] * own, place.device, task)
        trained = {
            name: value for name, value in self._stack.parameters.items() if value.requires_grad
        }
        self._names, values = list(trained), list(trained.values())
        self._central = CentralModel(
            values, alpha=arm.alpha, momentum=training.momentum, tau=arm.tau, workers=place.workers
        )
        super().__init__(network, values, 0.0, arm, training, task, place, steps_per_epoch)

    def step(self, batch: Batch) -> Tensor:
        """One iteration, of a batch that is dealt to the learners."""
        return self.learn(dealt(on_device(batch, self.place.device), self._stack.learners))

    def learn(self, batch: Batch) -> Tensor:
        """One iteration of all learners on inputs [learners, b, ...]; their mean loss before it."""
        losses = self._stack.backward(*batch)
        self._central.step(self._optimizer)
        self.rounds, before = self._central.rounds, self.lr
        self._schedule()
        if self.lr < before:
            self._central.restart()
        return losses.mean()

    @torch.no_grad()
    def network(self) -> nn.Module:
        """The central model, with running statistics averaged over all learners.

        Batch norm of each learner sees its own batches alone, and z none at all. Counters of
        batches are alike everywhere, and no mean of integers is needed.
        """
        buffers = self._stack.buffers
        means = [name for name, value in buffers.items() if value.is_floating_point()]
        sums = summed([buffers[name].sum(0) for name in means], self.place.workers)
        state = {name: value[0] for name, value in buffers.items()}
        state |= {name: total / self._all_learners for name, total in zip(means, sums, strict=True)}
        state |= dict(zip(self._names, self._central.values, strict=True))
        for name, value in chain(self._network.named_parameters(), self._network.named_buffers()):
            value.copy_(state.get(name, value))  # a frozen parameter stays as it is
        return self._network


def build_trainee(
    network: nn.Module,
    task: Task,
    arm: AveragingArm,
    training: TrainingConfig,
    place: Place,
    steps: int,
) -> Trainee:
    """What the arm trains; steps: of an epoch."""
    set_backends(training)
    kind = ModelAveraging if arm.algorithm == "sma" else SynchronousSgd
    return kind(network, task, arm, training, place, steps)
