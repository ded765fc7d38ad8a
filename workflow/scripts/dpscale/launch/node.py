"""What a run takes of each of its nodes: a job asks for it, and the step in the job again."""

from dpscale.config.datasets import sample_values, train_samples
from dpscale.plan import Spec

# Kinds of run that load as the configuration says; the others keep their images on the device.
LOADING_KINDS = ("timed", "training")
FLOAT_BYTES, MIB = 4, 2**20
# Copies of a worker's batch in host memory at once where batches lie ready: the first one, whose
# size decides how many are kept, the ones that are kept, and the same in pinned memory.
HOST_BATCHES = 3
# Batches that each process of torch's DataLoader holds ahead (its prefetch_factor).
PREFETCHED = 2


def devices_per_node(spec: Spec) -> int:
    """Return the workers of a run on each node, or the devices that its one process takes."""
    return spec.protocol.needs.scatter_devices or -(-spec.workers // spec.nodes)


def cpus_per_node(spec: Spec) -> int:
    """Return the CPUs for a node's workers and the processes that load for them."""
    return devices_per_node(spec) * (spec.hardware.threads_per_worker + _loading_processes(spec))


def _loading_processes(spec: Spec) -> int:
    loads = spec.kind in LOADING_KINDS and spec.data.loader == "dataloader"
    return spec.data.loader_workers if loads else 0


def memory_per_node_mb(spec: Spec, worker_mb: int) -> int:
    """Return the host memory in MiB for a node's workers and the samples that they hold.

    worker_mb: what one worker needs beside its samples.
    """
    return devices_per_node(spec) * (worker_mb + -(-samples_bytes(spec) // MIB))


def samples_bytes(spec: Spec) -> int:
    """Return the bytes of the samples that a worker holds in host memory at once.

    With v values a sample: D * v of the dataset, as uint8, and, as float32, 4 * v for each sample
    of a batch, which is there HOST_BATCHES times and twice for each loading process. A batch that
    is yet to be measured counts as the largest that the dataset allows. What is unknown before the
    samples are read, as all of a user's own, counts nothing.
    """
    values, samples = sample_values(spec.data) or 0, train_samples(spec.data) or 0
    most = samples // spec.workers
    batch = spec.per_worker_batch or most // spec.protocol.needs.min_updates_per_epoch
    held = (HOST_BATCHES + PREFETCHED * _loading_processes(spec)) * min(batch, most or batch)
    return values * (samples + FLOAT_BYTES * held)
