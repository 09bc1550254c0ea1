"""Kernels that begin before the one before them has ended: what they can do without its results, they do meanwhile.

A small model's step is a chain of kernels that last a few microseconds each, and about one passes between the end of
one and the start of the next. A GPU that knows "programmatic dependent launch" (NVIDIA's from 2022 on) starts the
programs of the next one early; they fetch weights, and then wait. Behind a kernel that does not let others begin,
waiting only takes time.

It is safe because every program of such a kernel waits before it reads what others write, and before it writes: so the
end of a kernel means the end of all before it. All other kernels are launched in the ordinary way, behind all of them.
"""
# ruff: noqa: N803  (what is known at compile time is written in capitals)
# mypy: ignore-errors

import functools

import torch
import triton
import triton.language as tl

try:
    from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
except ImportError:  # a Triton for others' GPUs, where nothing overlaps
    gdc_launch_dependents = gdc_wait = None


def overlap(before):
    """What a kernel that calls `let_next_begin_and_wait` is launched with, given what the kernel before it has made."""
    if not before.is_cuda or not _can(before.device):
        return {"OVERLAP": False}
    return {"OVERLAP": True, "launch_pdl": getattr(before, "made_by_overlapping", False)}


def overlapping(made):
    """Have it known of what a kernel makes that the next one may begin early. Where that is forgotten, or wrong because
    another kernel came between, it costs time, never results."""
    made.made_by_overlapping = True
    return made


@functools.cache
def _can(device):
    return gdc_wait is not None and torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


@triton.jit
def let_next_begin_and_wait(OVERLAP: tl.constexpr):
    """All that other kernels write is read after this, and all that they read is written after it."""
    if OVERLAP:
        gdc_launch_dependents()
        gdc_wait()
