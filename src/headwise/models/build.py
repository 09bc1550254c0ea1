"""`build`: the model of a config, by one table of families."""

from collections.abc import Callable

from torch import nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.blocks import check_kinds
from headwise.models.causal_lm import CausalLM, build_causal_lm
from headwise.models.classifier import with_classifier
from headwise.models.encoder_decoder import build_encoder_decoder
from headwise.models.masked_lm import MaskedLM, build_masked_lm
from headwise.models.vision import VisionTransformer, build_vision

FAMILIES: dict[str, Callable[[ModelConfig, int, int], nn.Module]] = {
    "encoder_decoder": build_encoder_decoder,
    "causal_lm": build_causal_lm,
    "masked_lm": build_masked_lm,
    "vision": build_vision,
}

LARGEST = 2**26
"""Tokens of the largest vocabulary: far more than any tokenizer has."""


def build(config: ModelConfig, vocabulary: int, pad: int) -> nn.Module:
    """Build the model of a config, initialised from torch's current seed."""
    if config.family not in FAMILIES:
        raise ConfigError(f"unknown model.family {config.family!r}; there are: {', '.join(FAMILIES)}")
    check_kinds(config)
    config.check()
    if not 0 <= vocabulary <= LARGEST:
        raise ConfigError(f"a vocabulary of {vocabulary} tokens: it must be at least 0 and at most {LARGEST:,}")
    model = FAMILIES[config.family](config, vocabulary, pad)
    if not config.classes:
        return model
    if not isinstance(model, CausalLM | MaskedLM | VisionTransformer):
        raise ConfigError(f"a model of the family {config.family} cannot classify: remove model.classes")
    return with_classifier(model, config)
