"""What a first run would trip over on its nodes: what they show, set against what a run needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dpscale.attempts import Cause, Failure
from dpscale.launch.command import FIRST_PORT, PORTS
from dpscale.launch.node import devices_per_node
from dpscale.plan import Spec

GB = 10**9
# What a worker asks of the host at least: torch and the rest of a run's imports were measured at
# 0.6 GB resident, of which workers of a node share the libraries; for CUDA's it is an estimate.
WORKER_BYTES = {"cpu": GB // 2, "cuda": 2 * GB}
FREE_BYTES = GB  # records, tables and report stay below it by far
CGROUPS = Path("/sys/fs/cgroup")


class Device(BaseModel):
    """A GPU as torch sees it. Sizes in bytes."""

    name: str
    free_bytes: int
    total_bytes: int


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
    compile_error: str | None = None

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


def shared_cores(spec: Spec, node: NodeFacts) -> str | None:
    """Return the line for workers that share cores: they train, and time each other's waiting."""
    workers, threads = devices_per_node(spec), spec.hardware.threads_per_worker
    if node.cores >= workers * threads:
        return None
    return (
        f"note: {node.node}: {node.cores} cores for {workers} workers of {threads} threads: their "
        "times will hold waiting for a core; let the job have more cores, or set "
        "hardware.threads_per_worker or hardware.workers_per_node lower"
    )


def _of_node(spec: Spec, node: NodeFacts) -> list[str]:
    workers, hardware = devices_per_node(spec), spec.hardware
    found = []
    if hardware.device == "cuda":
        found += _device_findings(node, 1 if hardware.allow_oversubscription else workers)
    needed = workers * WORKER_BYTES[hardware.device]
    if node.memory_bytes is not None and node.memory_bytes < needed:
        found.append(
            f"{node.memory_bytes / GB:.1f} GB of memory for {workers} workers, which take about "
            f"{needed / GB:.1f} GB before they train; raise mem_mb in profiles/slurm/config.yaml"
        )
    if node.compile_error:
        found.append(
            f"training.compile is on, and nothing compiles here: {node.compile_error}; install a C "
            "compiler and Python's headers (gcc and python3-dev), or set training.compile: false"
        )
    found += [
        f"{size / GB:.1f} GB free in {folder}; free some space, or choose another folder"
        for folder, size in node.free_bytes.items() if size < FREE_BYTES
    ]  # fmt: skip
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
            "": (CGROUPS, "memory.max"), "memory": (CGROUPS / "memory", "memory.limit_in_bytes"),
        }.get(controllers, (None, ""))  # fmt: skip
        if root is None:
            continue
        folder = root / path.strip("/")
        for level in [folder, *folder.parents][: len(folder.relative_to(root).parts) + 1]:
            limit = level / name
            if limit.exists() and (text := limit.read_text().strip()).isdigit():
                limits.append(int(text))
    return min(limits)
