"""Weights as named tensors, to and from a model."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from headwise.errors import CheckpointError

Weights = dict[str, Tensor]


def weights_of(model: nn.Module) -> Weights:
    """Every parameter once: a matrix that is tied has one name."""
    return dict(model.named_parameters())


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy the weights into the model; a name too many or too few or another shape is an error."""
    own = weights_of(model)
    missing, unexpected = own.keys() - weights.keys(), weights.keys() - own.keys()
    if missing or unexpected:
        problems = [f"missing: {', '.join(sorted(missing)[:5])}"] if missing else []
        problems += [f"unexpected: {', '.join(sorted(unexpected)[:5])}"] if unexpected else []
        raise CheckpointError(f"{where}: its weights are not this model's ({'; '.join(problems)})")
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != weights[name].shape:
                shapes = f"{tuple(weights[name].shape)} instead of {tuple(parameter.shape)}"
                raise CheckpointError(f"{where}: {name} has the shape {shapes}")
            parameter.copy_(weights[name])
