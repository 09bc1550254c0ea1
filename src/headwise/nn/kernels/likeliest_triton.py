"""Triton kernels of `likeliest`: one program per stretch of a row, then one program per row merges their results.

A program processes its tokens in groups: the largest logits lie in the groups with the largest maxima, and only those
few groups are searched for them.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait, overlap, overlapping

STRETCH = 1024
"""Tokens per program: few enough for one warp, whose threads need not wait for other warps."""
GROUP = 16
WARPS = 1


def likeliest(logits, count, banned):
    rows, vocabulary = logits.shape
    stretch = max(GROUP * triton.next_power_of_2(count), min(STRETCH, triton.next_power_of_2(vocabulary)))
    parts = triton.cdiv(vocabulary, stretch)
    figures = logits.new_empty(2, rows, parts, dtype=torch.float32)
    found = overlapping(logits.new_empty(rows, parts, count, dtype=torch.float32))
    places = logits.new_empty(rows, parts, count, dtype=torch.int32)
    _of_stretches[(rows, parts)](
        logits, logits if banned is None else banned, figures[0], figures[1], found, places, vocabulary,
        logits.stride(0), parts,
        GROUPS=stretch // GROUP, GROUP=GROUP, COUNT=count, CHOSEN=triton.next_power_of_2(count),
        BANNED=banned is not None, num_warps=WARPS, **overlap(logits),
    )  # fmt: skip
    values = logits.new_empty(rows, count, dtype=torch.float32)
    tokens = logits.new_empty(rows, count, dtype=torch.int64)
    normaliser = logits.new_empty(rows, dtype=torch.float32)
    _of_rows[(rows,)](
        figures[0], figures[1], found, places, values, tokens, normaliser, parts,
        PARTS=triton.next_power_of_2(parts), FOUND=triton.next_power_of_2(parts * count), COUNT=count, num_warps=1,
        **overlap(found),
    )  # fmt: skip
    return overlapping(values), tokens, normaliser


@triton.jit
def _of_stretches(
    logit_pointer, banned_pointer, top_pointer, sum_pointer, value_pointer, place_pointer, vocabulary,
    row_stride, parts,
    GROUPS: tl.constexpr, GROUP: tl.constexpr, COUNT: tl.constexpr, CHOSEN: tl.constexpr, BANNED: tl.constexpr,
    OVERLAP: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    logits = logit_pointer + row * row_stride
    first = part * GROUPS * GROUP
    group, member, number = tl.arange(0, GROUPS), tl.arange(0, GROUP), tl.arange(0, CHOSEN)
    column = first + group[:, None] * GROUP + member[None, :]
    let_next_begin_and_wait(OVERLAP)
    values = tl.load(logits + column, column < vocabulary, -float("inf")).to(tl.float32)
    tops = tl.max(values, 1)
    top = tl.max(tops, 0)
    # Where all logits are minus infinity, so is the log-sum-exp: their difference would be NaN.
    total = tl.sum(tl.sum(tl.exp(values - tl.where(top == -float("inf"), 0.0, top)), 1), 0)
    own = row * parts + part
    tl.store(top_pointer + own, top)
    tl.store(sum_pointer + own, total)
    if BANNED:
        banned = tl.load(banned_pointer + column, column < vocabulary, 0)
        tops = tl.max(tl.where(banned != 0, -float("inf"), values), 1)
    chosen = tl.zeros([CHOSEN], tl.int32)
    for i in tl.static_range(COUNT):
        largest = tl.max(tops, 0)
        best = tl.min(tl.where(tops == largest, group, GROUPS - 1), 0)
        chosen = tl.where(number == i, best, chosen)
        tops = tl.where(group == best, -float("inf"), tops)
    near = first + chosen[:, None] * GROUP + member[None, :]
    there = (near < vocabulary) & (number < COUNT)[:, None]
    values = tl.load(logits + near, there, -float("inf")).to(tl.float32)
    if BANNED:
        values = tl.where(tl.load(banned_pointer + near, there, 0) != 0, -float("inf"), values)
    for i in tl.static_range(COUNT):
        largest = tl.max(tl.max(values, 1), 0)
        place = tl.min(
            tl.min(tl.where(values == largest, near, vocabulary - 1), 1), 0
        )  # a valid token, even if all are NaN
        tl.store(value_pointer + own * COUNT + i, largest)
        tl.store(place_pointer + own * COUNT + i, place)
        values = tl.where(near == place, -float("inf"), values)


@triton.jit
def _of_rows(
    top_pointer, sum_pointer, found_pointer, place_pointer, value_pointer, token_pointer, normaliser_pointer, parts,
    PARTS: tl.constexpr, FOUND: tl.constexpr, COUNT: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    let_next_begin_and_wait(OVERLAP)
    tops = tl.load(top_pointer + row * parts + part, part < parts, -float("inf"))
    sums = tl.load(sum_pointer + row * parts + part, part < parts, 0.0)
    top = tl.max(tops, 0)
    total = tl.sum(sums * tl.exp(tops - tl.where(top == -float("inf"), 0.0, top)), 0)
    tl.store(normaliser_pointer + row, top + tl.log(total))
    index = tl.arange(0, FOUND)
    inside = index < parts * COUNT
    values = tl.load(found_pointer + row * parts * COUNT + index, inside, -float("inf"))
    places = tl.load(place_pointer + row * parts * COUNT + index, inside, 0)
    for number in tl.static_range(COUNT):
        largest = tl.max(values, 0)
        chosen = tl.min(tl.where(values == largest, index, FOUND - 1), 0)  # of equals the first: the lowest token id
        place = tl.sum(tl.where(index == chosen, places, 0), 0)
        tl.store(value_pointer + row * COUNT + number, largest)
        tl.store(token_pointer + row * COUNT + number, place.to(tl.int64))
        values = tl.where(index == chosen, -float("inf"), values)
