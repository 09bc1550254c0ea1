"""Kernels for GPUs, written in Triton, each with a plain version that is its oracle and its stand-in elsewhere.

Triton comes with PyTorch's builds for GPUs and is asked for only where a kernel runs. With TRITON_INTERPRET=1 set
before the start, its interpreter runs the kernels on a CPU: slowly, but so that their arithmetic can be tested there.
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
    """Whether the kernels of this package can work where `tensor` lies."""
    return INSTALLED and (tensor.is_cuda or INTERPRETED)


def usable_on(device: torch.device) -> bool:
    """The same of a device, and stricter: Triton compiles all of them for GPUs with bfloat16 alone, NVIDIA's from 2020
    on. Not for what is compiled itself, which cannot ask for that."""
    return INSTALLED and torch.cuda.get_device_capability(device)[0] >= 8 if device.type == "cuda" else INTERPRETED


def usable_in_half(*tensors: Tensor) -> bool:
    """Whether these lie where the kernels work, in one half precision: there memory is what a GPU waits for."""
    first = tensors[0]
    known = (torch.float16,) if INTERPRETED else (torch.bfloat16, torch.float16)  # it cannot multiply bfloat16
    halves = first.dtype in known and all(each.dtype == first.dtype for each in tensors)
    return halves and usable(first)


def side_by_side(launches: Sequence[Callable[[], None]], device: torch.device) -> None:
    """Kernels that do not touch each other's results: none waits until the last program of another has ended."""
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
