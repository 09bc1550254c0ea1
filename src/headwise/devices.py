"""The choice of a device and of the precision of matrix products."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headwise.errors import ConfigError

if TYPE_CHECKING:
    import torch


def usable_cpus() -> set[int]:
    """The numbers of the logical processors that this process may use; on macOS and Windows, of all."""
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def best_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is a GPU if there is one."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def local_gpu(number: int) -> torch.device:
    """The GPU of one of several processes that a launcher has started on this machine."""
    import torch

    gpus = torch.cuda.device_count()
    if number >= gpus:
        raise ConfigError(
            f"process {number} of this machine has no GPU: there are {gpus}; "
            "lower --nproc-per-node, or give --device cpu"
        )
    return torch.device("cuda", number)


def has_fast_bfloat16(name: str = "auto") -> bool:
    """Whether the device of that name is a CPU with instructions for products in bfloat16 (AVX-512 BF16, AMX)."""
    import torch

    cpu, built = torch.cpu, torch._C._has_mkldnn
    fast = built and (cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported())
    return bool(fast) and best_device(name).type == "cpu"


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """The precision of matrix products while training; None: that of the weights.

    `auto` is bfloat16 on a GPU that supports it, else float32. On some CPUs bfloat16 is up to twice as fast, but oneDNN
    keeps memory for every shape of batch: there it must be chosen explicitly, as train/tuning.py does for short runs.
    """
    import torch

    if precision == "auto":
        precision = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported(False) else "float32"
    return torch.bfloat16 if precision == "bfloat16" else None
