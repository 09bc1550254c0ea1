"""One plain table: family -> builder."""

from collections.abc import Callable

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.encoder_decoder import EncoderDecoder, build_encoder_decoder

FAMILIES: dict[str, Callable[[ModelConfig, int, int], EncoderDecoder]] = {
    "encoder_decoder": build_encoder_decoder,
}


def build(config: ModelConfig, vocabulary: int, pad: int) -> EncoderDecoder:
    """The model of a config, freshly initialised from torch's current seed."""
    if config.family not in FAMILIES:
        raise ConfigError(f"unknown model.family {config.family!r}; there are: {', '.join(FAMILIES)}")
    return FAMILIES[config.family](config, vocabulary, pad)
