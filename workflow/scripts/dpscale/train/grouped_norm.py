"""Batch norm over groups of a batch: what k workers of n samples each would compute.

Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour (2017,
arXiv:1706.02677), section 2.3: the per-worker batch n is part of the loss that is minimised, so n
stays while the number of workers grows.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm


class GroupedBatchNorm2d(nn.BatchNorm2d):
    """Batch norm that normalises each group of `group_batch` samples of a batch by itself.

    Of G groups, group m holds samples m, m + G, m + 2G ...: dealt out as a DistributedSampler
    deals a batch to workers, so that k groups in one process are the k workers, and however the
    groups are spread over processes they hold the same samples. Gains and shifts are shared. The
    running statistics are those of the first group alone: DDP sends rank 0's buffers to all
    workers, and evaluates with them.
    """

    group_batch: int

    def forward(self, x: Tensor) -> Tensor:
        """[G * group_batch, c, h, w] to the same shape; ValueError for samples left over."""
        samples, channels, *pixels = x.shape
        if not self.training or samples == self.group_batch:
            return super().forward(x)
        groups, left_over = divmod(samples, self.group_batch)
        if left_over:
            raise ValueError(f"{samples} samples are not a whole number of {self.group_batch}")
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        mean, variance = self.running_mean.repeat(groups), self.running_var.repeat(groups)
        # One call normalises all: the groups' channels stand side by side in a batch of n.
        y = batch_norm(
            x.reshape(self.group_batch, groups * channels, *pixels),
            mean,
            variance,
            self.weight.repeat(groups),
            self.bias.repeat(groups),
            training=True,
            momentum=self.momentum,
            eps=self.eps,
        )
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.copy_(mean[:channels])
            self.running_var.copy_(variance[:channels])
        return y.reshape(samples, channels, *pixels)


def group_batch_norm(network: nn.Module, group_batch: int) -> nn.Module:
    """The network itself, every BatchNorm2d in it turned into one of groups of that size."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = GroupedBatchNorm2d
            cast(GroupedBatchNorm2d, module).group_batch = group_batch
    return network
