"""relu(x W^T + b) as one fused matrix product, with a backward pass that reads its gradient once.

For GPUs with Triton; elsewhere the linear map and the activation are computed separately.
"""

from typing import Any

import torch
from torch import Tensor

COLUMNS, ROWS, WARPS = 512, 16, 4
PARTS = 64
"""Groups of rows into which the sums for the bias are split."""


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[..., D], [F, D], [F] -> [..., F], in the precision of x."""
    out: Tensor = _forward(x.flatten(0, -2), weight.to(x.dtype), bias.to(x.dtype))
    return out.view(*x.shape[:-1], -1)


@torch.library.custom_op("headwise::linear_relu", mutates_args=())
def _forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch._addmm_activation(bias, x, weight.t())


@torch.library.custom_op("headwise::relu_backward", mutates_args=())
def _relu_backward(d_out: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient before the activation, and its sum over the rows, [1, F]."""
    from headwise.nn.kernels import linear_relu_triton as kernels
    from headwise.nn.kernels.sums_triton import summed

    d_out = d_out.contiguous()
    rows, width = out.shape
    d_sum = torch.empty_like(out)
    rounds = -(-rows // (ROWS * PARTS))
    programs = -(-rows // (ROWS * rounds))
    parts = torch.empty((1, programs, width), dtype=torch.float32, device=out.device)
    kernels.backward[(-(-width // COLUMNS), programs)](
        d_out, out, d_sum, parts, rows, rounds, width, COLUMNS=COLUMNS, ROWS=ROWS, num_warps=WARPS
    )
    return d_sum, summed(parts, out.dtype)


@_forward.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.new_empty(len(x), len(weight))


@_relu_backward.register_fake
def _(d_out: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(out), out.new_empty(1, out.size(1))


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight, output)


def _differentiate(ctx: Any, d_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, weight, out = ctx.saved_tensors
    d_sum, d_bias = _relu_backward(d_out, out)
    return d_sum @ weight, d_sum.t() @ x, d_bias[0]


_forward.register_autograd(_differentiate, setup_context=_keep)
