"""Triton kernels of `cached_attention`: a program takes one head of a sentence and loops over the positions.

In cross-attention the hypotheses of a sentence are the rows of one product: it runs on tensor cores, and each key is
read once. In self-attention each hypothesis has a past of its own: its single query is multiplied element by element,
which is less work than a product with empty rows.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait, overlap, overlapping

LINES = 16
"""Queries per product: the rows of the smallest one."""
BLOCK = 16
"""Positions of the memory per block ..."""
FEW, MANY, LONG = 8, 16, 65
"""Rows of the past per program: few, or many in a cache longer than LONG. Measured, like all of these constants."""
WARPS = 1
LOG2_E = tl.constexpr(1.4426950408889634)


def attend_past(qkv, keys, values, stems, places, heads):
    out = qkv.new_empty(len(qkv), heads.heads * heads.width)
    _attend_past[(len(qkv) * heads.heads,)](
        qkv, keys, values, qkv if stems is None else stems, places.contiguous(), out,
        qkv.stride(0), *keys.stride()[:3], 0 if stems is None else stems.stride(0), heads.scale,
        **_shape(heads), KEY_HEADS=heads.key_heads, BLOCK=FEW if keys.shape[1] <= LONG else MANY,
        STEMS=stems is not None, num_warps=WARPS, **overlap(qkv),
    )  # fmt: skip
    return overlapping(out)


def attend_memory(query, keys, values, lengths, heads):
    out = query.new_empty(len(query), heads.heads * heads.width)
    rows_of_one = len(query) // len(keys)
    _attend_memory[(len(keys) * heads.heads, triton.cdiv(rows_of_one, LINES))](
        query, keys, values, lengths.contiguous(), out, query.stride(0), *keys.stride()[:3], heads.scale,
        ROWS_OF_ONE=rows_of_one, **_shape(heads), LINES=LINES, BLOCK=BLOCK, num_warps=WARPS,
        **overlap(query),
    )  # fmt: skip
    return overlapping(out)


def _shape(heads):
    padded = max(16, triton.next_power_of_2(heads.width))
    return {"HEADS": heads.heads, "GROUPS": heads.heads // heads.key_heads, "WIDTH": heads.width, "PADDED": padded}


@triton.jit
def _own_program(HEADS: tl.constexpr):
    """The row or sentence and the head of a program. Neighbouring programs take neighbouring heads, as in memory."""
    return (tl.program_id(0) // HEADS).to(tl.int64), tl.program_id(0) % HEADS


@triton.jit
def _attend_past(
    qkv_pointer, key_pointer, value_pointer, stem_pointer, place_pointer, out_pointer,
    qkv_stride, row_stride, position_stride, head_stride, stem_stride, scale,
    HEADS: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr, KEY_HEADS: tl.constexpr,
    BLOCK: tl.constexpr, STEMS: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    """softmax(q K^T) V over a row's past and its newest key and value, which are written to the cache."""
    row, head = _own_program(HEADS)
    group = head // GROUPS
    column, number = tl.arange(0, PADDED), tl.arange(0, BLOCK)
    inside = column < WIDTH
    made = qkv_pointer + row * qkv_stride + column
    let_next_begin_and_wait(OVERLAP)
    query = tl.load(made + head * WIDTH, inside, 0.0).to(tl.float32) * (scale * LOG2_E)
    # The newest key is read from the input: a program cannot rely on reading its own writes.
    key = tl.load(made + (HEADS + group) * WIDTH, inside, 0.0)
    value = tl.load(made + (HEADS + KEY_HEADS + group) * WIDTH, inside, 0.0)
    count = tl.load(place_pointer + row).to(tl.int32)
    keys_of_head, values_of_head = key_pointer + group * head_stride, value_pointer + group * head_stride
    newest = row * row_stride + count * position_stride + column
    tl.store(keys_of_head + newest, key, inside)
    tl.store(values_of_head + newest, value, inside)
    # Each line of a block sums its own positions; lines are added at the end.
    top = tl.sum(query * key.to(tl.float32), 0)
    total = tl.where(number == 0, 1.0, 0.0)
    context = tl.where((number == 0)[:, None], value.to(tl.float32)[None, :], 0.0)
    for start in range(0, count, BLOCK):
        position = start + number
        seen = position < count
        owner = tl.zeros([BLOCK], tl.int64) + row
        if STEMS:
            owner = tl.load(stem_pointer + row * stem_stride + position, seen, 0).to(tl.int64)
        place = (owner * row_stride + position * position_stride)[:, None] + column[None, :]
        mask = seen[:, None] & inside[None, :]
        keys = tl.load(keys_of_head + place, mask, 0.0).to(tl.float32)
        values = tl.load(values_of_head + place, mask, 0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(keys * query[None, :], 1), -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 0))
        weights, shrink = tl.exp2(scores - higher), tl.exp2(top - higher)
        total = total * shrink + weights
        context = context * shrink + values * weights[:, None]
        top = higher
    out = out_pointer + (row * HEADS + head) * WIDTH + column
    tl.store(out, (tl.sum(context, 0) / tl.sum(total, 0)).to(out_pointer.dtype.element_ty), inside)


@triton.jit
def _attend_memory(
    query_pointer, key_pointer, value_pointer, length_pointer, out_pointer,
    query_stride, row_stride, position_stride, head_stride, scale,
    ROWS_OF_ONE: tl.constexpr, HEADS: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
    LINES: tl.constexpr, BLOCK: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    """softmax(q K^T) V over the positions of a sentence's source."""
    sentence, head = _own_program(HEADS)
    group = head // GROUPS
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    line = tl.program_id(1) * LINES + tl.arange(0, LINES)
    row = sentence * ROWS_OF_ONE + line
    there = (line < ROWS_OF_ONE)[:, None] & inside[None, :]
    let_next_begin_and_wait(OVERLAP)
    query = tl.load(query_pointer + (row * query_stride + head * WIDTH)[:, None] + column[None, :], there, 0.0)
    length = tl.load(length_pointer + sentence).to(tl.int32)
    first = sentence * row_stride + group * head_stride
    top = tl.full([LINES], -float("inf"), tl.float32)
    total = tl.zeros([LINES], tl.float32)
    context = tl.zeros([LINES, PADDED], tl.float32)
    for start in range(0, length, BLOCK):
        position = start + tl.arange(0, BLOCK)
        seen = position < length
        place = first + (position * position_stride)[:, None] + column[None, :]
        mask = seen[:, None] & inside[None, :]
        keys = tl.load(key_pointer + place, mask, 0.0)
        values = tl.load(value_pointer + place, mask, 0.0)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * (scale * LOG2_E)
        scores = tl.where(seen[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights, shrink = tl.exp2(scores - higher[:, None]), tl.exp2(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        context = context * shrink[:, None] + tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        top = higher
    out = out_pointer + (row * HEADS * WIDTH + head * WIDTH)[:, None] + column[None, :]
    tl.store(out, (context * (1.0 / total)[:, None]).to(out_pointer.dtype.element_ty), there)
