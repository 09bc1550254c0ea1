"""GPU kernels in Triton, each with a plain version that is its oracle and its replacement on other devices.

Triton comes with PyTorch's builds for GPUs and is imported only where a kernel runs. With TRITON_INTERPRET=1 set before
the start, its interpreter runs the kernels on a CPU: slowly, but their arithmetic can be tested there.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

INSTALLED = find_spec("triton") is not None
INTERPRETED = INSTALLED and os.environ.get("TRITON_INTERPRET") == "1"


def usable(tensor: Tensor) -> bool:
    """Whether the kernels of this package can run on the device of `tensor`."""
    return INSTALLED and (tensor.is_cuda or INTERPRETED)


def usable_on(device: torch.device) -> bool:
    """Whether all kernels can run on a device: Triton compiles some only for GPUs with bfloat16, NVIDIA's from 2020 on.
    Not for code under torch.compile, which cannot query the device."""
    return INSTALLED and torch.cuda.get_device_capability(device)[0] >= 8 if device.type == "cuda" else INTERPRETED


def usable_in_half(*tensors: Tensor) -> bool:
    """Whether the kernels can run on these tensors, and all have one half precision: memory is the bottleneck."""
    first = tensors[0]
    known = (torch.float16,) if INTERPRETED else (torch.bfloat16, torch.float16)  # bfloat16 cannot be interpreted
    halves = first.dtype in known and all(each.dtype == first.dtype for each in tensors)
    return halves and usable(first)


def side_by_side(launches: Sequence[Callable[[], None]], device: torch.device) -> None:
    """Launch independent kernels on streams of their own, so that none waits for the last program of another."""
    others = _streams(device, len(launches) - 1) if device.type == "cuda" else []
    if not others:
        for launch in launches:
            launch()
        return
    current = torch.cuda.current_stream(device)
    for stream, launch in zip(others, launches[1:], strict=True):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            launch()
    launches[0]()
    for stream in others:
        current.wait_stream(stream)


@cache
def _streams(device: torch.device, count: int) -> list[torch.cuda.Stream]:
    return [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]
