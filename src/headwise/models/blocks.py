"""Builders of the parts of a model from its config; every family is assembled from these."""

import math
from collections.abc import Callable, Collection

from torch import nn

from headwise.config import ModelConfig, PositionsConfig
from headwise.errors import ConfigError
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.embedding import PATCH_EMBEDDINGS, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS, FEED_FORWARDS, FeedForward, GatedFeedForward
from headwise.nn.init import INITS
from headwise.nn.masks import EVERYTHING, Causal, Pattern, SlidingWindow
from headwise.nn.norms import NORM_ORDERS, NORMS
from headwise.nn.pooling import POOLERS
from headwise.nn.positions import POSITIONS, PositionEncoding, PositionShape
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.rotary import Dynamic, Frequencies, Linear, Llama3, LongRope, Yarn
from headwise.nn.stack import Layer, ParallelLayer, Stack

PARALLEL = ("parallel", "parallel_shared")
ORDERS = (*NORM_ORDERS, *PARALLEL)
STACKS = ("transformer", "lstm")


def _stretched(positions: PositionsConfig) -> tuple[float, int]:
    """The factor by which rotary positions are stretched, and the length up to which they are not."""
    scaling = positions.rotary.scaling
    return scaling.factor, scaling.original_positions or positions.max_positions


def _llama3(width: int, positions: PositionsConfig) -> Frequencies:
    rotary, scaling = positions.rotary, positions.rotary.scaling
    return Llama3(width, rotary.base, *_stretched(positions), scaling.low_frequency, scaling.high_frequency)


def _yarn(width: int, positions: PositionsConfig) -> Frequencies:
    rotary, scaling = positions.rotary, positions.rotary.scaling
    blend = (scaling.beta_fast, scaling.beta_slow)
    return Yarn(width, rotary.base, *_stretched(positions), *blend, scaling.attention_factor, scaling.truncate)


def _longrope(width: int, positions: PositionsConfig) -> Frequencies:
    rotary, scaling = positions.rotary, positions.rotary.scaling
    divisors = (scaling.short_factors, scaling.long_factors)
    return LongRope(width, rotary.base, *_stretched(positions), *divisors, scaling.attention_factor)


ROTARY_SCALINGS: dict[str, Callable[[int, PositionsConfig], Frequencies]] = {
    "none": lambda width, positions: Frequencies(width, positions.rotary.base),
    "linear": lambda width, positions: Linear(width, positions.rotary.base, positions.rotary.scaling.factor),
    "dynamic": lambda width, positions: Dynamic(width, positions.rotary.base, *_stretched(positions)),
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}


def norm(config: ModelConfig, width: int) -> nn.Module:
    return NORMS[config.norm.kind](width, config.norm.epsilon)


def attention(config: ModelConfig, memory_width: int) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.width,
        config.attention.heads,
        key_value_heads=config.attention.key_value_heads,
        head_width=config.attention.head_width,
        memory_width=memory_width,
        bias=config.attention_bias,
        output_bias=config.attention.output_bias,
        dropout=config.attention.dropout,
        scale=config.attention.scale,
    )


def feed_forward(config: ModelConfig) -> FeedForward | GatedFeedForward:
    return FEED_FORWARDS[config.feed_forward.kind](
        config.width,
        config.feed_forward.hidden,
        ACTIVATIONS[config.feed_forward.activation],
        bias=config.bias,
        dropout=config.feed_forward.dropout,
    )


def layer(config: ModelConfig, pattern: Pattern, memory_width: int | None) -> Layer | ParallelLayer:
    """One layer; with a memory width, it has cross-attention."""
    if config.norm.order in PARALLEL:
        return ParallelLayer(
            self_attention=attention(config, config.width),
            self_norm=norm(config, config.width),
            feed_forward=feed_forward(config),
            feed_forward_norm=norm(config, config.width) if config.norm.order == "parallel" else None,
            dropout=config.dropout,
            pattern=pattern,
        )
    add_and_norm = NORM_ORDERS[config.norm.order]
    return Layer(
        self_attention=attention(config, config.width),
        self_norm=add_and_norm(norm(config, config.width), config.dropout),
        cross_attention=attention(config, memory_width) if memory_width else None,
        cross_norm=add_and_norm(norm(config, config.width), config.dropout) if memory_width else None,
        feed_forward=feed_forward(config),
        feed_forward_norm=add_and_norm(norm(config, config.width), config.dropout),
        pattern=pattern,
    )


def stack(config: ModelConfig, *, causal: bool, memory_width: int | None = None) -> Stack | RecurrentStack:
    """The layers of one stack, with a closing norm where the residual path does not end in one."""
    depth = config.layers
    if config.stack == "lstm":
        cross = attention(config, memory_width) if memory_width else None
        return RecurrentStack(config.width, depth, backwards=not causal, cross_attention=cross, dropout=config.dropout)
    pattern = EVERYTHING
    if causal:
        pattern = SlidingWindow(config.attention.window) if config.attention.window else Causal()
    layers = [layer(config, pattern, memory_width) for _ in range(config.shared_layers or depth)]
    return Stack(layers, None if config.norm.order == "post" else norm(config, config.width), depth)


def positions(config: ModelConfig, width: int, *, causal: bool) -> PositionEncoding:
    """The position encoding of one stack, for embeddings of this width."""
    rotated = config.positions.rotary.width or config.head_width
    shape = PositionShape(
        width=width,
        heads=config.attention.heads,
        causal=causal,
        max_positions=config.positions.max_positions,
        offset=config.positions.offset,
        frequencies=ROTARY_SCALINGS[config.positions.rotary.scaling.kind](rotated - rotated % 2, config.positions),
        buckets=config.positions.buckets,
        distance=config.positions.distance,
    )
    return POSITIONS[config.positions.kind](shape)


def token_embedding(config: ModelConfig, vocabulary: int, width: int) -> TokenEmbedding:
    return TokenEmbedding(vocabulary, width, math.sqrt(width) if config.embedding.scale else 1.0)


def check_kinds(config: ModelConfig) -> None:
    """Refuse kinds of parts that are not in the tables of `nn`; ModelConfig itself checks the numbers."""
    tables: dict[str, tuple[str | None, Collection[str]]] = {
        "stack": (config.stack, STACKS),
        "init": (config.init, INITS),
        "feed_forward.kind": (config.feed_forward.kind, FEED_FORWARDS),
        "feed_forward.activation": (config.feed_forward.activation, ACTIVATIONS),
        "norm.kind": (config.norm.kind, NORMS),
        "norm.order": (config.norm.order, ORDERS),
        "positions.kind": (config.positions.kind, POSITIONS),
        "positions.rotary.scaling.kind": (config.positions.rotary.scaling.kind, ROTARY_SCALINGS),
        "pooling.pooler": (config.pooling.pooler, POOLERS),
        "patches.kind": (config.patches.kind if config.patches else None, PATCH_EMBEDDINGS),
    }
    for key, (kind, table) in tables.items():
        if kind is not None and kind not in table:
            raise ConfigError(f"unknown model.{key} {kind!r}; there are: {', '.join(table)}")
