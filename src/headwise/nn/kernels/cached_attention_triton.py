"""The kernels of `cached_attention`: a program is a head of a sentence, and goes through the positions it attends to.

The hypotheses of a sentence ask its memory together, as the rows of one product: tensor cores do that, and each key is
read once. A past is each hypothesis's own; alone, it is one row of a product whose other rows are empty, which is still
less work than the same sums without one.
"""
# ruff: noqa: N803  (what is known at compile time is written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

LINES = 16
"""Queries that ask together: the rows of the smallest product."""
BLOCK = 16
"""Positions that are looked at together."""
WARPS = 1


def attend_past(qkv, keys, values, stems, places, heads):
    stride = 0 if stems is None else stems.stride(0)
    return _launch(qkv, keys, values, stems, places, heads, stride, 1, PAST=True)


def attend_memory(query, keys, values, lengths, heads):
    return _launch(query, keys, values, None, lengths, heads, 0, len(query) // len(keys), PAST=False)


def _launch(query, keys, values, stems, counts, heads, stem_stride, rows_of_one, **kind):
    rows, counts = len(query), counts.contiguous()
    out = query.new_empty(rows, heads.heads * heads.width)
    _attend[(rows // rows_of_one, heads.heads, triton.cdiv(rows_of_one, LINES))](
        query, keys, values, query if stems is None else stems, counts, out, query.stride(0), *keys.stride()[:3],
        stem_stride, heads.scale,
        ROWS_OF_ONE=rows_of_one, HEADS=heads.heads, GROUPS=heads.heads // heads.key_heads, KEY_HEADS=heads.key_heads,
        WIDTH=heads.width, PADDED=max(16, triton.next_power_of_2(heads.width)), LINES=LINES, BLOCK=BLOCK,
        STEMS=stems is not None, **kind, num_warps=WARPS,
    )  # fmt: skip
    return out


@triton.jit
def _attend(
    query_pointer, key_pointer, value_pointer, stem_pointer, count_pointer, out_pointer,
    query_stride, row_stride, position_stride, head_stride, stem_stride, scale,
    ROWS_OF_ONE: tl.constexpr, HEADS: tl.constexpr, GROUPS: tl.constexpr, KEY_HEADS: tl.constexpr,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, LINES: tl.constexpr, BLOCK: tl.constexpr,
    STEMS: tl.constexpr, PAST: tl.constexpr,
):  # fmt: skip
    """softmax(q K^T) V over the positions that count; PAST: over those of a row's own past, the newest just made."""
    sentence = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // GROUPS
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    line = tl.program_id(2) * LINES + tl.arange(0, LINES)
    row = sentence * ROWS_OF_ONE + line
    there = (line < ROWS_OF_ONE)[:, None] & inside[None, :]
    query = tl.load(query_pointer + (row * query_stride + head * WIDTH)[:, None] + column[None, :], there, 0.0)
    key_heads = key_pointer + group * head_stride
    value_heads = value_pointer + group * head_stride
    count = tl.load(count_pointer + sentence).to(tl.int32)
    if PAST:
        # The newest is taken from where it was made: what this program writes, it could not be sure to read.
        made = query_pointer + sentence * query_stride + (HEADS + group) * WIDTH + column
        key = tl.load(made, inside, 0.0)
        value = tl.load(made + KEY_HEADS * WIDTH, inside, 0.0)
        own = sentence * row_stride + count * position_stride + column
        tl.store(key_heads + own, key, inside)
        tl.store(value_heads + own, value, inside)
        top = tl.sum(query.to(tl.float32) * key.to(tl.float32)[None, :], 1) * scale
        total = tl.full([LINES], 1.0, tl.float32)
        context = tl.zeros([LINES, PADDED], tl.float32) + value.to(tl.float32)[None, :]
    else:
        top = tl.full([LINES], -float("inf"), tl.float32)
        total = tl.zeros([LINES], tl.float32)
        context = tl.zeros([LINES, PADDED], tl.float32)
    for start in range(0, count, BLOCK):
        position = start + tl.arange(0, BLOCK)
        seen = position < count
        if STEMS:
            owner = tl.load(stem_pointer + sentence * stem_stride + position, seen, 0).to(tl.int64)
        else:
            owner = tl.zeros([BLOCK], tl.int64) + sentence
        place = (owner * row_stride + position * position_stride)[:, None] + column[None, :]
        mask = seen[:, None] & inside[None, :]
        keys = tl.load(key_heads + place, mask, 0.0)
        values = tl.load(value_heads + place, mask, 0.0)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(seen[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        context = context * shrink[:, None] + tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        top = higher
    out = out_pointer + (row * HEADS * WIDTH + head * WIDTH)[:, None] + column[None, :]
    tl.store(out, (context / total[:, None]).to(out_pointer.dtype.element_ty), there)
