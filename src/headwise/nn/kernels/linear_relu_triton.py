"""Triton kernel for the backward pass of a ReLU and of the bias before it, in one pass over memory.

A program takes some columns of some rows, and writes its part of their sums.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def backward(
    d_out_pointer, out_pointer, d_sum_pointer, parts_pointer, rows, rounds, width,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Pass the gradient where the output is above 0."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    program = tl.program_id(1)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for number in range(rounds):
        row = (program * rounds + number) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (column < width)[None, :]
        place = row.to(tl.int64)[:, None] * width + column[None, :]
        out = tl.load(out_pointer + place, inside, 0.0)
        d_out = tl.load(d_out_pointer + place, inside, 0.0)
        d_sum = tl.where(out > 0, d_out, 0.0)
        tl.store(d_sum_pointer + place, d_sum, inside)
        total += d_sum.to(tl.float32)
    tl.store(parts_pointer + program * width + column, tl.sum(total, 0), column < width)
