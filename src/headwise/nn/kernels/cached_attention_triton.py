"""The kernels of `cached_attention`: a program is a head of a row, and goes through the positions it attends to."""
# ruff: noqa: N803  (what is known at compile time is written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

BLOCK = 32
"""Positions that are looked at together."""
WARPS = 2


def attend_past(qkv, keys, values, stems, places, heads):
    rows, length = stems.shape
    out = qkv.new_empty(rows, heads.heads * heads.width)
    _attend[(rows, heads.heads)](
        qkv, qkv, keys, values, stems, places, out, qkv.stride(0), keys.stride(0), keys.stride(1), length, 1,
        heads.scale,
        HEADS=heads.heads, GROUPS=heads.heads // heads.key_heads, KEY_HEADS=heads.key_heads, WIDTH=heads.width,
        PADDED=triton.next_power_of_2(heads.width), BLOCK=BLOCK, PAST=True, num_warps=WARPS,
    )  # fmt: skip
    return out


def attend_memory(query, keys, values, lengths, heads):
    rows = len(query)
    out = query.new_empty(rows, heads.heads * heads.width)
    _attend[(rows, heads.heads)](
        query, query, keys, values, lengths, lengths, out, query.stride(0), keys.stride(0), keys.stride(1), 0,
        rows // len(keys), heads.scale,
        HEADS=heads.heads, GROUPS=heads.heads // heads.key_heads, KEY_HEADS=heads.key_heads, WIDTH=heads.width,
        PADDED=triton.next_power_of_2(heads.width), BLOCK=BLOCK, PAST=False, num_warps=WARPS,
    )  # fmt: skip
    return out


@triton.jit
def _attend(
    query_pointer, new_pointer, key_pointer, value_pointer, stem_pointer, place_pointer, out_pointer,
    query_stride, row_stride, head_stride, length, rows_of_one, scale,
    HEADS: tl.constexpr, GROUPS: tl.constexpr, KEY_HEADS: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr,
    BLOCK: tl.constexpr, PAST: tl.constexpr,
):  # fmt: skip
    """softmax(q K^T) V over the positions that count; PAST: over those of a row's own past, the newest just made."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // GROUPS
    column = tl.arange(0, PADDED)
    inside = column < WIDTH
    query = tl.load(query_pointer + row * query_stride + head * WIDTH + column, inside, 0.0).to(tl.float32) * scale
    key_heads = key_pointer + group * head_stride
    value_heads = value_pointer + group * head_stride
    top = -float("inf")
    total = 0.0
    context = tl.zeros([PADDED], tl.float32)
    if PAST:
        count = tl.load(place_pointer + row).to(tl.int32)
        # The newest is taken from where it was made: what this program writes, it could not be sure to read.
        made = new_pointer + row * query_stride + (HEADS + group) * WIDTH + column
        key = tl.load(made, inside, 0.0)
        value = tl.load(made + KEY_HEADS * WIDTH, inside, 0.0)
        own = row * row_stride + count * WIDTH + column
        tl.store(key_heads + own, key, inside)
        tl.store(value_heads + own, value, inside)
        top = tl.sum(query * key.to(tl.float32), 0)
        total = 1.0
        context = value.to(tl.float32)
    else:
        count = tl.load(place_pointer + row // rows_of_one).to(tl.int32)
    for start in range(0, count, BLOCK):
        position = start + tl.arange(0, BLOCK)
        seen = position < count
        if PAST:
            owner = tl.load(stem_pointer + row * length + position, seen, 0).to(tl.int64)
        else:
            owner = tl.zeros([BLOCK], tl.int64) + row // rows_of_one
        place = (owner * row_stride + position * WIDTH)[:, None] + column[None, :]
        mask = seen[:, None] & inside[None, :]
        keys = tl.load(key_heads + place, mask, 0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(keys * query[None, :], 1), -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - higher)
        shrink = tl.exp(top - higher)
        values = tl.load(value_heads + place, mask, 0.0).to(tl.float32)
        total = total * shrink + tl.sum(weights, 0)
        context = context * shrink + tl.sum(values * weights[:, None], 0)
        top = higher
    out = out_pointer + row * HEADS * WIDTH + head * WIDTH + column
    tl.store(out, (context / total).to(out_pointer.dtype.element_ty), inside)
