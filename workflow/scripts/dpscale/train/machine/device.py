"""The device of a worker, how many there are, and what the work takes of it."""

import os
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from dpscale.config.sections import HardwareConfig, TrainingConfig

Sample = tuple[int, int]  # Unix time in microseconds, percent of the time since the sample before
LONGEST_SAMPLE_US = 2_000_000  # NVML's are of 1/6 to 1 s
POLL_S = 2.0  # NVML keeps a hundred samples or so
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def available_devices(hardware: HardwareConfig) -> int:
    """Devices that this process sees: CUDA devices, or CPU cores over the threads of a worker.

    In a job of Slurm those are the ones that the job asked for, not those of the machine.
    """
    if hardware.device == "cuda":
        return torch.cuda.device_count()
    return max(1, len(os.sched_getaffinity(0)) // hardware.threads_per_worker)


def machine_id() -> str:
    """What all processes under one kernel share, in containers and network namespaces too."""
    return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else socket.gethostname()


def visible_units(hardware: HardwareConfig) -> list[str]:
    """What this process sees of the machine, by names that are the same in every process there.

    CUDA devices, whose numbers start at zero in each job, or CPU cores.
    """
    if hardware.device == "cpu":
        return [str(core) for core in sorted(os.sched_getaffinity(0))]
    seen = range(torch.cuda.device_count())
    return [str(torch.cuda.get_device_properties(index).uuid) for index in seen]


def most_shared(
    seen: Sequence[tuple[str, Sequence[str]]], units_per_device: int
) -> tuple[int, int]:
    """Workers and devices of the machine where a device has most workers, then of most workers.

    seen: of each worker its machine and what it sees of it. A machine offers what all its workers
    see together: nodes that share a kernel may be given the same cores or different ones.
    """
    machines: dict[str, tuple[int, set[str]]] = {}
    for machine, units in seen:
        workers, known = machines.get(machine, (0, set()))
        machines[machine] = (workers + 1, known | set(units))
    shares = [(count, max(1, len(units) // units_per_device)) for count, units in machines.values()]
    return max(shares, key=lambda share: (share[0] / share[1], share[0]))


def open_device(hardware: HardwareConfig, local_rank: int) -> torch.device:
    """The device of the worker with this rank on its node, made the current one.

    With fewer devices than workers the devices are shared round-robin.
    """
    torch.set_num_threads(hardware.threads_per_worker)
    if hardware.device == "cpu":
        return torch.device("cpu")
    device = torch.device("cuda", local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def set_backends(training: TrainingConfig) -> None:
    """Let CUDA compute as the settings say: in TF32 or not, with the fastest of cuDNN's algorithms.

    fp32 means fp32, in matrix products and convolutions: torch by itself takes TF32 for these.
    """
    tf32 = training.precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = training.cudnn_benchmark


def device_model(hardware: HardwareConfig, device: torch.device | None = None) -> str:
    """Model of a device, by default this worker's; of a GPU with power limit, driver and CUDA."""
    if hardware.device == "cuda" and torch.cuda.is_available():
        limit_w = power_limit_w(device or torch.device("cuda", torch.cuda.current_device()))
        limit = "" if limit_w is None else f"{limit_w:.0f} W, "
        driver = driver_version() or "unknown"
        name = torch.cuda.get_device_name(device)
        return f"{name} ({limit}driver {driver}, CUDA {torch.version.cuda})"
    return "CPU core" if hardware.threads_per_worker == 1 else "group of CPU cores"


def device_libraries(hardware: HardwareConfig) -> dict[str, str]:
    """Versions of the libraries that a GPU computes and communicates with; empty on a CPU."""
    if hardware.device == "cpu":
        return {}
    cudnn = torch.backends.cudnn.version()  # 91002 is 9.10.2
    nccl = torch.cuda.nccl.version() if torch.distributed.is_nccl_available() else None
    libraries = {
        "nccl": nccl and ".".join(map(str, nccl)),
        "cudnn": cudnn and f"{cudnn // 10_000}.{cudnn // 100 % 100}.{cudnn % 100}",
    }
    return {name: version for name, version in libraries.items() if version}


def nvml_handle(device: torch.device) -> Any:
    """NVML's handle of a GPU. Raises NVML's errors, and ImportError without its bindings."""
    import pynvml

    pynvml.nvmlInit()
    uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    return pynvml.nvmlDeviceGetHandleByUUID(uuid)


def power_limit_w(device: torch.device) -> float | None:
    """The limit that a GPU's power is set to, in watts; None where NVML cannot be read."""
    try:
        import pynvml

        return float(pynvml.nvmlDeviceGetPowerManagementLimit(nvml_handle(device)) / 1e3)
    except Exception:  # NVML is optional, and says so by errors of its own
        return None


def driver_version() -> str | None:
    """Version of NVIDIA's driver; None where NVML cannot be read."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:  # NVML is optional, and says so by errors of its own
        return None


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all the work given to it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Utilisation:
    """Share of the time, between enter and exit, in which the device worked.

    A CPU: processor time of this process over wall time and threads. A GPU: mean of NVML's
    utilisation (share of time with a kernel running; not efficiency) over its samples that lie
    within; None where there is none, as in a time shorter than a sample, or NVML cannot be read.
    """

    def __init__(self, device: torch.device, threads: int) -> None:
        self.device, self.threads = device, threads
        self.frac: float | None = None
        self._samples: set[Sample] = set()
        self._stop = threading.Event()

    def __enter__(self) -> "Utilisation":
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._began_us = time.time_ns() // 1000
        if self.device.type == "cuda":
            self._thread.start()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall_s = time.perf_counter() - self._wall
        if self.device.type == "cuda":
            ended_us = time.time_ns() // 1000
            self._stop.set()
            self._thread.join()
            self.frac = mean_within(self._samples, self._began_us, ended_us)
        elif wall_s > 0:
            # Helper threads of the backend count as work too: the share is capped at one.
            self.frac = min(1.0, (time.process_time() - self._cpu) / (wall_s * self.threads))

    def _sample(self) -> None:
        """Gather NVML's samples now and then, since it keeps the last ones alone, and at the end.

        From a sample before the begin on, which tells where the first one within begins.
        """
        since_us, over = self._began_us - LONGEST_SAMPLE_US, False
        while not over:
            over = self._stop.wait(POLL_S)
            try:
                self._samples |= _utilisation_samples(self.device, since_us)
            except Exception:  # no NVML, or no sample yet: without any utilisation is unknown
                continue


def mean_within(samples: Iterable[Sample], began_us: int, ended_us: int) -> float | None:
    """Mean utilisation, a fraction, of the samples that lie between two times; None without one.

    A sample tells of the time since the one before it.
    """
    within = [
        (later_us - earlier_us, percent)
        for (earlier_us, _), (later_us, percent) in pairwise(sorted(samples))
        if began_us <= earlier_us and later_us <= ended_us
    ]
    total_us = sum(length_us for length_us, _ in within)
    return sum(us * percent for us, percent in within) / total_us / 100 if within else None


def _utilisation_samples(device: torch.device, since_us: int) -> set[Sample]:
    """NVML's samples after a time. Raises NVML's errors, and ImportError without its bindings."""
    import pynvml

    kind = pynvml.NVML_GPU_UTILIZATION_SAMPLES
    _, samples = pynvml.nvmlDeviceGetSamples(nvml_handle(device), kind, since_us)
    return {(sample.timeStamp, sample.sampleValue.uiVal) for sample in samples}
