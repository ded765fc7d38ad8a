"""Learners of local SGD with a worker each: torch's own classes, and what they lack.

torch.distributed.optim.PostLocalSGDOptimizer averages parameters by a PeriodicModelAverager, and
DDP's post_localSGD_hook leaves gradients alone from a step on. They lack an average at the end of
training and of the running statistics of batch norm, both made here; the averager's first average
comes after its warm-up's last step, so that the warm-up has to end one period later less a step;
and DDP must not send buffers, which would void what local steps save.
"""

import warnings
from copy import deepcopy
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import vector_to_parameters

from dpscale.train.studies.local_averages import (
    averages_after,
    flat,
    is_local,
    mean_of_workers,
    momentum_sgd,
    running_statistics,
)
from dpscale.train.sync import AllReduce
from dpscale.train.worker import Place

if TYPE_CHECKING:
    from dpscale.config.sections import TrainingConfig

NEVER = 2**62  # steps; a run without local steps takes fewer


class SeparateTeam:
    """One learner on this worker, one on each other; see Team and StackedTeam."""

    def __init__(
        self,
        network: nn.Module,
        place: Place,
        training: "TrainingConfig",
        *,
        local_steps: int,
        local_from: int | None,
    ) -> None:
        """local_from: number of the first local step; None for none."""
        self._module, self._place = network.to(place.device), place
        model = AllReduce(broadcast_buffers=False).wrap(self._module, place.device)
        assert isinstance(model, DistributedDataParallel)
        self._model = model
        start = NEVER if local_from is None else local_from
        state = PostLocalSGDState(
            process_group=None, subgroup=None, start_localSGD_iter=start,
            post_local_gradient_allreduce=False,
        )  # fmt: skip
        self._model.register_comm_hook(state, post_localSGD_hook)
        with warnings.catch_warnings():
            # It warns of a period of 1, which is there to be compared with others.
            warnings.filterwarnings("ignore", "When period is 1")
            averager = PeriodicModelAverager(
                period=local_steps, warmup_steps=start + local_steps - 1
            )
        self._optimizer = PostLocalSGDOptimizer(
            momentum_sgd(self._module.parameters(), training), averager
        )
        self._local_steps, self._local_from = local_steps, local_from
        self.device, self.lr, self.steps, self.rounds = place.device, training.lr, 0, 0
        self._apart = False  # whether a local step followed the last average

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """See Team."""
        self._model.train()
        self._optimizer.zero_grad()
        loss = cross_entropy(self._model(images), labels)
        loss.backward()
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        local = is_local(self.steps, self._local_from)
        averaged = averages_after(self.steps, self._local_from, self._local_steps)
        if averaged:  # the optimiser has averaged the parameters
            self._average_statistics()
        self._apart = local and not averaged
        self.rounds += not local or averaged
        self.steps += 1
        return loss.detach()

    def finish(self) -> None:
        """See Team."""
        if self._apart:
            parameters = [value.detach() for value in self._module.parameters()]
            mean = mean_of_workers(flat(parameters), self._place)
            vector_to_parameters(mean, self._module.parameters())
            self._average_statistics()
            self.rounds += 1
            self._apart = False

    def mean_network(self) -> nn.Module:
        """See Team."""
        network = deepcopy(self._module)
        for values in (list(network.parameters()), self._statistics(network)):
            if values:
                own = flat([value.detach() for value in values])
                vector_to_parameters(mean_of_workers(own, self._place), values)
        return network

    def _average_statistics(self) -> None:
        if values := self._statistics(self._module):
            vector_to_parameters(mean_of_workers(flat(values), self._place), values)

    @staticmethod
    def _statistics(network: nn.Module) -> list[Tensor]:
        return running_statistics(dict(network.named_buffers()))
