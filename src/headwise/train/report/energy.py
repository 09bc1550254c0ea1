"""Energy consumption of GPUs, from NVML's counter, which is read through ctypes."""

import ctypes
import os
import sys
from typing import Any

import torch


class EnergyMeter:
    """Measures the watt-hours that the GPUs of a run on this machine use; None if they do not report energy."""

    def __init__(self) -> None:
        self._library, self._handles = _handles()
        self._begun = self._joules()

    def watt_hours(self) -> float | None:
        now = self._joules()
        return None if now is None or self._begun is None else (now - self._begun) / 3600

    def _joules(self) -> float | None:
        total = 0.0
        for handle in self._handles:
            millijoules = ctypes.c_ulonglong()
            if self._library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules)):
                return None  # GPUs before 2018 have no such counter
            total += millijoules.value / 1000
        return total if self._handles else None


def _handles() -> tuple[Any, list[ctypes.c_void_p]]:
    """The NVML library and its handles for the GPUs that this run uses on this machine."""
    nothing: tuple[Any, list[ctypes.c_void_p]] = (None, [])
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # training runs on another device
        return nothing
    try:
        library = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
    except OSError:
        return nothing
    if library.nvmlInit_v2():
        return nothing
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    numbers = range(min(processes, torch.cuda.device_count())) if processes > 1 else [torch.cuda.current_device()]
    handles = []
    for number in numbers:  # by UUID: NVML numbers all GPUs, CUDA only the visible ones
        handle = ctypes.c_void_p()
        name = f"GPU-{torch.cuda.get_device_properties(number).uuid}".encode()
        if library.nvmlDeviceGetHandleByUUID(name, ctypes.byref(handle)):
            return nothing
        handles.append(handle)
    return library, handles
