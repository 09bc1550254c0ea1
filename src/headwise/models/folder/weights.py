"""Weights as named tensors, to and from a model."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import CheckpointError

Weights = dict[str, Tensor]


def weights_of(model: nn.Module) -> Weights:
    """The parameters of a model by name; a tied matrix has one name."""
    return dict(model.named_parameters())


def parameter_count(model: nn.Module) -> int:
    return sum(tensor.numel() for tensor in weights_of(model).values())


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy the weights into the model; they must fit it exactly."""
    check_weights(model, weights, where)
    with torch.no_grad():
        for name, parameter in weights_of(model).items():
            parameter.copy_(weights[name])


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Refuse weights that do not fit a model exactly; the model may be on the meta device."""
    own = weights_of(model)
    check_names(sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys()), where)
    for name, tensor in own.items():
        if tensor.shape != weights[name].shape:
            shapes = f"{tuple(weights[name].shape)} instead of {tuple(tensor.shape)}"
            raise CheckpointError(f"{where}: {name} has the shape {shapes}")
        if (tensor.dtype == torch.int8) != (weights[name].dtype == torch.int8):
            raise CheckpointError(f"{where}: {name} is {weights[name].dtype} instead of {tensor.dtype}")


def check_names(missing: Sequence[str], unexpected: Sequence[str], where: str) -> None:
    """Refuse weights of which some are missing or unexpected."""
    problems = [
        f"{what}: {', '.join(names[:5])}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        for what, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    if problems:
        raise CheckpointError(f"{where}: the weights do not match the config ({'; '.join(problems)})")


def check_depth(config: ModelConfig, tensors: int, where: str) -> None:
    """Refuse a config with more layers than the file has tensors, before a model of that depth is built."""
    depth = (config.family != "causal_lm") * config.encoder_side.layers
    depth += (config.family in ("causal_lm", "encoder_decoder")) * config.layers
    if (config.shared_layers or depth) > tensors:
        raise CheckpointError(f"{where}: its config has {depth:,} layers, but there are {tensors:,} tensors")


def adopt_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Put these tensors into a model on the meta device; ties are kept.

    Nothing is initialised or copied, so a large model loads as fast as its file is read.
    """
    check_weights(model, weights, where)
    parameters: dict[int, nn.Parameter] = {}
    for name, parameter in weights_of(model).items():
        parameters[id(parameter)] = nn.Parameter(weights[name], requires_grad=parameter.requires_grad)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, parameters[id(parameter)])
