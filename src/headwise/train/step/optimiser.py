"""The optimisers, Adam and Muon, and what a step does with them: learning rate, clipping, update."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.train.checkpoint.sharded_state import whole_of
from headwise.train.step.tune import parameter_groups

MOMENTUM = 0.95
ROUNDS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic that drives all singular values towards 1 in a few rounds (Jordan and others 2024)."""

ADAM_SIZE = 0.2
"""Root mean square of a usual Adam step. Muon's steps are scaled to it, so that one learning rate serves both
(Liu and others 2025)."""


def make_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """The recipe's optimiser, for all weights that learn."""
    return OPTIMISERS[recipe.train.optimiser](model, recipe)


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate * group["scale"]


def clip_gradients(model: nn.Module, limit: float) -> Tensor:
    """Scale the whole gradient down to the norm `limit` (0: no limit); returns the norm before clipping."""
    norm: Any = nn.utils.clip_grad_norm_(model.parameters(), limit or math.inf)
    return whole_of(norm)


def update(optimiser: torch.optim.Optimizer, finite: Tensor) -> None:
    """Take a step of the optimiser, unless the gradient is not `finite`, which would destroy the weights.

    This is decided on the device, without a wait: a fused optimiser does nothing if `found_inf` is set, which PyTorch
    uses for scaled float16 gradients.
    """
    optimiser.found_inf = (~finite).float()  # type: ignore[attr-defined]
    optimiser.step()


def adam(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    config = recipe.train
    groups = parameter_groups(model, recipe)
    return torch.optim.AdamW(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def muon(model: nn.Module, recipe: Recipe) -> "Muon":
    config = recipe.train
    inner = {parameter for parameter in inner_matrices(model) if parameter.requires_grad}
    groups: list[dict[str, Any]] = []
    for group in parameter_groups(model, recipe):
        for orthogonalised in (True, False):
            members = [parameter for parameter in group["params"] if (parameter in inner) == orthogonalised]
            if members:
                groups.append({**group, "params": members, "orthogonalised": orthogonalised})
    return Muon(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


OPTIMISERS: dict[str, Callable[[nn.Module, Recipe], torch.optim.Optimizer]] = {"adam": adam, "muon": muon}


def inner_matrices(model: nn.Module) -> list[Tensor]:
    """The matrices of the linear maps in the layers: neither embeddings nor the output projection."""
    return [
        parameter
        for stack in model.modules()
        if isinstance(stack, nn.ModuleList)
        for part in stack.modules()
        if isinstance(part, nn.Linear)
        for parameter in part.parameters()
        if parameter.dim() == 2
    ]


class Muon(torch.optim.AdamW):
    """Muon: `orthogonalised` groups step by the orthogonal matrix nearest to their momentum, others as in Adam.

    Such a step moves equally far in every direction, whereas a few directions dominate a gradient.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        gradients: dict[Tensor, Tensor] = {}
        for group in self.param_groups:
            if group["orthogonalised"]:
                members = [parameter for parameter in group["params"] if parameter.grad is not None]
                self._orthogonal_step(group, members)
                gradients |= {parameter: parameter.grad for parameter in members}
        for parameter in gradients:
            parameter.grad = None  # hides it from Adam
        super().step()
        for parameter, gradient in gradients.items():
            parameter.grad = gradient  # a CUDA graph writes to its address

    def _orthogonal_step(self, group: dict[str, Any], members: list[Tensor]) -> None:
        shapes: dict[torch.Size, list[Tensor]] = {}
        for parameter in members:
            shapes.setdefault(parameter.shape, []).append(parameter)
        found_inf: Tensor = getattr(self, "found_inf", torch.zeros(()))
        for shape, parameters in shapes.items():
            gradients = torch.stack([parameter.grad for parameter in parameters])  # type: ignore[misc]
            stays = found_inf.to(gradients.device) > 0  # decided on the device, without a wait
            gradients = torch.where(stays, torch.zeros_like(gradients), gradients)
            keep = torch.where(stays, 1.0, MOMENTUM)
            rate = torch.where(stays, 0.0, group["lr"])
            for parameter in parameters:
                if "momentum" not in self.state[parameter]:
                    self.state[parameter]["momentum"] = torch.zeros_like(parameter)
            momenta = [self.state[parameter]["momentum"] for parameter in parameters]
            momentum = torch.stack(momenta) * keep + gradients
            torch._foreach_copy_(momenta, list(momentum))
            step = orthogonal(gradients + MOMENTUM * momentum) * (ADAM_SIZE * math.sqrt(max(shape)))
            torch._foreach_mul_(parameters, 1 - rate * group["weight_decay"])
            torch._foreach_add_(parameters, list((step * -rate).to(parameters[0].dtype)))


def orthogonal(matrices: Tensor) -> Tensor:
    """The approximately nearest orthogonal matrices, by Newton-Schulz iteration; [n, rows, columns] -> the same shape.

    Singular values come out between 0.7 and 1.2 instead of 1, which serves a step as well. bfloat16 is exact enough.
    """
    a, b, c = COEFFICIENTS
    tall = matrices.size(1) > matrices.size(2)
    x = matrices.to(torch.bfloat16)
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    result: Tensor = x.mT if tall else x
    return result
