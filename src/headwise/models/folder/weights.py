"""Weights as named tensors, to and from a model."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import CheckpointError

Weights = dict[str, Tensor]


def weights_of(model: nn.Module) -> Weights:
    """Every parameter once: a matrix that is tied has one name."""
    return dict(model.named_parameters())


def parameter_count(model: nn.Module) -> int:
    return sum(tensor.numel() for tensor in weights_of(model).values())


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy the weights into the model; a name too many or too few or another shape is an error."""
    check_weights(model, weights, where)
    with torch.no_grad():
        for name, parameter in weights_of(model).items():
            parameter.copy_(weights[name])


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """An error that names what is missing, too much or of another shape; the model may be one without memory."""
    own = weights_of(model)
    missing, unexpected = own.keys() - weights.keys(), weights.keys() - own.keys()
    if missing or unexpected:
        problems = [f"missing: {', '.join(sorted(missing)[:5])}"] if missing else []
        problems += [f"unexpected: {', '.join(sorted(unexpected)[:5])}"] if unexpected else []
        raise CheckpointError(f"{where}: its weights are not this model's ({'; '.join(problems)})")
    for name, tensor in own.items():
        if tensor.shape != weights[name].shape:
            shapes = f"{tuple(weights[name].shape)} instead of {tuple(tensor.shape)}"
            raise CheckpointError(f"{where}: {name} has the shape {shapes}")
        if (tensor.dtype == torch.int8) != (weights[name].dtype == torch.int8):
            raise CheckpointError(f"{where}: {name} is {weights[name].dtype} instead of {tensor.dtype}")


def check_depth(config: ModelConfig, tensors: int, where: str) -> None:
    """Refuse a config with more layers than the file has tensors, before a model of that depth is built."""
    depth = (config.family != "causal_lm") * config.encoder_side.layers
    depth += (config.family in ("causal_lm", "encoder_decoder")) * config.layers
    if (config.shared_layers or depth) > tensors:
        raise CheckpointError(f"{where}: its config has {depth:,} layers, but there are {tensors:,} tensors")


def adopt_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Give a model that was built without memory (on the meta device) these very tensors, ties kept.

    Nothing is drawn at random and nothing copied, so a large model loads as fast as its file is read.
    """
    check_weights(model, weights, where)
    parameters: dict[int, nn.Parameter] = {}
    for name, parameter in weights_of(model).items():
        parameters[id(parameter)] = nn.Parameter(weights[name], requires_grad=parameter.requires_grad)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, parameters[id(parameter)])
