"""Ways to share a training that E1 sets beside DistributedDataParallel.

One more is a class (`train/communication/sync.py`), its line here, and its words in report/E1.j2.
"""

from typing import NamedTuple


class Way(NamedTuple):
    """A way of sharing a training.

    sync: what makes it of so many micro-batches, in `dpscale.train.communication.sync`;
    label: in figures; gathers: of the parameters in a step, where they are sharded;
    shards_state: whether the optimiser's state is, and updated parameters are sent.
    """

    sync: str
    label: str
    gathers: int = 0
    shards_state: bool = False


WAYS = {
    "accumulation": Way("Accumulated", "gradient\naccumulation"),
    "zero1": Way("ShardedOptimizer", "ZeRO-1", shards_state=True),
    "fsdp": Way("FullyShard", "FSDP2", gathers=2),
    "fsdp_kept": Way("FullyShardKept", "FSDP2 without\nresharding", gathers=1),
}
