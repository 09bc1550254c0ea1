"""Triton kernels of `residual_norm`: a program takes some whole rows as one tile.

The dropout mask is not stored: a value's random number is a hash of its index and of the seed, computed again in the
backward pass. The gradients of gain and offset are sums over all rows: each program writes its part, to be added later.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait


@triton.jit
def _kept(place, seed, threshold):
    """Whether the values at these indices survive dropout: two rounds of multiply and xor-shift mix all bits."""
    x = (place.to(tl.uint32) * 0x9E3779B1) ^ seed
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    x = x ^ (x >> 16)
    return x >= threshold


@triton.jit
def forward(
    x_pointer, y_pointer, gain_pointer, offset_pointer, seed_pointer,
    sum_pointer, out_pointer, mean_pointer, scale_pointer,
    rows, epsilon, threshold, grown,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
    PARTS: tl.constexpr, DROPOUT: tl.constexpr, CENTRED: tl.constexpr, OFFSET: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    """out = norm(x + dropout(y)); also writes the sum, and the mean and inverse deviation of each row.

    y comes in PARTS parts that are to be added; 0: there is no y.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (column < WIDTH)[None, :]
    place = row.to(tl.int64)[:, None] * WIDTH + column[None, :]
    let_next_begin_and_wait(OVERLAP)
    z = tl.load(x_pointer + place, inside, 0.0).to(tl.float32)
    if PARTS > 0:
        y = tl.load(y_pointer + place, inside, 0.0).to(tl.float32)
        for part in tl.static_range(1, PARTS):
            y += tl.load(y_pointer + part * rows * WIDTH + place, inside, 0.0).to(tl.float32)
        if DROPOUT:
            seed = tl.load(seed_pointer).to(tl.uint32)
            y = tl.where(_kept(place, seed, threshold), y * grown, 0.0)
        z += y
        stored = z.to(sum_pointer.dtype.element_ty)
        tl.store(sum_pointer + place, stored, inside)
        z = stored.to(tl.float32)  # rounded as the backward pass will see it
    if CENTRED:
        mean = tl.sum(z, 1) / WIDTH
        tl.store(mean_pointer + row, mean, row < rows)
        z = tl.where(inside, z - mean[:, None], 0.0)
    scale = 1 / tl.sqrt(tl.sum(z * z, 1) / WIDTH + epsilon)
    tl.store(scale_pointer + row, scale, row < rows)
    gain = tl.load(gain_pointer + column, column < WIDTH, 0.0).to(tl.float32)
    out = z * scale[:, None] * gain[None, :]
    if OFFSET:
        out += tl.load(offset_pointer + column, column < WIDTH, 0.0).to(tl.float32)[None, :]
    tl.store(out_pointer + place, out.to(out_pointer.dtype.element_ty), inside)


@triton.jit
def backward(
    d_out_pointer, sum_pointer, mean_pointer, scale_pointer, gain_pointer, seed_pointer,
    d_x_pointer, d_y_pointer, d_gain_pointer, d_offset_pointer,
    rows, rounds, threshold, grown,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
    DROPOUT: tl.constexpr, CENTRED: tl.constexpr, OFFSET: tl.constexpr,
):  # fmt: skip
    """The gradients of x and y, which differ by dropout only, and this program's part of those of gain and offset."""
    program = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    gain = tl.load(gain_pointer + column, column < WIDTH, 0.0).to(tl.float32)
    d_gain = tl.zeros((BLOCK,), tl.float32)
    d_offset = tl.zeros((BLOCK,), tl.float32)
    if DROPOUT:
        seed = tl.load(seed_pointer).to(tl.uint32)
    for number in range(rounds):
        row = (program * rounds + number) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (column < WIDTH)[None, :]
        place = row.to(tl.int64)[:, None] * WIDTH + column[None, :]
        d_out = tl.load(d_out_pointer + place, inside, 0.0).to(tl.float32)
        z = tl.load(sum_pointer + place, inside, 0.0).to(tl.float32)
        scale = tl.load(scale_pointer + row, row < rows, 0.0)[:, None]
        if CENTRED:
            z -= tl.load(mean_pointer + row, row < rows, 0.0)[:, None]
        normed = tl.where(inside, z * scale, 0.0)
        d_gain += tl.sum(d_out * normed, 0)
        if OFFSET:
            d_offset += tl.sum(d_out, 0)
        d_normed = d_out * gain[None, :]
        along = tl.sum(d_normed * normed, 1)[:, None] / WIDTH
        d_z = d_normed - normed * along
        if CENTRED:
            d_z -= tl.sum(d_normed, 1)[:, None] / WIDTH
        d_z *= scale
        tl.store(d_x_pointer + place, d_z.to(d_x_pointer.dtype.element_ty), inside)
        if DROPOUT:
            d_y = tl.where(_kept(place, seed, threshold), d_z * grown, 0.0)
            tl.store(d_y_pointer + place, d_y.to(d_y_pointer.dtype.element_ty), inside)
    mine = program * WIDTH + column
    tl.store(d_gain_pointer + mine, d_gain, column < WIDTH)
    if OFFSET:
        tl.store(d_offset_pointer + mine, d_offset, column < WIDTH)
