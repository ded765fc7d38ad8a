"""What a run takes of each of its nodes: a job asks for it, and the step in the job again."""

from dpscale.plan import Spec

# Kinds of run that load as the configuration says; the others keep their images on the device.
LOADING_KINDS = ("timed", "training")


def devices_per_node(spec: Spec) -> int:
    """Return the workers of a run on each node, or the devices that its one process takes."""
    return spec.scatter_devices or -(-spec.workers // spec.nodes)


def cpus_per_node(spec: Spec) -> int:
    """Return the CPUs for a node's workers and the processes that load for them."""
    loads = spec.kind in LOADING_KINDS and spec.data.loader == "dataloader"
    processes = spec.data.loader_workers if loads else 0
    return devices_per_node(spec) * (spec.hardware.threads_per_worker + processes)
