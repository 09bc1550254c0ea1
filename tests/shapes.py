"""Small models of every kind there is: the tables of parts, each row of each, and some combinations.

A new row in a table of `nn` is tested without a new test.
"""

import itertools
from collections.abc import Iterable, Mapping
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
from headwise.recipe import model_config, replaced

PAD, VOCABULARY = 0, 37


def with_dots(changes: Mapping[str, object]) -> dict[str, object]:
    """Keyword arguments such as norm__order as the keys of a recipe: norm.order."""
    return {key.replace("__", "."): value for key, value in changes.items()}


def small(**changes: object) -> ModelConfig:
    """A model of a few thousand weights; dropout off, so that it is a function. `norm__order` stands for norm.order."""
    given = with_dots(changes)
    depth: dict[str, object] = {"layers": 3, "encoder.layers": 2}
    if "layers" in given:
        depth = {}
    elif given.get("family", "encoder_decoder") != "encoder_decoder":
        depth = {"layers": 3 if given["family"] == "causal_lm" else 2}
    shape = {"width": 24, **depth, "attention.heads": 4, "feed_forward.hidden": 32, "dropout": 0.0}
    return model_config({**shape, **given})


def scaled(kind: str) -> ModelConfig:
    """Rotary positions, slowed down in a way that shows in short texts too.

    They stay below the length of training, though: beyond it some kinds make the past depend on what follows.
    """
    scaling = RotaryScaling(
        kind, factor=4.0, original_positions=64, short_factors=(1.0, 1.5, 2.0), long_factors=(2.0, 3.0, 4.0)
    )
    return small(positions__kind="rotary", positions__rotary__scaling=scaling)


def pairwise(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which every two values of different parts occur together: faults that need three are rare."""
    whole = list(itertools.product(*choices))
    pairs = {each: set(itertools.combinations(enumerate(each), 2)) for each in whole}
    missing = set().union(*pairs.values())
    chosen: list[tuple[Any, ...]] = []
    while missing:
        best = max(whole, key=lambda each: len(pairs[each] & missing))  # the first of equals: always the same choice
        chosen.append(best)
        missing -= pairs[best]
    return chosen


def _variants() -> dict[str, ModelConfig]:
    variants = {
        f"{positions}-{norm}-{order}-{groups}kv": small(
            positions__kind=positions, norm__kind=norm, norm__order=order, attention__key_value_heads=groups
        )
        for positions, norm, order, groups in pairwise(POSITIONS, NORMS, NORM_ORDERS, (4, 2, 1))
    }
    variants |= {f"activation-{name}": small(feed_forward__activation=name) for name in ACTIVATIONS}
    variants |= {
        f"feed-forward-{name}": small(feed_forward__kind=name, feed_forward__activation="silu")
        for name in FEED_FORWARDS
    }
    variants |= {f"init-{name}": small(init=name) for name in INITS}
    variants |= {f"tie-{tie}": small(tie=tie) for tie in ("all", "decoder", "embeddings", "none")}
    variants |= {f"rotary-{kind}": scaled(kind) for kind in ROTARY_SCALINGS}
    variants |= {
        "no-bias": small(bias=False),
        "no-bias-but-attention": small(bias=False, attention__bias=True),
        "no-attention-bias": small(attention__bias=False),
        "no-attention-output-bias": small(attention__output_bias=False),
        "wider-encoder": small(encoder__width=40, tie="decoder"),
        "narrower-encoder": small(encoder__width=16, tie="none", norm__order="pre"),
        "encoder-of-other-heads": small(encoder__heads=2, encoder__hidden=48),
        "rotary-of-another-base": small(positions__kind="rotary", positions__rotary__base=500.0),
        "rotary-in-part": small(positions__kind="rotary", positions__rotary__width=2),
        "few-relative-buckets": small(positions__kind="relative", positions__buckets=4, positions__distance=5),
        "positions-from-two": small(positions__kind="learned", positions__max_positions=9, positions__offset=2),
        "one-layer": small(layers=1),
        "shared-layers": small(shared_layers=1),
        "shared-in-groups": small(shared_layers=2, norm__order="pre"),
        "odd-head-width": small(width=20, attention__heads=4),
        "wide-heads": small(attention__head_width=10, positions__kind="rotary"),
        "heads-that-do-not-divide": small(attention__heads=5, attention__head_width=6),
        "attention-scale": small(attention__scale=1.0),
        "window": small(attention__window=3),
        "embedding-norm": small(embedding__norm=True, embedding__scale=False),
        "output-bias-and-scale": small(output__bias=True, output__scale=0.2),
        "norm-epsilon": small(norm__epsilon=0.1),
    }
    return variants


def _decoder_variants() -> dict[str, ModelConfig]:
    shapes: dict[str, dict[str, object]] = {
        f"{positions}-{order}-{window or 0}window": {
            "positions.kind": positions,
            "norm.order": order,
            "attention.window": window,
        }
        for positions, order, window in pairwise(POSITIONS, ORDERS, (None, 3))
    }
    gated: dict[str, object] = {
        "feed_forward.kind": "gated",
        "feed_forward.activation": "silu",
        "norm.kind": "rms",
        "positions.kind": "rotary",
    }
    shapes |= {
        "untied-with-bias": {"tie": "none", "output.bias": True},
        "shared-layers": {"shared_layers": 1, "norm.order": "parallel"},
        "gated-grouped": {**gated, "norm.order": "pre", "attention.key_value_heads": 2, "bias": False},
        "gated-parallel": {
            **gated,
            "norm.order": "parallel_shared",
            "positions.rotary.width": 2,
            "attention.bias": False,
        },
        "wide-heads": {**gated, "norm.order": "pre", "attention.head_width": 10, "attention.window": 2},
        "attention-scale": {"attention.scale": 1.0, "norm.order": "pre"},
        "embedding-norm": {"embedding.norm": True},
    }
    variants = {name: small(family="causal_lm", **shape) for name, shape in shapes.items()}
    for kind in ROTARY_SCALINGS:
        variants[f"rotary-{kind}"] = replaced(
            scaled(kind), {"family": "causal_lm", "encoder": None, "norm.order": "pre"}
        )
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
