"""Triton kernel of `row_product`: a program computes some columns of some rows, or one part of their sums."""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait, overlap, overlapping


def row_product(x, weight, bias, relu, parts, tile):
    rows, (columns, depth) = len(x), weight.shape
    out = x.new_empty(rows, columns) if parts == 1 else x.new_empty(parts, rows, columns, dtype=torch.float32)
    _product[(triton.cdiv(columns, tile.columns), triton.cdiv(rows, tile.rows), parts)](
        x, weight, weight if bias is None else bias, out, rows, columns, x.stride(0), weight.stride(0),
        DEPTH=depth // parts, BIAS=bias is not None, RELU=relu, ROWS=tile.rows, COLUMNS=tile.columns, CHUNK=tile.chunk,
        num_warps=tile.warps, num_stages=tile.stages, **overlap(x),
    )  # fmt: skip
    return overlapping(out)


@triton.jit(do_not_specialize=["rows"])
def _product(
    x_pointer, weight_pointer, bias_pointer, out_pointer, rows, columns, x_stride, weight_stride,
    DEPTH: tl.constexpr, BIAS: tl.constexpr, RELU: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, CHUNK: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    """out = x W^T + b, or the ReLU of it."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    part = tl.program_id(2)
    number = part * DEPTH + tl.arange(0, CHUNK)
    of_columns, of_rows = (column < columns)[:, None], (row < rows)[:, None]
    weights = weight_pointer + column[:, None] * weight_stride + number[None, :]
    own = x_pointer + row[:, None] * x_stride + number[None, :]
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    if BIAS:
        total += tl.load(bias_pointer + column, (column < columns) & (part == 0), 0.0).to(tl.float32)[None, :]
    if CHUNK == DEPTH:  # load all weights before the wait
        ahead = tl.load(weights, of_columns, 0.0)
        let_next_begin_and_wait(OVERLAP)
        total = tl.dot(tl.load(own, of_rows, 0.0), tl.trans(ahead), total)
    else:
        let_next_begin_and_wait(OVERLAP)
        for start in range(0, DEPTH, CHUNK):
            values = tl.load(own + start, of_rows, 0.0)
            total = tl.dot(values, tl.trans(tl.load(weights + start, of_columns, 0.0)), total)
    if RELU:
        total = tl.where(total < 0.0, 0.0, total)  # keeps NaN
    out = out_pointer + (part * rows + row)[:, None] * columns + column[None, :]
    tl.store(out, total.to(out_pointer.dtype.element_ty), of_rows & (column < columns)[None, :])
