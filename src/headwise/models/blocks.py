"""From a config to parts: what every family assembles its model from."""

import dataclasses
import math
from collections.abc import Callable, Collection

from torch import nn

from headwise.config import ModelConfig
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


def _stretched(config: ModelConfig) -> tuple[float, int]:
    """By how much the positions are stretched, and from which length on."""
    scaling = config.rotary_scaling
    return scaling.factor, scaling.original_positions or config.max_positions


def _yarn(width: int, config: ModelConfig) -> Frequencies:
    scaling = config.rotary_scaling
    return Yarn(
        width,
        config.rotary_base,
        *_stretched(config),
        scaling.beta_fast,
        scaling.beta_slow,
        scaling.attention_factor,
        scaling.truncate,
    )


def _longrope(width: int, config: ModelConfig) -> Frequencies:
    scaling = config.rotary_scaling
    return LongRope(
        width,
        config.rotary_base,
        *_stretched(config),
        scaling.short_factors,
        scaling.long_factors,
        scaling.attention_factor,
    )


ROTARY_SCALINGS: dict[str, Callable[[int, ModelConfig], Frequencies]] = {
    "none": lambda width, config: Frequencies(width, config.rotary_base),
    "linear": lambda width, config: Linear(width, config.rotary_base, config.rotary_scaling.factor),
    "dynamic": lambda width, config: Dynamic(width, config.rotary_base, *_stretched(config)),
    "llama3": lambda width, config: Llama3(
        width,
        config.rotary_base,
        *_stretched(config),
        config.rotary_scaling.low_frequency,
        config.rotary_scaling.high_frequency,
    ),
    "yarn": _yarn,
    "longrope": _longrope,
}


def encoder_side(config: ModelConfig) -> ModelConfig:
    """The config as an encoder reads it, where it differs from the decoder."""
    return dataclasses.replace(
        config,
        width=config.encoder_width or config.width,
        heads=config.encoder_heads or config.heads,
        hidden=config.encoder_hidden or config.hidden,
    )


def norm(config: ModelConfig, width: int) -> nn.Module:
    return NORMS[config.norm](width, config.norm_epsilon)


def head_width(config: ModelConfig) -> int:
    return config.head_width or config.width // config.heads


def attention(config: ModelConfig, memory_width: int) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.width,
        config.heads,
        key_value_heads=config.key_value_heads or None,
        head_width=config.head_width or None,
        memory_width=memory_width,
        bias=config.bias if config.attention_bias is None else config.attention_bias,
        output_bias=config.attention_output_bias,
        dropout=config.attention_dropout,
        scale=config.attention_scale or None,
    )


def feed_forward(config: ModelConfig) -> FeedForward | GatedFeedForward:
    return FEED_FORWARDS[config.feed_forward](
        config.width,
        config.hidden,
        ACTIVATIONS[config.activation],
        bias=config.bias,
        dropout=config.hidden_dropout,
    )


def layer(config: ModelConfig, pattern: Pattern, memory_width: int | None) -> Layer | ParallelLayer:
    """One layer, with cross-attention if it has a memory to look at."""
    if config.norm_order in PARALLEL:
        return ParallelLayer(
            self_attention=attention(config, config.width),
            self_norm=norm(config, config.width),
            feed_forward=feed_forward(config),
            feed_forward_norm=norm(config, config.width) if config.norm_order == "parallel" else None,
            dropout=config.dropout,
            pattern=pattern,
        )
    add_and_norm = NORM_ORDERS[config.norm_order]
    return Layer(
        self_attention=attention(config, config.width),
        self_norm=add_and_norm(norm(config, config.width), config.dropout),
        cross_attention=attention(config, memory_width) if memory_width else None,
        cross_norm=add_and_norm(norm(config, config.width), config.dropout) if memory_width else None,
        feed_forward=feed_forward(config),
        feed_forward_norm=add_and_norm(norm(config, config.width), config.dropout),
        pattern=pattern,
    )


def stack(config: ModelConfig, depth: int, *, causal: bool, memory_width: int | None = None) -> Stack | RecurrentStack:
    """`depth` layers; where the residual path ends without a norm, one that closes it."""
    if config.stack == "lstm":
        cross = attention(config, memory_width) if memory_width else None
        return RecurrentStack(config.width, depth, backwards=not causal, cross_attention=cross, dropout=config.dropout)
    pattern = EVERYTHING
    if causal:
        pattern = SlidingWindow(config.window) if config.window else Causal()
    layers = [layer(config, pattern, memory_width) for _ in range(config.shared_layers or depth)]
    return Stack(layers, None if config.norm_order == "post" else norm(config, config.width), depth)


def positions(config: ModelConfig, width: int, *, causal: bool) -> PositionEncoding:
    """The position encoding of one stack, for embeddings of this width."""
    turning = config.rotary_width or head_width(config)
    shape = PositionShape(
        width=width,
        heads=config.heads,
        causal=causal,
        max_positions=config.max_positions,
        offset=config.position_offset,
        frequencies=ROTARY_SCALINGS[config.rotary_scaling.kind](turning - turning % 2, config),
        buckets=config.relative_buckets,
        distance=config.relative_distance,
    )
    return POSITIONS[config.positions](shape)


def token_embedding(config: ModelConfig, vocabulary: int, width: int) -> TokenEmbedding:
    return TokenEmbedding(vocabulary, width, math.sqrt(width) if config.embedding_scale else 1.0)


def check_shape(config: ModelConfig) -> None:
    """Refuse, with a reason, what cannot be built."""
    tables: dict[str, Collection[str]] = {
        "activation": ACTIVATIONS,
        "feed_forward": FEED_FORWARDS,
        "norm": NORMS,
        "norm_order": ORDERS,
        "positions": POSITIONS,
        "init": INITS,
        "pooler": ("", *POOLERS),
        "stack": STACKS,
        "patches": PATCH_EMBEDDINGS,
    }
    for key, table in tables.items():
        if getattr(config, key) not in table:
            known = ", ".join(name for name in table if name)
            raise ConfigError(f"unknown model.{key} {getattr(config, key)!r}; there are: {known}")
    if config.rotary_scaling.kind not in ROTARY_SCALINGS:
        known = ", ".join(ROTARY_SCALINGS)
        raise ConfigError(f"unknown model.rotary_scaling.kind {config.rotary_scaling.kind!r}; there are: {known}")
    for key in ("width", "encoder_layers", "decoder_layers", "heads", "hidden", "max_positions", "relative_buckets"):
        if getattr(config, key) < 1:
            raise ConfigError(f"model.{key} must be at least 1")
    for key in (
        "encoder_width",
        "encoder_hidden",
        "encoder_heads",
        "key_value_heads",
        "head_width",
        "window",
        "shared_layers",
        "position_offset",
        "rotary_width",
        "embedding_width",
        "segments",
        "task_types",
        "classes",
        "norm_epsilon",
        "attention_scale",
    ):
        if not getattr(config, key) >= 0:
            raise ConfigError(f"model.{key} must not be negative")
    for key, value in (("rotary_base", config.rotary_base), ("rotary_scaling.factor", config.rotary_scaling.factor)):
        if not 0 < value < math.inf:
            raise ConfigError(f"model.{key} must be above 0")
    for key in ("dropout", "attention_dropout", "hidden_dropout"):
        if not 0 <= getattr(config, key) < 1:
            raise ConfigError(f"model.{key} must be at least 0 and below 1")
    for side in (config, encoder_side(config)):
        _check_heads(side)
    if config.positions == "relative" and (
        config.relative_buckets < 4 or config.relative_distance * 2 <= config.relative_buckets
    ):
        raise ConfigError(
            "relative positions need at least 4 buckets, half of them fewer than model.relative_distance: "
            f"not {config.relative_buckets} for a distance of {config.relative_distance}"
        )
    if config.tie == "embeddings" and config.family != "encoder_decoder":
        raise ConfigError('a model of one stack has one embedding: model.tie must be "all" or "none"')
    if config.tie in ("all", "embeddings") and config.encoder_width not in (0, config.width):
        raise ConfigError('an encoder of another width cannot share its embedding: set model.tie = "decoder"')
    depths = {"encoder_decoder": min(config.encoder_layers, config.decoder_layers), "causal_lm": config.decoder_layers}
    if config.shared_layers > depths.get(config.family, config.encoder_layers):
        raise ConfigError("model.shared_layers cannot be more than there are layers")


def _check_heads(config: ModelConfig) -> None:
    if config.width % config.heads and not config.head_width:
        raise ConfigError(f"model width {config.width} cannot be split into {config.heads} heads")
    if config.positions == "rotary":
        turning = config.rotary_width or head_width(config)
        if turning % 2:
            raise ConfigError(f"rotary positions need an even head width, not {turning}")
        if turning > head_width(config):
            raise ConfigError(f"model.rotary_width {turning} is more than a head has ({head_width(config)})")
    if config.key_value_heads and config.heads % config.key_value_heads:
        raise ConfigError(f"model.heads {config.heads} is no multiple of {config.key_value_heads} key/value heads")
