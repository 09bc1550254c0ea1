"""The matrix products of an engine: of what kind the weights are is settled here, once."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.embedding import OutputProjection
from headwise.nn.int8 import Int8Linear, Int8Product

Product = Callable[[Tensor], Tensor]
"""[M, K] -> [M, N], float32."""


def is_product(module: nn.Module) -> bool:
    """Whether it is a linear map of a kind that is known here; one with an adapter, for one, is not."""
    return isinstance(module, Int8Linear) or type(module) in (nn.Linear, OutputProjection)


def joint_product(modules: Sequence[nn.Module], factors: Sequence[float] = ()) -> Product:
    """Linear maps of the same input as one, whose outputs stand side by side, each times its factor."""
    factors = factors or [1.0] * len(modules)
    if all(isinstance(each, Int8Linear) for each in modules):
        parts: list[Any] = [each for each in modules if isinstance(each, Int8Linear)]
        if len(parts) == 1 and factors[0] == 1 and parts[0].factor == 1:
            whole: Product = parts[0].product
            return whole
        scales = [factor * part.factor for factor, part in zip(factors, parts, strict=True)]
        steps = torch.cat([part.steps.data * scale for part, scale in zip(parts, scales, strict=True)])
        return Int8Product(torch.cat([part.weight.data for part in parts]), steps, _biases(parts, factors))
    weight, bias = joint_weights(modules, factors)
    return lambda x: F.linear(x, weight, bias)


def joint_weights(modules: Sequence[nn.Module], factors: Sequence[float] = ()) -> tuple[Tensor, Tensor | None]:
    """The weight and the bias of such a map of maps in floats; of one alone, its own."""
    parts: list[Any] = list(modules)
    factors = factors or [1.0] * len(parts)
    scales = [factor * getattr(part, "scale", 1.0) for factor, part in zip(factors, parts, strict=True)]
    matrices = [part.weight.data for part in parts]
    if len(matrices) == 1 and scales[0] == 1:
        weight = matrices[0]
    else:
        weight = torch.cat([matrix * scale for matrix, scale in zip(matrices, scales, strict=True)])
    return weight, _biases(parts, factors)


def product(module: nn.Module, factor: float = 1.0) -> Product:
    return joint_product([module], [factor])


def product_of_rows(module: nn.Module, rows: Tensor) -> Product:
    """Some outputs of a linear map: rows [N] of its matrix."""
    part: Any = module
    bias = None if part.bias is None else part.bias.data[rows]
    if isinstance(module, Int8Linear):
        return Int8Product(part.weight.data[rows], part.steps.data[rows] * part.factor, bias)
    weight = joint_weights([module])[0][rows]
    return lambda x: F.linear(x, weight, bias)


def _biases(parts: list[Any], factors: Sequence[float]) -> Tensor | None:
    """Side by side; zeros for a part that has none, unless none has."""
    if all(part.bias is None for part in parts):
        return None
    given = [
        part.bias.data * factor
        if part.bias is not None
        else part.weight.new_zeros(part.weight.shape[0], dtype=torch.float32)
        for part, factor in zip(parts, factors, strict=True)
    ]
    return torch.cat(given)
