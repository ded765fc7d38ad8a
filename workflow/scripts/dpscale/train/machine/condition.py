"""The devices of a worker: which they are, and what they went through in a run."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dpscale.config.sections import HardwareConfig
from dpscale.train.machine.device import device_model, nvml_handle, power_limit_w

Facts = dict[str, Any]
ALLOCATOR_COUNTS = ("num_ooms", "num_alloc_retries")  # of torch.cuda.memory_stats
# What slows a GPU down, with NVML's name of the counter of that time.
THROTTLED = {
    "power_throttled_s": "NVML_PERF_POLICY_POWER",
    "thermal_throttled_s": "NVML_PERF_POLICY_THERMAL",
}
REASON = "nvmlClocksEventReason"


class Condition:
    """The devices of a worker, and what they go through from construction on."""

    def __init__(self, hardware: HardwareConfig, devices: Sequence[torch.device]) -> None:
        self._hardware, self._devices = hardware, devices
        self._before = [_counted(device) for device in devices]

    def described(self) -> list[Facts]:
        """The model of each device, and of a GPU what does not change in a run."""
        return [
            {"model": device_model(self._hardware, device)} | _properties(device)
            for device in self._devices
        ]

    def since(self) -> list[Facts]:
        """Of each device what failed, what held it back, and how it stands now; null if unknown.

        num_ooms: allocations that failed, of which cuDNN's search for an engine keeps some to
        itself; num_alloc_retries: those tried again after the allocator had emptied its cache.
        """
        return [
            _difference(_counted(device), before) | _state(device)
            for device, before in zip(self._devices, self._before, strict=True)
        ]


def _counted(device: torch.device) -> Facts:
    """What only ever grows; empty on a CPU."""
    if device.type == "cpu":
        return {}
    stats, told = torch.cuda.memory_stats(device), _nvml(device)
    times = {key: told("nvmlDeviceGetViolationStatus", name) for key, name in THROTTLED.items()}
    return {key: stats.get(key, 0) for key in ALLOCATOR_COUNTS} | {
        key: time and time.violationTime / 1e9 for key, time in times.items()
    }


def _difference(now: Facts, before: Facts) -> Facts:
    known = {key for key, value in now.items() if None not in (value, before[key])}
    return {key: value - before[key] if key in known else None for key, value in now.items()}


def _properties(device: torch.device) -> Facts:
    if device.type == "cpu":
        return {}
    told = _nvml(device)
    bus = told("nvmlDeviceGetPciInfo")
    return {
        "uuid": str(torch.cuda.get_device_properties(device).uuid),
        "pci_bus": bus and bus.busId,
        "pcie_generation": told("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie_width": told("nvmlDeviceGetCurrPcieLinkWidth"),
        "power_limit_w": power_limit_w(device),
        "max_sm_clock_mhz": told("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM"),
        "max_memory_clock_mhz": told("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_MEM"),
    }


def _state(device: torch.device) -> Facts:
    if device.type == "cpu":
        return {}
    told = _nvml(device)
    # Drivers before 535 know the older name alone.
    reasons = told("nvmlDeviceGetCurrentClocksEventReasons")
    if reasons is None:
        reasons = told("nvmlDeviceGetCurrentClocksThrottleReasons")
    return {
        "sm_clock_mhz": told("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
        "memory_clock_mhz": told("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
        "temperature_c": told("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
        "held_back_by": None if reasons is None else _reasons(reasons),
    }


def _reasons(mask: int) -> list[str]:
    """The reasons of a mask for which a GPU's clocks are not the highest, by NVML's names."""
    import pynvml

    names = [name for name in vars(pynvml) if name.startswith(REASON)]
    single = [name for name in names if getattr(pynvml, name) in (1 << bit for bit in range(64))]
    return [name.removeprefix(REASON) for name in single if getattr(pynvml, name) & mask]


def _nvml(device: torch.device) -> Callable[..., Any]:
    """A function that asks NVML something of a GPU: its name, and names of constants.

    It returns None for what NVML does not tell.
    """

    def told(function: str, *constants: str) -> Any:
        """Ask."""
        try:
            import pynvml

            given = [getattr(pynvml, name) for name in constants]
            return getattr(pynvml, function)(nvml_handle(device), *given)
        except Exception:  # NVML is optional, and says so by errors of its own
            return None

    return told
