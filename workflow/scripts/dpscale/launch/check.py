"""What a first run would trip over on its nodes: what they show, set against what a run needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from dpscale.attempts import Cause, Failure
from dpscale.launch.meeting import FIRST_PORT, PORTS
from dpscale.launch.node import devices_per_node
from dpscale.plan import Spec

GB = 10**9
# What a worker asks of the host at least: torch and the rest of a run's imports were measured at
# 0.6 GB resident, of which workers of a node share the libraries; for CUDA's it is an estimate.
WORKER_BYTES = {"cpu": GB // 2, "cuda": 2 * GB}
FREE_BYTES = GB  # records, tables and report stay below it by far
# Below it somebody else's work is on a GPU: the largest batch and the times would hold it.
FREE_FRAC = 0.9
# A limit of time grows by so many imports of torch, which take seconds or, from a cold network
# file system, minutes: a check starts some processes after one another, each of which imports it.
IMPORTS = 6
CGROUPS = Path("/sys/fs/cgroup")


class Neighbour(BaseModel):
    """A process of somebody else's that computes on a GPU. Null bytes: NVML does not tell."""

    process: int
    name: str
    used_bytes: int | None

    def described(self) -> str:
        """Process and name, and what it holds."""
        holds = "" if self.used_bytes is None else f" holds {self.used_bytes / GB:.1f} GB"
        return f"process {self.process} ({self.name}){holds}"


class Device(BaseModel):
    """A GPU as torch sees it, and who else is on it. Sizes in bytes."""

    name: str
    free_bytes: int
    total_bytes: int
    neighbours: tuple[Neighbour, ...] = ()

    def described(self) -> str:
        """One line of its memory and its neighbours."""
        free = f"{self.free_bytes / GB:.1f} of {self.total_bytes / GB:.1f} GB free"
        others = [neighbour.described() for neighbour in self.neighbours]
        return f"{self.name}: {', '.join([free, *others])}"


class NodeFacts(BaseModel):
    """What one node gives a process of a run. Sizes in bytes; null where unknown."""

    model_config = ConfigDict(frozen=True)

    node: str
    devices: tuple[Device, ...] = ()
    driver: str | None = None
    torch: str
    cuda: str | None = None  # that torch is built for
    device_error: str | None = None
    cores: int
    memory_bytes: int | None
    free_bytes: Mapping[str, int]  # on the disk, by folder
    step_error: str | None = None  # of two samples, as runs make theirs

    def described(self) -> str:
        """One line of what there is."""
        of_gpus = [
            f"{device.name} ({device.free_bytes / GB:.0f} of {device.total_bytes / GB:.0f} GB free)"
            for device in self.devices
        ]
        memory = f"{self.memory_bytes / GB:.0f} GB of memory" if self.memory_bytes else "memory"
        free = ", ".join(f"{size / GB:.0f} GB free in {at}" for at, size in self.free_bytes.items())
        parts = [*of_gpus, f"{self.cores} cores", memory, free, f"torch {self.torch}"]
        if self.cuda:
            parts.append(f"CUDA {self.cuda}")
        if self.driver:
            parts.append(f"driver {self.driver}")
        return f"{self.node}: {', '.join(parts)}"


def node_findings(spec: Spec, facts: Sequence[NodeFacts]) -> list[str]:
    """Return a line for each thing that is wrong on a node, with what to do; none: all is well."""
    found = [line for node in facts for line in _of_node(spec, node)]
    if len(facts) < spec.nodes:
        names = ", ".join(node.node for node in facts) or "none"
        found.append(
            f"{len(facts)} of {spec.nodes} nodes answered ({names}): the others do not see this "
            "folder, or not this environment; put both where all nodes find them"
        )
    return found


def patience_s(limit_s: float, import_s: float) -> float:
    """Return a limit of time where an import of torch takes `import_s`."""
    return limit_s + IMPORTS * import_s


def notes(spec: Spec, node: NodeFacts) -> list[str]:
    """Return a line for each thing on a node that disturbs times and ends no run."""
    shared = spec.hardware.allow_oversubscription
    neighbours = [
        f"note: {node.node}: GPU {index}: {device.described()}: times may hold waiting for them"
        for index, device in enumerate(node.devices)
        if device.neighbours and (shared or not _occupied(device))
    ]
    cores = _shared_cores(spec, node)
    return [cores, *neighbours] if cores else neighbours


def _shared_cores(spec: Spec, node: NodeFacts) -> str | None:
    """The line for workers that share cores: they train, and time each other's waiting."""
    workers, threads = devices_per_node(spec), spec.hardware.threads_per_worker
    if node.cores >= workers * threads:
        return None
    lower = "hardware.threads_per_worker or " if threads > 1 else ""
    return (
        f"note: {node.node}: {node.cores} cores for {workers} workers of {threads} threads: their "
        f"times will hold waiting for a core; let the job have more cores, or set {lower}"
        "hardware.workers_per_node lower"
    )


def _of_node(spec: Spec, node: NodeFacts) -> list[str]:
    workers, hardware = devices_per_node(spec), spec.hardware
    found = []
    if hardware.device == "cuda":
        shared = hardware.allow_oversubscription
        found += _device_findings(node, 1 if shared else workers)
        found += [] if shared else _occupied_devices(node, workers)
    needed = workers * WORKER_BYTES[hardware.device]
    if node.memory_bytes is not None and node.memory_bytes < needed:
        found.append(
            f"{node.memory_bytes / GB:.1f} GB of memory for {workers} workers, which take about "
            f"{needed / GB:.1f} GB before they train; raise mem_mb in profiles/slurm/config.yaml"
        )
    if node.step_error:
        found.append(node.step_error)
    found += [
        f"{size / GB:.1f} GB free in {folder}; free some space, or choose another folder"
        for folder, size in node.free_bytes.items()
        if size < FREE_BYTES
    ]
    return [f"{node.node}: {line}" for line in found]


def _device_findings(node: NodeFacts, asked: int) -> list[str]:
    if node.cuda is None:
        return [
            f"torch {node.torch} is built without CUDA; install another build (envs/README.md), or "
            "set hardware.device: cpu"
        ]
    if node.device_error:
        return [
            f"CUDA does not start: {node.device_error} (torch {node.torch} for CUDA {node.cuda}, "
            f"driver {node.driver or 'unknown'}); update the driver, or install the build of torch "
            "for the CUDA of your driver (envs/README.md)"
        ]
    if len(node.devices) < asked:
        return [
            f"{len(node.devices)} GPUs of the {asked} asked for are visible; see gpu_name in "
            "profiles/slurm/config.yaml and CUDA_VISIBLE_DEVICES, or set hardware.devices, "
            "hardware.workers_per_node and scaling.workers to what there is"
        ]
    return []


def _occupied(device: Device) -> bool:
    return device.free_bytes < FREE_FRAC * device.total_bytes


def _occupied_devices(node: NodeFacts, workers: int) -> list[str]:
    return [
        f"GPU {index}: {device.described()}; end what else is on it, choose others with "
        "CUDA_VISIBLE_DEVICES, or share them with hardware.allow_oversubscription: true"
        for index, device in enumerate(node.devices[:workers])
        if _occupied(device)
    ]


def model_findings(
    rank_nodes: Sequence[str], rank_devices: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return the line for workers whose devices are of several models; none: they are alike.

    rank_nodes, rank_devices: as in the record of their exchange.
    """
    where: dict[tuple[str, str], list[str]] = {}
    for device in rank_devices:
        rank, model = device["rank"], device["model"]
        where.setdefault((rank_nodes[rank], model), []).append(str(rank))
    if len({model for _, model in where}) < 2:
        return []
    each = [f"rank {', '.join(ranks)} on {node}: {model}" for (node, model), ranks in where.items()]
    return [
        f"the workers have different devices, of which the slowest paces the others: "
        f"{'; '.join(each)}; take those of one model, by gpu_name or constraint in "
        "profiles/slurm/config.yaml, or by CUDA_VISIBLE_DEVICES"
    ]


def group_finding(spec: Spec, failure: Failure | None, log: Path) -> str:
    """Return the line for workers that did not exchange a message; failure: None for too late."""
    by = spec.hardware.backend.upper() if spec.hardware.backend == "nccl" else "gloo"
    what = f"{spec.workers} workers did not exchange a message over {by}"
    why = f"{what}: {failure.described()}" if failure else f"{what} in time"
    todo = f"see {log}"
    if spec.nodes > 1 and (failure is None or failure.cause in (Cause.NETWORK, Cause.SILENT)):
        todo = (
            f"let compute nodes reach each other on TCP ports from {FIRST_PORT} to "
            f"{FIRST_PORT + PORTS - 1} and above 32767, or name the interface that leads there in "
            f"GLOO_SOCKET_IFNAME; {todo}"
        )
    elif spec.hardware.backend == "nccl":
        todo = f"repeat it with NCCL_DEBUG=INFO; {todo}"
    return f"{why}; {todo}"


def memory_bytes() -> int | None:
    """Return the memory that this process may use: the least of its cgroups' limits and the RAM."""
    try:
        total = Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except (OSError, IndexError):
        return None
    limits = [int(total) * 1024]
    for _, controllers, path in (line.split(":", 2) for line in lines):
        root, name = {
            "": (CGROUPS, "memory.max"),
            "memory": (CGROUPS / "memory", "memory.limit_in_bytes"),
        }.get(controllers, (None, ""))
        if root is None:
            continue
        folder = root / path.strip("/")
        for level in [folder, *folder.parents][: len(folder.relative_to(root).parts) + 1]:
            limit = level / name
            if limit.exists() and (text := limit.read_text().strip()).isdigit():
                limits.append(int(text))
    return min(limits)
