"""Every optimiser: Adam, and Muon, which gives the matrices inside the layers steps without a preferred direction."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.train.step.tune import parameter_groups

MOMENTUM = 0.95
ROUNDS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic that drives all singular values towards 1 in a few rounds (Jordan and others 2024)."""

ADAM_SIZE = 0.2
"""Root mean square of a usual step of Adam: Muon's are scaled to it, so that one learning rate serves both
(Liu and others 2025)."""


def make_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """For all weights that learn. The loop sets the learning rate, and `found_inf` where a step is to be left out."""
    return OPTIMISERS[recipe.train.optimiser](model, recipe)


def adam(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    config = recipe.train
    groups = parameter_groups(model, recipe)
    return torch.optim.AdamW(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def muon(model: nn.Module, recipe: Recipe) -> "Muon":
    config = recipe.train
    inner = {parameter for parameter in inner_matrices(model) if parameter.requires_grad}
    groups: list[dict[str, Any]] = []
    for group in parameter_groups(model, recipe):
        for turned in (True, False):
            members = [parameter for parameter in group["params"] if (parameter in inner) == turned]
            if members:
                groups.append({**group, "params": members, "turned": turned})
    return Muon(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


OPTIMISERS: dict[str, Callable[[nn.Module, Recipe], torch.optim.Optimizer]] = {"adam": adam, "muon": muon}


def inner_matrices(model: nn.Module) -> list[Tensor]:
    """The weights of the linear maps in the layers: not embeddings, outputs or anything that is no matrix."""
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
    """Groups that are `turned` take the nearest orthogonal matrix of their momentum as their step; others Adam's.

    In such a step every direction counts alike, where a gradient's is made of a few that drown out the others.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        gradients: dict[Tensor, Tensor] = {}
        for group in self.param_groups:
            if group["turned"]:
                members = [parameter for parameter in group["params"] if parameter.grad is not None]
                self._turn(group, members)
                gradients |= {parameter: parameter.grad for parameter in members}
        for parameter in gradients:
            parameter.grad = None  # hides it from Adam
        super().step()
        for parameter, gradient in gradients.items():
            parameter.grad = gradient  # a recorded pass knows its address

    def _turn(self, group: dict[str, Any], members: list[Tensor]) -> None:
        shapes: dict[torch.Size, list[Tensor]] = {}
        for parameter in members:
            shapes.setdefault(parameter.shape, []).append(parameter)
        found_inf: Tensor = getattr(self, "found_inf", torch.zeros(()))
        for shape, parameters in shapes.items():
            gradients = torch.stack([parameter.grad for parameter in parameters])  # type: ignore[misc]
            stays = found_inf.to(gradients.device) > 0  # the device decides, without being waited for
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
    """[n, rows, columns] -> about the nearest matrices whose singular values are all 1: Newton and Schulz's way.

    "About": they come out between 0.7 and 1.2, which serves a step as well. bfloat16 is exact enough for it.
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
