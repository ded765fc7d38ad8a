"""Learners of local SGD with a worker each: torch's own classes, and what they lack.

torch.distributed.optim.PostLocalSGDOptimizer averages parameters by a PeriodicModelAverager, and
DDP's post_localSGD_hook leaves gradients alone from a step on. They lack an average at the end of
training and of the running statistics of batch norm, both made here; the averager's first average
comes after its warm-up's last step, so that the warm-up has to end one period later less a step;
and DDP must not send buffers, which would void what local steps save.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy

from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import vector_to_parameters
from torch.optim import Optimizer

from dpscale.studies.local_sgd.measure.team import Team, mean_of_workers, running_statistics
from dpscale.train.communication.sync import AllReduce
from dpscale.train.data import Batch, entries
from dpscale.train.optim import build_optimizer

NEVER = 2**62  # steps; a run without local steps takes fewer


class SeparateTeam(Team):
    """One learner on this worker, one on each other; of one seed."""

    def _begin(self) -> Optimizer:
        (self._network,) = self._networks
        sync = AllReduce(broadcast_buffers=False)
        model = sync.wrap(self._network, self.place.device, self.task)
        assert isinstance(model, DistributedDataParallel)
        self._model = model
        start = NEVER if self._local_from is None else self._local_from
        state = PostLocalSGDState(
            process_group=None,
            subgroup=None,
            start_localSGD_iter=start,
            post_local_gradient_allreduce=False,
        )
        self._model.register_comm_hook(state, post_localSGD_hook)
        warmup_steps = start + self._local_steps - 1
        with warnings.catch_warnings():
            # It warns of a period of 1, which is there to be compared with others.
            warnings.filterwarnings("ignore", "When period is 1")
            averager = PeriodicModelAverager(self._local_steps, warmup_steps=warmup_steps)
        return PostLocalSGDOptimizer(build_optimizer(self._network, self._training), averager)

    def finish(self) -> None:
        """See Team."""
        if self._apart:
            self._to_mean(list(self._network.parameters()))
        super().finish()

    def networks(self) -> list[nn.Module]:
        """See Team."""
        network = deepcopy(self._network)
        self._to_mean(list(network.parameters()))
        self._to_mean(running_statistics(network.buffers()))
        return [network]

    def _backward(self, batch: Batch, *, local: bool) -> Tensor:
        self._model.train()
        self._optimizer.zero_grad()
        inputs, targets = entries(batch, 0)
        loss = self.task.loss(self._model(inputs), targets)
        loss.backward()
        return loss.detach().unsqueeze(0)

    def _average(self) -> None:
        """The optimiser has averaged the parameters."""
        self._to_mean(running_statistics(self._network.buffers()))

    def _to_mean(self, values: Sequence[Tensor]) -> None:
        vector_to_parameters(mean_of_workers(values, self.place), values)
