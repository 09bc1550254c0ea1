"""Triton kernels of `device_search`: the start of sentences and the greedy step, one kernel each.

A dozen operations on a thousand numbers would take a GPU as long as a matrix product, and Python longer to launch them.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

from headwise.nn.kernels.overlap_triton import let_next_begin_and_wait, overlap

BLOCK = 128
"""Slots per program."""


def enter(search, given):
    """`DeviceSearch._enter` as a kernel."""
    beam, kept, count = search.options.beam, search.options.kept, given.shape[1]
    _enter[(count,)](
        given, count, search.done.view(torch.uint8), search.age, search.limit, search.tokens, search.totals,
        search.ended_rank, search.options.sos, BEAM=beam, KEPT=kept, PADDED=triton.next_power_of_2(max(beam, kept)),
        num_warps=1,
    )  # fmt: skip


@triton.jit(do_not_specialize=["count"])
def _enter(
    given_pointer, count, done_pointer, age_pointer, limit_pointer, token_pointer, total_pointer,
    rank_pointer, sos, BEAM: tl.constexpr, KEPT: tl.constexpr, PADDED: tl.constexpr,
):  # fmt: skip
    slot = tl.load(given_pointer + tl.program_id(0))
    tl.store(done_pointer + slot, tl.zeros([], tl.uint8))
    tl.store(age_pointer + slot, tl.zeros([], tl.int64))
    tl.store(limit_pointer + slot, tl.load(given_pointer + count + tl.program_id(0)))
    number = tl.arange(0, PADDED)
    worst = tl.full([PADDED], -float("inf"), tl.float32)
    tl.store(token_pointer + slot * BEAM + number, tl.zeros([PADDED], tl.int64) + sos, number < BEAM)
    tl.store(total_pointer + slot * BEAM + number, tl.where(number == 0, 0.0, worst), number < BEAM)
    tl.store(rank_pointer + slot * KEPT + number, worst, number < KEPT)


def advance_greedy(search, values, tokens, normaliser):
    """`DeviceSearch._advance_greedy` as a kernel, from the largest logit and the log-sum-exp of all."""
    _advance[(triton.cdiv(search.slots, BLOCK),)](
        values, tokens, normaliser, search.done.view(torch.uint8), search.age, search.limit, search.totals,
        search.history, search.tokens, search.ends, search.slots, search.length + 1,
        ENDS=len(search.ends), BLOCK=BLOCK, num_warps=4, **overlap(values),
    )  # fmt: skip


@triton.jit
def _advance(
    value_pointer, token_pointer, normaliser_pointer, done_pointer, age_pointer, limit_pointer, total_pointer,
    history_pointer, shown_pointer, end_pointer, slots, width, ENDS: tl.constexpr, BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):  # fmt: skip
    slot = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = slot < slots
    let_next_begin_and_wait(OVERLAP)
    going = tl.load(done_pointer + slot, there, 1) == 0
    token = tl.load(token_pointer + slot, there, 0)
    gained = tl.load(value_pointer + slot, there, 0.0) - tl.load(normaliser_pointer + slot, there, 0.0)
    gained = tl.where(gained > 0.0, 0.0, gained)  # keeps NaN
    total = tl.load(total_pointer + slot, there, 0.0)
    tl.store(total_pointer + slot, tl.where(going, total + gained, total), there)
    age = tl.load(age_pointer + slot, there, 0)
    tl.store(history_pointer + slot.to(tl.int64) * width + age, token, there)  # beyond its end if it is done
    tl.store(shown_pointer + slot, token, there)
    age = age + going.to(tl.int64)
    tl.store(age_pointer + slot, age, there)
    done = (going == 0) | (age >= tl.load(limit_pointer + slot, there, 0))
    for number in tl.static_range(ENDS):
        done = done | (token == tl.load(end_pointer + number))
    tl.store(done_pointer + slot, done.to(tl.uint8), there)
