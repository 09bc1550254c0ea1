"""Label-smoothed cross-entropy of rows of logits, with its gradient written over them: one program per row.

The row is read twice, the second time from the GPU's cache; nothing of its size is held in float32. Import this only
where `usable` is true: it needs Triton.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 8192
"""Most logits per block of a program."""
WARPS = 8

NO_TARGET = -(2**62)
"""Stands for "ignore nothing" in the kernel."""


def cross_entropy_(
    logits: Tensor,
    vocabulary: int,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float,
    ignore: int | None,
    gradient: bool,
) -> tuple[Tensor, Tensor]:
    """Logits [R, P] without their bias [V], targets [R] -> loss and negative log-likelihood of each row, float32 [R].

    Only the first `vocabulary` (V) logits of a row count; up to 63 more may follow, whose gradient is 0. With
    `gradient`, d loss / d logits is written over the logits. Rows whose target is `ignore` have loss and gradient 0.
    """
    rows, held = logits.shape
    loss = torch.empty(rows, dtype=torch.float32, device=logits.device)
    nll = torch.empty_like(loss)
    if rows == 0:
        return loss, nll
    _kernel[(rows,)](
        logits,
        logits if bias is None else bias,
        targets.contiguous(),
        loss,
        nll,
        logits.stride(0),
        smoothing,
        NO_TARGET if ignore is None else ignore,
        VOCABULARY=vocabulary,
        HELD=held,
        BLOCK=min(BLOCK, triton.next_power_of_2(held)),
        BIAS=bias is not None,
        GRADIENT=gradient,
        num_warps=WARPS,
    )
    return loss, nll


@triton.jit
def _read(logits, bias, places, VOCABULARY: tl.constexpr, HELD: tl.constexpr, BIAS: tl.constexpr):
    real = places < VOCABULARY
    x = tl.load(logits + places, mask=places < HELD, other=float("-inf")).to(tl.float32)
    x = tl.where(real, x, float("-inf"))
    if BIAS:
        x += tl.load(bias + places, mask=real, other=0.0).to(tl.float32)
    return x


@triton.jit(do_not_specialize=["ignore"])
def _kernel(
    logits, bias, targets, loss, nll, row_stride, smoothing, ignore,
    VOCABULARY: tl.constexpr, HELD: tl.constexpr, BLOCK: tl.constexpr, BIAS: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    """With p the softmax, e the smoothing: loss = (1 - e) * -log p[target] + e * mean(-log p)."""
    row = tl.program_id(0)
    logits += row.to(tl.int64) * row_stride
    target = tl.load(targets + row)
    lanes = tl.arange(0, BLOCK)
    if target == ignore:
        tl.store(loss + row, 0.0)
        tl.store(nll + row, 0.0)
        if GRADIENT:
            for start in range(0, VOCABULARY, BLOCK):
                zeros = tl.zeros([BLOCK], logits.dtype.element_ty)
                tl.store(logits + start + lanes, zeros, mask=start + lanes < HELD)
    else:
        known = (target >= 0) & (target < VOCABULARY)
        wanted = tl.load(logits + target, mask=known, other=float("nan")).to(
            tl.float32
        )  # an impossible target gives NaN
        if BIAS:
            wanted += tl.load(bias + target, mask=known, other=0.0).to(tl.float32)
        highest = wanted  # any logit of the row is a valid start
        total = 0.0
        summed = 0.0
        for start in range(0, VOCABULARY, BLOCK):
            x = _read(logits, bias, start + lanes, VOCABULARY, HELD, BIAS)
            now = tl.maximum(highest, tl.max(x, 0))
            total = total * tl.exp(highest - now) + tl.sum(tl.exp(x - now), 0)
            summed += tl.sum(tl.where(start + lanes < VOCABULARY, x, 0.0), 0)
            highest = now
        normaliser = highest + tl.log(total)
        likelihood = normaliser - wanted
        tl.store(nll + row, likelihood)
        tl.store(loss + row, (1 - smoothing) * likelihood + smoothing * (normaliser - summed / VOCABULARY))
        if GRADIENT:
            for start in range(0, VOCABULARY, BLOCK):
                places = start + lanes
                x = _read(logits, bias, places, VOCABULARY, HELD, BIAS)
                gradient = tl.exp(x - normaliser) - smoothing / VOCABULARY
                gradient = tl.where(places == target, gradient - (1 - smoothing), gradient)
                gradient = tl.where(places < VOCABULARY, gradient, 0.0)
                tl.store(logits + places, gradient.to(logits.dtype.element_ty), mask=places < HELD)
