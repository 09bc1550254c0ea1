"""norm(x + dropout(y)) in one pass over memory, and its gradients in another.

The cost is reading and writing the states of all tokens, not the arithmetic. On a GPU the kernels of
`residual_norm_triton` compute it; elsewhere `residual_norm_reference`, their oracle.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.nn.dropout import dropout as drop
from headwise.nn.kernels import usable

TILE = 1024
"""Values per program: as many rows as that allows."""
WARPS = 2
PROGRAMS = 1056
"""Most programs of the backward pass: each writes one row of sums for the gains."""


def residual_norm_reference(
    x: Tensor,
    y: Tensor | None,
    gain: Tensor,
    offset: Tensor | None,
    epsilon: float,
    dropout: float,
    centred: bool,
) -> Tensor:
    """norm(x + dropout(y)) by the formula. `centred`: LayerNorm, else RMSNorm."""
    z = x if y is None else x + drop(y, dropout)
    if centred:
        return F.layer_norm(z, gain.shape, gain, offset, epsilon)
    normed = F.rms_norm(z, gain.shape, gain, epsilon)
    return normed if offset is None else normed + offset


def residual_norm(
    x: Tensor,
    y: Tensor | None,
    gain: Tensor,
    offset: Tensor | None,
    epsilon: float,
    dropout: float,
    centred: bool,
) -> Tensor:
    """norm(x + dropout(y)) in one kernel: x and y [..., D] of one dtype -> [..., D]. Sums are float32."""
    seed = None
    if y is not None and dropout > 0:
        seed = torch.randint(2**31, (1,), device=x.device)
    out: Tensor = _forward(x, y, gain, offset, seed, epsilon, dropout, centred)[0]
    return out


def sum_and_norm(
    x: Tensor, y: Tensor, gain: Tensor, offset: Tensor | None, epsilon: float, centred: bool
) -> tuple[Tensor, Tensor]:
    """x + y and its norm, without gradients. y may be in parts [P, ...] that are to be added."""
    if usable(x):
        out, total, *_ = _in_one_pass(x, y, gain, offset, None, epsilon, 0.0, centred)
        return total, out
    total = added(x, y)
    return total, residual_norm_reference(total, None, gain, offset, epsilon, 0.0, centred)


def added(x: Tensor, y: Tensor) -> Tensor:
    """x + y, where y may be in parts [P, ...]."""
    return x + (y if y.dim() == x.dim() else y.sum(0).to(x.dtype))


def _chance(dropout: float) -> tuple[int, float]:
    """The threshold of 2^32 numbers below which a value is dropped, and the factor of the others."""
    return round(dropout * 2**32), 1 / (1 - dropout)


def _tile(width: int) -> tuple[int, int]:
    block = 1 << (width - 1).bit_length()
    return block, max(1, TILE // block)


def _in_one_pass(
    x: Tensor,
    y: Tensor | None,
    gain: Tensor,
    offset: Tensor | None,
    seed: Tensor | None,
    epsilon: float,
    dropout: float,
    centred: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The output, the normalised sum (empty where it is x), and the mean and inverse deviation of each row."""
    from headwise.nn.kernels import residual_norm_triton as kernels
    from headwise.nn.kernels.overlap_triton import overlap, overlapping

    x = x.contiguous()
    width = x.size(-1)
    rows = x.numel() // width
    out = torch.empty_like(x)
    total = torch.empty_like(x) if y is not None else x.new_empty(0)
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    scale = torch.empty_like(mean)
    block, at_once = _tile(width)
    threshold, grown = _chance(dropout)
    parts = 0 if y is None else 1 if y.dim() == x.dim() else len(y)
    kernels.forward[(-(-rows // at_once),)](
        x, x if y is None else y.contiguous(), gain, gain if offset is None else offset,
        gain if seed is None else seed, total, out, mean, scale, rows, epsilon, threshold, grown,
        WIDTH=width, BLOCK=block, ROWS=at_once, PARTS=parts, DROPOUT=seed is not None, CENTRED=centred,
        OFFSET=offset is not None, num_warps=WARPS,
        **overlap(x if y is None else y),  # type: ignore[no-untyped-call]
    )  # fmt: skip
    return overlapping(out), total, mean, scale  # type: ignore[no-untyped-call]


_forward = torch.library.custom_op("headwise::residual_norm", _in_one_pass, mutates_args=())


@torch.library.custom_op("headwise::residual_norm_backward", mutates_args=())
def _backward(
    d_out: Tensor,
    total: Tensor,
    mean: Tensor,
    scale: Tensor,
    gain: Tensor,
    seed: Tensor | None,
    dropout: float,
    centred: bool,
    offset: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, of y (empty where it equals that of x), and of gain and offset together, [1 or 2, D]."""
    from headwise.nn.kernels import residual_norm_triton as kernels
    from headwise.nn.kernels.sums_triton import summed

    d_out, total = d_out.contiguous(), total.contiguous()
    width = total.size(-1)
    rows = total.numel() // width
    block, at_once = _tile(width)
    tiles = -(-rows // at_once)
    rounds = -(-tiles // PROGRAMS)
    programs = -(-tiles // rounds)
    d_x = torch.empty_like(total)
    d_y = torch.empty_like(total) if seed is not None else total.new_empty(0)
    parts = torch.empty((2 if offset else 1, programs, width), dtype=torch.float32, device=total.device)
    threshold, grown = _chance(dropout)
    kernels.backward[(programs,)](
        d_out, total, mean, scale, gain, gain if seed is None else seed, d_x, d_y if seed is not None else d_x,
        parts[0], parts[-1], rows, rounds, threshold, grown,
        WIDTH=width, BLOCK=block, ROWS=at_once, DROPOUT=seed is not None, CENTRED=centred, OFFSET=offset,
        num_warps=WARPS,
    )  # fmt: skip
    return d_x, d_y, summed(parts, gain.dtype)


@_forward.register_fake
def _(x: Tensor, y: Tensor | None, *_: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    figures = torch.empty(x.numel() // x.size(-1), dtype=torch.float32, device=x.device)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return out, torch.empty_like(out) if y is not None else x.new_empty(0), figures, torch.empty_like(figures)


@_backward.register_fake
def _(
    d_out: Tensor,
    total: Tensor,
    mean: Tensor,
    scale: Tensor,
    gain: Tensor,
    seed: Tensor | None,
    dropout: float,
    centred: bool,
    offset: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    d_x = torch.empty(total.shape, dtype=total.dtype, device=total.device)
    d_y = torch.empty_like(d_x) if seed is not None else total.new_empty(0)
    return d_x, d_y, gain.new_empty(2 if offset else 1, len(gain))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, y, gain, offset, seed, _, ctx.dropout, ctx.centred = inputs
    _, total, mean, scale = output
    ctx.has_y, ctx.has_offset = y is not None, offset is not None
    ctx.save_for_backward(total if ctx.has_y else x, mean, scale, gain, seed)


def _differentiate(ctx: Any, d_out: Tensor, *_: Tensor) -> tuple[Any, ...]:
    total, mean, scale, gain, seed = ctx.saved_tensors
    settings = (ctx.dropout, ctx.centred, ctx.has_offset)
    d_x, d_y, sums = _backward(d_out, total, mean, scale, gain, seed, *settings)
    of_y = (d_y if seed is not None else d_x) if ctx.has_y else None
    return d_x, of_y, sums[0], sums[1] if ctx.has_offset else None, None, None, None, None


_forward.register_autograd(_differentiate, setup_context=_keep)
