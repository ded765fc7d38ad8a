"""The device of a worker, how many there are, and what the work takes of it."""

import os
import threading
import time
from collections.abc import Sequence

import torch

from dpscale.config.sections import HardwareConfig, TrainingConfig


def available_devices(hardware: HardwareConfig) -> int:
    """Devices that this process sees: CUDA devices, or CPU cores over the threads of a worker.

    In a job of Slurm those are the ones that the job asked for, not those of the machine.
    """
    if hardware.device == "cuda":
        return torch.cuda.device_count()
    return max(1, len(os.sched_getaffinity(0)) // hardware.threads_per_worker)


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


def set_float32_precision(training: TrainingConfig) -> None:
    """Let matrix products and convolutions of float32 run in TF32 on CUDA, or not.

    fp32 means fp32: torch by itself takes TF32 for convolutions.
    """
    tf32 = training.precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32


def device_model(hardware: HardwareConfig) -> str:
    """Model of the device; of a GPU with its driver and CUDA version."""
    if hardware.device == "cuda" and torch.cuda.is_available():
        driver = _driver() or "unknown"
        return f"{torch.cuda.get_device_name()} (driver {driver}, CUDA {torch.version.cuda})"
    return "CPU core" if hardware.threads_per_worker == 1 else "group of CPU cores"


def _driver() -> str | None:
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
    utilisation (share of time with a kernel running; not efficiency), sampled four times a second;
    None where NVML cannot be read.
    """

    def __init__(self, device: torch.device, threads: int) -> None:
        self.device, self.threads = device, threads
        self.frac: float | None = None
        self._samples: list[float] = []
        self._stop = threading.Event()

    def __enter__(self) -> "Utilisation":
        self._thread = threading.Thread(target=self._sample, daemon=True)
        if self.device.type == "cuda":
            self._thread.start()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall_s = time.perf_counter() - self._wall
        if self.device.type == "cuda":
            self._stop.set()
            self._thread.join()
            self.frac = sum(self._samples) / len(self._samples) if self._samples else None
        elif wall_s > 0:
            # Helper threads of the backend count as work too: the share is capped at one.
            self.frac = min(1.0, (time.process_time() - self._cpu) / (wall_s * self.threads))

    def _sample(self) -> None:
        while not self._stop.wait(0.25):
            try:
                self._samples.append(torch.cuda.utilization(self.device) / 100)
            except Exception:  # NVML is optional: without it utilisation is unknown
                return
