"""Which processor to use, and in which precision."""

import torch

from headwise.errors import ConfigError


def best_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """The precision of matrix products while training; None: that of the weights.

    `auto` is bfloat16 where the processor multiplies it in hardware, which is about twice as fast.
    """
    if precision == "auto":
        precision = "bfloat16" if _multiplies_bfloat16(device) else "float32"
    return torch.bfloat16 if precision == "bfloat16" else None


def _multiplies_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":  # PyTorch has no public name for these yet
        checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        return any(getattr(torch.cpu, check, bool)() for check in checks)
    return False
