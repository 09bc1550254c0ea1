"""Matrix products in int8: a quarter of the memory, and several times the speed on CPUs with instructions for them.

A weight is quantised once, with one scale per row (output channel). Inputs are quantised as they come, with one scale
per row too: so the result for a sentence does not depend on the others of its batch.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from headwise.nn.embedding import OutputProjection, TokenEmbedding

LEVELS = 127
"""The largest int8 value of a weight or an input."""
MIDDLE = 128
"""Offset of the inputs: the instructions multiply unsigned by signed bytes."""
TINY = torch.finfo(torch.float32).tiny
WHOLE = 1e-3
"""A fraction of a step below this comes from the arithmetic of floats."""


def is_fast_here() -> bool:
    """Whether this CPU has instructions for int8 products (VNNI); elsewhere they would be slow, and on some inexact."""
    return bool(torch._C._has_mkldnn and torch.cpu._is_vnni_supported())


def quantised(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise a matrix [N, K] to int8: the values, and the scale [N] of each row."""
    if weight.is_meta:  # nothing to quantise; most operations on meta tensors would load much of PyTorch for the shapes
        return torch.empty(weight.shape, dtype=torch.int8), torch.empty(len(weight), dtype=torch.float32)
    scales = weight.float().abs().amax(1).clamp_min(TINY) / LEVELS
    steps = weight.float() / scales[:, None]
    whole = diffused(steps) if were_whole(steps) else steps.round()
    return whole.to(torch.int8), scales


def were_whole(steps: Tensor) -> bool:
    """Whether weights, in units of their scales, were whole numbers before training moved them a little.

    The fractions of other weights are spread evenly, so the cosines of their angles on a circle cancel out. Fractions
    that all moved by about a quarter would cancel too, but not at twice the angle.
    """
    fractions = steps - steps.round()
    moved = fractions[fractions.abs() > WHOLE]
    by_chance = 0.02 + 4 * max(1, moved.numel()) ** -0.5
    return any((2 * torch.pi * times * moved).cos().mean().abs() > by_chance for times in (1, 2))


def diffused(steps: Tensor) -> Tensor:
    """Round each row so that its sum stays: what rounding a weight leaves over is added to the next (error diffusion).

    Training moves weights that were int8 by less than half a step, so rounding each by itself would undo all that it
    learnt. Weights that did not move stay as they are.
    """
    columns, left = [], torch.zeros(len(steps))
    for column in steps.t():
        wanted = column + left
        columns.append(wanted.round().clamp_(-LEVELS, LEVELS))
        left = wanted - columns[-1]
    return torch.stack(columns, 1)


def dequantised(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a model before `to_int8`, in float32, from those after it: each scale is multiplied in."""
    result = {}
    for name, tensor in weights.items():
        scales = weights.get(f"{name.removesuffix('weight')}scales")
        if tensor.dtype == torch.int8 and scales is not None:
            result[name] = tensor.float() * scales[:, None]
        elif not (name.endswith("scales") and f"{name.removesuffix('scales')}weight" in weights):
            result[name] = tensor
    return result


class Int8Product:
    """The product x W^T + b, with W [N, K] in int8."""

    def __init__(self, weight: Tensor, scales: Tensor, bias: Tensor | None) -> None:
        self.weight, self.scales, self.bias = weight, scales, bias
        self._blocks: Tensor | None = None
        self._no_shift = torch.zeros(len(weight), dtype=torch.int64)

    def __call__(self, x: Tensor) -> Tensor:
        """[M, K] -> [M, N], float32."""
        scale = x.abs().amax(1, keepdim=True).clamp_min_(TINY).mul_(1 / LEVELS)
        rounded = x.div(scale).round_()
        if len(x) == 1:  # for one row, calling the kernel for blocked weights costs more than the product
            y = torch._int_mm(rounded.to(torch.int8), self.weight.t()).float().mul_(self.scales)
        else:
            y = self._by_blocks(rounded.add_(MIDDLE).to(torch.uint8))
        return y.mul_(scale) if self.bias is None else torch.addcmul(self.bias, y, scale, out=y)

    def _by_blocks(self, x: Tensor) -> Tensor:
        """uint8 [M, K] -> [M, N], as if the scale of each row were 1."""
        if self._blocks is None:
            self._blocks = torch.ops.onednn.qlinear_prepack(self.weight, None)
        y: Tensor = torch.ops.onednn.qlinear_pointwise(
            x, 1.0, MIDDLE, self._blocks, self.scales, self._no_shift, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return y


class Int8Linear(nn.Module):
    """`nn.Linear` for inference, with its weight in int8; inputs are multiplied by `factor`."""

    def __init__(
        self, weight: nn.Parameter, scales: nn.Parameter, bias: nn.Parameter | None, factor: float = 1.0
    ) -> None:
        super().__init__()
        self.weight, self.scales, self.bias, self.factor = weight, scales, bias, factor
        self._product: Int8Product | None = None

    @property
    def product(self) -> Int8Product:
        if self._product is None:
            bias = None if self.bias is None else self.bias.data
            self._product = Int8Product(self.weight.data, self.scales.data, bias)
        return self._product

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., N]."""
        rows = x.reshape(-1, x.shape[-1])
        return self.product(rows if self.factor == 1 else rows * self.factor).view(*x.shape[:-1], -1)


class Int8Embedding(nn.Module):
    """Token embeddings in int8; vectors are multiplied by `factor`."""

    def __init__(self, weight: nn.Parameter, scales: nn.Parameter, factor: float) -> None:
        super().__init__()
        self.weight, self.scales, self.factor = weight, scales, factor

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return self.weight[tokens].float() * (self.scales[tokens] * self.factor).unsqueeze(-1)


def to_int8(model: nn.Module) -> nn.Module:
    """Quantise the matrices of a model to int8, in place; tied ones stay tied. Works on meta tensors too."""
    done: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}

    def quantise(weight: Tensor) -> tuple[nn.Parameter, nn.Parameter]:
        if id(weight) not in done:
            whole, scales = quantised(weight.detach())
            done[id(weight)] = nn.Parameter(whole, requires_grad=False), nn.Parameter(scales, requires_grad=False)
            alive.append(weight)
        return done[id(weight)]

    def replaced(module: nn.Module) -> nn.Module | None:
        if type(module) is TokenEmbedding:  # a subclass may do something else
            return Int8Embedding(*quantise(module.weight), module.scale)
        if type(module) is OutputProjection:
            return Int8Linear(*quantise(module.weight), module.bias, module.scale)
        return Int8Linear(*quantise(module.weight), module.bias) if type(module) is nn.Linear else None

    alive: list[Tensor] = []  # the id of a freed tensor could be reused
    new: dict[int, nn.Module | None] = {}
    for module in list(model.modules()):
        for name, child in module._modules.items():  # one module may have several names
            if child is None:
                continue
            if id(child) not in new:
                new[id(child)] = replaced(child)
            module._modules[name] = new[id(child)] or child
    return model
