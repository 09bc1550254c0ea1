"""Small models of every kind there is: the tables of parts, each row of each, and some combinations.

A new row in a table of `nn` is tested without a new test.
"""

import dataclasses
import itertools
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig, RotaryScaling
from headwise.models.blocks import ORDERS, ROTARY_SCALINGS
from headwise.models.build import build
from headwise.nn.feed_forward import ACTIVATIONS, FEED_FORWARDS
from headwise.nn.init import INITS
from headwise.nn.norms import NORM_ORDERS, NORMS
from headwise.nn.positions import POSITIONS

PAD, VOCABULARY = 0, 37


def small(**changes: object) -> ModelConfig:
    """A model of a few thousand weights; dropout off, so that it is a function."""
    shape = {"width": 24, "encoder_layers": 2, "decoder_layers": 3, "heads": 4, "hidden": 32, "dropout": 0.0}
    return ModelConfig(**{**shape, **changes})  # type: ignore[arg-type]


def scaled(kind: str) -> ModelConfig:
    """Rotary positions, slowed down in a way that shows in short texts too.

    They stay below the length of training, though: beyond it some kinds make the past depend on what follows.
    """
    scaling = RotaryScaling(
        kind, factor=4.0, original_positions=64, short_factors=(1.0, 1.5, 2.0), long_factors=(2.0, 3.0, 4.0)
    )
    return small(positions="rotary", rotary_scaling=scaling)


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
    variants |= {f"tie-{tie}": small(tie=tie) for tie in ("all", "decoder", "embeddings", "none")}
    variants |= {f"rotary-{kind}": scaled(kind) for kind in ROTARY_SCALINGS}
    variants |= {
        "no-bias": small(bias=False),
        "no-bias-but-attention": small(bias=False, attention_bias=True),
        "no-attention-bias": small(attention_bias=False),
        "no-attention-output-bias": small(attention_output_bias=False),
        "wider-encoder": small(encoder_width=40, tie="decoder"),
        "narrower-encoder": small(encoder_width=16, tie="none", norm_order="pre"),
        "encoder-of-other-heads": small(encoder_heads=2, encoder_hidden=48),
        "rotary-of-another-base": small(positions="rotary", rotary_base=500.0),
        "rotary-in-part": small(positions="rotary", rotary_width=2),
        "few-relative-buckets": small(positions="relative", relative_buckets=4, relative_distance=5),
        "positions-from-two": small(positions="learned", max_positions=9, position_offset=2),
        "one-layer": small(encoder_layers=1, decoder_layers=1),
        "shared-layers": small(shared_layers=1),
        "shared-in-groups": small(shared_layers=2, norm_order="pre"),
        "odd-head-width": small(width=20, heads=4),
        "wide-heads": small(head_width=10, positions="rotary"),
        "heads-that-do-not-divide": small(heads=5, head_width=6),
        "attention-scale": small(attention_scale=1.0),
        "window": small(window=3),
        "embedding-norm": small(embedding_norm=True, embedding_scale=False),
        "output-bias-and-scale": small(output_bias=True, output_scale=0.2),
        "norm-epsilon": small(norm_epsilon=0.1),
    }
    return variants


def _decoder_variants() -> dict[str, ModelConfig]:
    shapes: dict[str, dict[str, object]] = {
        f"{positions}-{order}-{window}window": {"positions": positions, "norm_order": order, "window": window}
        for positions, order, window in itertools.product(POSITIONS, ORDERS, (0, 3))
    }
    gated: dict[str, object] = {"feed_forward": "gated", "activation": "silu", "norm": "rms", "positions": "rotary"}
    shapes |= {
        "untied-with-bias": {"tie": "none", "output_bias": True},
        "shared-layers": {"shared_layers": 1, "norm_order": "parallel"},
        "gated-grouped": {**gated, "norm_order": "pre", "key_value_heads": 2, "bias": False},
        "gated-parallel": {**gated, "norm_order": "parallel_shared", "rotary_width": 2, "attention_bias": False},
        "wide-heads": {**gated, "norm_order": "pre", "head_width": 10, "window": 2},
        "attention-scale": {"attention_scale": 1.0, "norm_order": "pre"},
        "embedding-norm": {"embedding_norm": True},
    }
    variants = {name: small(family="causal_lm", **shape) for name, shape in shapes.items()}
    for kind in ROTARY_SCALINGS:
        variants[f"rotary-{kind}"] = dataclasses.replace(scaled(kind), family="causal_lm", norm_order="pre")
    return variants


VARIANTS = _variants()
"""Encoder-decoders."""

DECODER_VARIANTS = _decoder_variants()
"""Decoders alone: these can have parallel layers."""


def random_model(config: ModelConfig, vocabulary: int = VOCABULARY, pad: int = PAD) -> Any:
    """Drawn weights everywhere, biases and gains included: zeros would hide mistakes."""
    model = build(config, vocabulary, pad)
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
