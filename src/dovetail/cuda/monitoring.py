"""Device monitoring by NVIDIA's management library (NVML): load, temperature, clock, power."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dovetail_kernel import DeviceLike

from .plugin import index_of, of_plugin


def utilization(device: DeviceLike | None = None) -> int:
    """Return the percentage of the last sampled time in which a device, by default the current one,
    ran kernels.

    Raises
    ------
    ModuleNotFoundError
        Without nvidia-ml-py; this holds for all functions below.
    AssertionError
        If CUDA is not available, with the reason.
    """
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).gpu)


def memory_usage(device: DeviceLike | None = None) -> int:
    """Return the percentage of the last sampled time in which memory was read or written."""
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).memory)


def device_memory_used(device: DeviceLike | None = None) -> int:
    """Return the memory of a device used by all processes, in bytes."""
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetMemoryInfo(handle).used)


def temperature(device: DeviceLike | None = None) -> int:
    """Return the temperature of the chip, in degrees Celsius."""
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU))


def power_draw(device: DeviceLike | None = None) -> int:
    """Return the power draw of a device in milliwatts."""
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetPowerUsage(handle))


def clock_rate(device: DeviceLike | None = None) -> int:
    """Return the clock of the multiprocessors, in MHz."""
    library, handle = _nvml(device)
    return int(library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM))


def list_gpu_processes(device: DeviceLike | None = None) -> str:
    """Return the processes that use memory of a device, one per line."""
    library, handle = _nvml(device)
    index = index_of(device)
    lines = [f"GPU:{of_plugin('devices').current_device() if index is None else index}"]
    for each in library.nvmlDeviceGetComputeRunningProcesses(handle):
        # The driver does not tell of other users' processes.
        told = each.usedGpuMemory
        used = "an unknown amount of" if told is None else f"{told / 2**20:.3f} MB"
        lines.append(f"process {each.pid:>10} uses {used} GPU memory")
    return "\n".join(lines if len(lines) > 1 else [*lines, "no processes are running"])


def _nvml(device: DeviceLike | None) -> tuple[Any, Any]:
    """Return the library, and its handle of a device: that at its place on the bus, for NVML does
    not know CUDA_VISIBLE_DEVICES.
    """
    address = of_plugin("devices").bus_address(index_of(device))
    try:
        library: Any = import_module("pynvml")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported: it tells load, "
            "temperature and power. Install it: pip install nvidia-ml-py",
            name="pynvml",
        ) from error
    library.nvmlInit()
    return library, library.nvmlDeviceGetHandleByPciBusId(address.encode())
