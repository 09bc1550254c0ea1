"""Triton kernel of `token_embedding`: one program per row."""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait, overlap, overlapping


def token_embedding(tokens, table, places, positions):
    rows, width = len(tokens), table.shape[1]
    out = table.new_empty(rows, width)
    _embed[(rows,)](
        tokens.contiguous(), table, places.contiguous(), positions, out,
        WIDTH=width, PADDED=triton.next_power_of_2(width), num_warps=1, **overlap(tokens),
    )  # fmt: skip
    return overlapping(out)


@triton.jit
def _embed(
    token_pointer, table_pointer, place_pointer, position_pointer, out_pointer,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    let_next_begin_and_wait(OVERLAP)
    token, place = tl.load(token_pointer + row), tl.load(place_pointer + row)
    vector = tl.load(table_pointer + token * WIDTH + column, inside, 0.0).to(tl.float32)
    offset = tl.load(position_pointer + place * WIDTH + column, inside, 0.0).to(tl.float32)
    tl.store(out_pointer + row * WIDTH + column, (vector + offset).to(out_pointer.dtype.element_ty), inside)
