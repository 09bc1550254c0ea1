"""Matrix products in eight bits: a quarter of the memory, and several times the speed where a CPU has them built in.

A weight is rounded once, with a step for each of its rows (the channels that come out). What goes in is rounded as it
comes, with a step for each row too: so what comes out for a sentence does not depend on the others of its batch.
"""

import torch
from torch import Tensor, nn

from headwise.nn.embedding import OutputProjection, TokenEmbedding

LEVELS = 127
"""The largest whole number that stands for a weight or an input."""
MIDDLE = 128
"""What is added to inputs: the instructions multiply numbers without a sign by numbers with one."""
TINY = torch.finfo(torch.float32).tiny


def is_fast_here() -> bool:
    """Whether this CPU multiplies bytes at once; elsewhere int8 would be slow, and on some inexact."""
    return bool(torch._C._has_mkldnn and torch.cpu._is_vnni_supported())


def quantised(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix [N, K] as int8, and the step [N] of each row."""
    if weight.is_meta:  # nothing to round; most operations there would have PyTorch load half of itself for the shapes
        return torch.empty(weight.shape, dtype=torch.int8), torch.empty(len(weight), dtype=torch.float32)
    steps = weight.float().abs().amax(1).clamp_min(TINY) / LEVELS
    return (weight.float() / steps[:, None]).round().to(torch.int8), steps


class Int8Product:
    """x W^T + b, with W [N, K] in int8."""

    def __init__(self, weight: Tensor, steps: Tensor, bias: Tensor | None) -> None:
        self.weight, self.steps, self.bias = weight, steps, bias
        self._blocks: Tensor | None = None
        self._no_shift = torch.zeros(len(weight), dtype=torch.int64)

    def __call__(self, x: Tensor) -> Tensor:
        """[M, K] -> [M, N], float32."""
        step = x.abs().amax(1, keepdim=True).clamp_min_(TINY).mul_(1 / LEVELS)
        rounded = x.div(step).round_()
        if len(x) == 1:  # one row has no use for weights in blocks: calling what takes them costs more than the product
            y = torch._int_mm(rounded.to(torch.int8), self.weight.t()).float().mul_(self.steps)
        else:
            y = self._by_blocks(rounded.add_(MIDDLE).to(torch.uint8))
        return y.mul_(step) if self.bias is None else torch.addcmul(self.bias, y, step, out=y)

    def _by_blocks(self, x: Tensor) -> Tensor:
        """uint8 [M, K] -> [M, N], as if the step of each row were 1."""
        if self._blocks is None:
            self._blocks = torch.ops.onednn.qlinear_prepack(self.weight, None)
        y: Tensor = torch.ops.onednn.qlinear_pointwise(
            x, 1.0, MIDDLE, self._blocks, self.steps, self._no_shift, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return y


class Int8Linear(nn.Module):
    """`nn.Linear` for inference, with its weight in int8; `factor` multiplies what goes in."""

    def __init__(
        self, weight: nn.Parameter, steps: nn.Parameter, bias: nn.Parameter | None, factor: float = 1.0
    ) -> None:
        super().__init__()
        self.weight, self.steps, self.bias, self.factor = weight, steps, bias, factor
        self._product: Int8Product | None = None

    @property
    def product(self) -> Int8Product:
        if self._product is None:
            bias = None if self.bias is None else self.bias.data
            self._product = Int8Product(self.weight.data, self.steps.data, bias)
        return self._product

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] -> [..., N]."""
        rows = x.reshape(-1, x.shape[-1])
        return self.product(rows if self.factor == 1 else rows * self.factor).view(*x.shape[:-1], -1)


class Int8Embedding(nn.Module):
    """A vector a token, from rows in int8, times `factor`."""

    def __init__(self, weight: nn.Parameter, steps: nn.Parameter, factor: float) -> None:
        super().__init__()
        self.weight, self.steps, self.factor = weight, steps, factor

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return self.weight[tokens].float() * (self.steps[tokens] * self.factor).unsqueeze(-1)


def to_int8(model: nn.Module) -> nn.Module:
    """The same model with its matrices in int8, in place; those that were tied stay so. Without memory ("meta") too."""
    made: dict[int, tuple[nn.Parameter, nn.Parameter]] = {}

    def rounded(weight: Tensor) -> tuple[nn.Parameter, nn.Parameter]:
        if id(weight) not in made:
            whole, steps = quantised(weight.detach())
            made[id(weight)] = nn.Parameter(whole, requires_grad=False), nn.Parameter(steps, requires_grad=False)
            kept.append(weight)
        return made[id(weight)]

    def replaced(module: nn.Module) -> nn.Module | None:
        if type(module) is TokenEmbedding:  # a subclass may do something else
            return Int8Embedding(*rounded(module.weight), module.scale)
        if type(module) is OutputProjection:
            return Int8Linear(*rounded(module.weight), module.bias, module.scale)
        return Int8Linear(*rounded(module.weight), module.bias) if type(module) is nn.Linear else None

    kept: list[Tensor] = []  # or the id of one that is gone might be another's
    new: dict[int, nn.Module | None] = {}
    for module in list(model.modules()):
        for name, child in module._modules.items():  # one module may have several names
            if child is None:
                continue
            if id(child) not in new:
                new[id(child)] = replaced(child)
            module._modules[name] = new[id(child)] or child
    return model
