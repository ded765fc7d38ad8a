"""The central average model of synchronous model averaging.

Koliousis et al., CROSSBOW: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers,
VLDB 2019, section 3, algorithm 1. In an iteration each learner j corrects its own step,
w_j <- w_j - γ g_j - c_j with c_j = α (w_j - z), and the central model moves by all corrections and
its own momentum, z <- z + Σ c_j + μ (z - z_previous). Both use w_j and z as they were before.
"""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer

Sum = Callable[[list[Tensor]], list[Tensor]]  # this process's addends to the sums over processes


class CentralModel:
    """The model z, one tensor a parameter, kept by every process alike; z is what is evaluated."""

    def __init__(
        self,
        replicas: Sequence[Tensor],
        *,
        alpha: float,
        momentum: float,
        tau: int = 1,
        sum_over_processes: Sum | None = None,
    ) -> None:
        """`replicas`: each parameter of this process's learners, of shape [learners, ...].

        All learners of all processes start at one point, which is the first z.
        """
        self.replicas = list(replicas)
        self.values = [replica[0].detach().clone() for replica in self.replicas]
        self._previous = [value.clone() for value in self.values]
        self._alpha, self._momentum, self._tau = alpha, momentum, tau
        self._sum = sum_over_processes or (lambda addends: addends)
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
        self._move(self._sum([correction.sum(0) for correction in corrections]))

    def _move(self, corrections: list[Tensor]) -> None:
        """z <- z + Σ c_j + μ (z - z_previous)."""
        for index, (value, moved) in enumerate(zip(self.values, corrections, strict=True)):
            ahead = value + moved + self._momentum * (value - self._previous[index])
            self._previous[index], self.values[index] = value, ahead
        self.rounds += 1

    @torch.no_grad()
    def restart(self) -> None:
        """All learners go back to z, and z forgets its momentum: done when the rate drops."""
        for replica, value in zip(self.replicas, self.values, strict=True):
            replica.copy_(value.expand_as(replica))
        self._previous = [value.clone() for value in self.values]
        self._iterations = 0


def all_reduced(addends: list[Tensor]) -> list[Tensor]:
    """Sums over all processes of the default group, sent as one message."""
    flat = torch.cat([addend.reshape(-1) for addend in addends])
    dist.all_reduce(flat)
    parts = flat.split([addend.numel() for addend in addends])
    return [part.view_as(addend) for part, addend in zip(parts, addends, strict=True)]
