"""Low-rank adaptation (LoRA): a matrix stays frozen, and a low-rank product that is added to it is learned.

The names of a layer's own weights do not change, and low-rank matrices are recognised by their names, so that
`merged_weights` can fold them in without a model.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DOWN, UP, SCALE = "lora_down", "lora_up", "lora_scale"


class LoraLinear(nn.Linear):
    """y = x W^T + b + scale * dropout(x) A^T B^T, where only A and B are trained; B is initially 0."""

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, dropout: float) -> None:
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        for own in linear.parameters():
            own.requires_grad_(False)
        self.lora_down = nn.Parameter(self.weight.new_empty(rank, linear.in_features))  # A
        self.lora_up = nn.Parameter(self.weight.new_zeros(linear.out_features, rank))  # B
        self.lora_scale = nn.Parameter(self.weight.new_tensor(alpha / rank), requires_grad=False)
        """A frozen weight, so that it is saved with the matrices."""
        self.dropout = nn.Dropout(dropout)
        nn.init.kaiming_uniform_(self.lora_down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        change = F.linear(F.linear(self.dropout(x), self.lora_down), self.lora_up)
        return F.linear(x, self.weight, self.bias) + change * self.lora_scale

    def merged(self) -> nn.Linear:
        """An ordinary linear layer that computes the same."""
        plain = nn.Linear(self.in_features, self.out_features, self.bias is not None, device="meta")
        plain.weight = nn.Parameter(folded(self.weight, self.lora_down, self.lora_up, self.lora_scale))
        if self.bias is not None:
            plain.bias = nn.Parameter(self.bias.detach())
        return plain.train(self.training)


def add_lora(model: nn.Module, rank: int, alpha: float, dropout: float, names: Collection[str]) -> list[str]:
    """Adapt every linear layer inside the modules called `names`, at any depth; return the names of the layers."""

    def adapted(linear: nn.Linear) -> nn.Linear:
        return LoraLinear(linear, rank, alpha, dropout)

    places = [place for place in _linears(model) if not set(names).isdisjoint(place[0].split("."))]
    _replace(model, {name: layer for name, layer in places if not isinstance(layer, LoraLinear)}, adapted)
    return [name for name, _ in places]


def merge_lora(model: nn.Module) -> list[str]:
    """Replace adapted layers by ordinary ones with the change folded in; return their names."""
    places = {name: layer for name, layer in _linears(model) if isinstance(layer, LoraLinear)}
    _replace(model, places, lambda layer: layer.merged() if isinstance(layer, LoraLinear) else layer)
    return list(places)


def merged_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the ordinary model: every low-rank change is folded in."""
    plain = {name: tensor for name, tensor in weights.items() if name.rpartition(".")[2] not in (DOWN, UP, SCALE)}
    for name in weights:
        layer, _, last = name.rpartition(".")
        if last == DOWN:
            own = f"{layer}.weight"
            plain[own] = folded(weights[own], weights[name], weights[f"{layer}.{UP}"], weights[f"{layer}.{SCALE}"])
    return plain


@torch.no_grad()
def folded(weight: Tensor, down: Tensor, up: Tensor, scale: Tensor) -> Tensor:
    """The folded matrix W + scale * B A, summed in float32 at least."""
    precise = torch.promote_types(weight.dtype, torch.float32)
    return (weight.to(precise) + (up.to(precise) @ down.to(precise)) * scale.to(precise)).to(weight.dtype)


def _linears(model: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    """Every name of every linear layer: a shared layer has several."""
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Linear):
            yield name, module


def _replace(model: nn.Module, places: Mapping[str, nn.Linear], change: Callable[[nn.Linear], nn.Linear]) -> None:
    """Replace layers; one that has several names is changed once and stays shared."""
    changed: dict[int, nn.Linear] = {}
    for name, layer in places.items():
        if id(layer) not in changed:
            changed[id(layer)] = change(layer)
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, changed[id(layer)])
