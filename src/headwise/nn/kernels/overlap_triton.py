"""Programmatic dependent launch: kernels that start before the previous one has ended.

A step of a small model is a chain of kernels of a few microseconds each, with about one microsecond between the end of
one and the start of the next. GPUs with programmatic dependent launch (NVIDIA's from 2022 on) start the programs of the
next kernel early; they fetch weights, and then wait for the previous kernel. After a kernel that does not let others
start early, the wait only costs time.

This is safe because every program of such a kernel waits before it reads what others write, and before it writes: so
the end of a kernel means the end of all before it. All other kernels are launched in the ordinary way.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import functools

import torch
import triton
import triton.language as tl

try:
    from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
except ImportError:  # Triton for other vendors' GPUs, where nothing overlaps
    gdc_launch_dependents = gdc_wait = None


MARK = "made_by_overlapping_kernel"
"""Attribute of a tensor whose kernel lets the next one start early. It is a hint for the launch alone, and views and
copies lose it: without it, or with a wrong one because another kernel came between, a launch costs time, never results.
Passing it as a value would thread a flag through every function between two kernels."""


def overlap(before):
    """Launch arguments of a kernel that calls `let_next_begin_and_wait`; `before`: output of the previous kernel."""
    if not before.is_cuda or not _can(before.device):
        return {"OVERLAP": False}
    return {"OVERLAP": True, "launch_pdl": getattr(before, MARK, False)}


def overlapping(output):
    """Mark a tensor as the output of a kernel that lets the next one start early (see `MARK`)."""
    setattr(output, MARK, True)
    return output


@functools.cache
def _can(device):
    return gdc_wait is not None and torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


@triton.jit
def let_next_begin_and_wait(OVERLAP: tl.constexpr):
    """Let the next kernel start, then wait for the previous one. Reads and writes of shared memory come after this."""
    if OVERLAP:
        gdc_launch_dependents()
        gdc_wait()
