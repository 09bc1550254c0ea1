"""Triton kernel for the last step of sums over all rows: adds the parts that another kernel's programs wrote."""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 32
ROWS = 128


def summed(parts: Tensor, dtype: torch.dtype) -> Tensor:
    """Add up parts: [sums, parts, columns] float32 -> [sums, columns]."""
    sums, count, width = parts.shape
    out = torch.empty((sums, width), dtype=dtype, device=parts.device)
    _sum[(-(-width // COLUMNS), sums)](parts, out, count, width, COLUMNS=COLUMNS, ROWS=ROWS, num_warps=4)
    return out


@triton.jit
def _sum(parts_pointer, out_pointer, count, width, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    which = tl.program_id(1)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, count, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < count)[:, None] & (column < width)[None, :]
        place = (which * count + row)[:, None] * width + column[None, :]
        total += tl.load(parts_pointer + place, inside, 0.0)
    result = tl.sum(total, 0).to(out_pointer.dtype.element_ty)
    tl.store(out_pointer + which * width + column, result, column < width)
