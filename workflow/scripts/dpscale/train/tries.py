"""What studies do with a user's own networks, tried on a few samples before anything is measured.

Each raises OwnTrainingError where a network does not allow it.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils._pytree import tree_map_only

from dpscale.train.data.own import OwnTask, OwnTrainingError
from dpscale.train.stacked import Stack, dealt
from dpscale.train.sync import FullyShard

CPU = torch.device("cpu")
STACKERS = "model_averaging, local_sgd and steps_to_goal"


def stacked(task: OwnTask) -> None:
    """Train two networks as one on the samples of both."""
    if task.has_optimizer:
        reason = f"{STACKERS} train by SGD of their own; set them to null, or leave it out"
        raise OwnTrainingError(f"{task.name}: optimizer: {reason}")
    networks = [task.network() for _ in range(2)]
    # What is dealt to two learners has to be even.
    batch = tree_map_only(Tensor, lambda one: torch.cat([one, one]), task.few("train"))
    failed = "model or loss cannot be stacked by torch.func.vmap"
    with task.about(f"{failed} (set {STACKERS}, which train several as one, to null)"):
        Stack(networks, CPU, task).backward(*dealt(batch, 2))


def sharded(task: OwnTask) -> None:
    """Train a network as FSDP2 shards it, in a group of one."""
    inputs, targets = task.few("train")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with task.about("model cannot be sharded by torch's fully_shard (set strategies to null)"):
            network = FullyShard(reshard=True).wrap(task.network(), CPU)
            task.loss(network(inputs), targets).backward()
    finally:
        dist.destroy_process_group()


TRIES: dict[str, Callable[[OwnTask], None]] = {"stacked": stacked, "sharded": sharded}
