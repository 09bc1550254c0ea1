"""Small models of every kind there is: the tables of parts, each row of each, and some combinations.

A new row in a table of `nn` is tested without a new test.
"""

import itertools

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.models.build import build
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.feed_forward import ACTIVATIONS, FEED_FORWARDS
from headwise.nn.init import INITS
from headwise.nn.norms import NORM_ORDERS, NORMS
from headwise.nn.positions import POSITIONS

PAD, VOCABULARY = 0, 37


def small(**changes: object) -> ModelConfig:
    """A model of a few thousand weights; dropout off, so that it is a function."""
    shape = {"width": 24, "encoder_layers": 2, "decoder_layers": 3, "heads": 4, "hidden": 32, "dropout": 0.0}
    return ModelConfig(**{**shape, **changes})  # type: ignore[arg-type]


def _variants() -> dict[str, ModelConfig]:
    variants = {
        f"{positions}-{norm}-{order}-{groups}kv": small(
            positions=positions, norm=norm, norm_order=order, key_value_heads=groups
        )
        for positions, norm, order, groups in itertools.product(POSITIONS, NORMS, NORM_ORDERS, (4, 2, 1))
    }
    variants |= {f"activation-{name}": small(activation=name) for name in ACTIVATIONS}
    variants |= {f"feed-forward-{name}": small(feed_forward=name, activation="silu") for name in FEED_FORWARDS}
    variants |= {f"init-{name}": small(init=name) for name in INITS}
    variants |= {f"tie-{tie}": small(tie=tie) for tie in ("all", "decoder", "none")}
    variants |= {
        "no-bias": small(bias=False),
        "wider-encoder": small(encoder_width=40, tie="decoder"),
        "narrower-encoder": small(encoder_width=16, tie="none", norm_order="pre"),
        "rotary-stretched": small(positions="rotary", rotary_base=500.0, rotary_scaling=4.0),
        "one-layer": small(encoder_layers=1, decoder_layers=1),
        "odd-head-width": small(width=20, heads=4),
    }
    return variants


VARIANTS = _variants()


def random_model(config: ModelConfig) -> EncoderDecoder:
    """Drawn weights everywhere, biases and gains included: zeros would hide mistakes."""
    model = build(config, VOCABULARY, PAD)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def sentences(count: int, length: int, *, shortest: int | None = None) -> Tensor:
    """Random ids [count, length]; with `shortest`, rows end early and are padded."""
    ids = torch.randint(4, VOCABULARY, (count, length))
    if shortest is not None:
        for row in range(1, count):
            ids[row, shortest + (row - 1) % (length - shortest) :] = PAD
    return ids


def max_difference(one: Tensor, other: Tensor) -> float:
    return (one - other).abs().max().item()


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
