"""The Transformer of 2017: an encoder reads the source, a decoder writes the target token by token."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import LayerCache
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS, FEED_FORWARDS
from headwise.nn.init import INITS, initialise
from headwise.nn.masks import padding_mask
from headwise.nn.norms import NORM_ORDERS, NORMS, AddAndNorm, PreNorm
from headwise.nn.positions import POSITIONS, PositionEncoding, PositionShape
from headwise.nn.stack import Context, Layer, Stack, StackOutput


class Encoded(NamedTuple):
    """The source as the decoder sees it."""

    memory: Tensor  # [B, S, encoder width]
    mask: Tensor  # [B, 1, 1, S]
    self_weights: tuple[Tensor, ...] = ()
    """[B, H, S, S] a layer, if captured."""

    def select(self, rows: Tensor) -> "Encoded":
        return Encoded(self.memory.index_select(0, rows), self.mask.index_select(0, rows))


class EncoderDecoder(nn.Module):
    """Source ids and target ids in, logits over the vocabulary out."""

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        source_positions: PositionEncoding,
        encoder: Stack,
        target_embedding: TokenEmbedding,
        target_positions: PositionEncoding,
        decoder: Stack,
        output_projection: OutputProjection,
        dropout: float,
        pad: int,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.source_positions = source_positions
        self.encoder = encoder
        self.target_embedding = target_embedding
        self.target_positions = target_positions
        self.decoder = decoder
        self.output_projection = output_projection
        self.dropout = Dropout(dropout)
        self.pad = pad

    def encode(self, source: Tensor, capture: bool = False) -> Encoded:
        """[B, S] ids -> the memory, from the last encoder layer."""
        positions = torch.arange(source.size(1), device=source.device)
        x = self.dropout(self.source_positions.embed(self.source_embedding(source), positions))
        mask = padding_mask(source, self.pad)
        context = Context(mask=mask, rotation=self.source_positions.rotation(positions), capture=capture)
        output: StackOutput = self.encoder(x, context)
        return Encoded(output.hidden, mask, output.self_weights)

    def decode(
        self, target: Tensor, encoded: Encoded, cache: Sequence[LayerCache] = (), capture: bool = False
    ) -> StackOutput:
        """[B, T] ids, which follow those in the cache -> hidden states (`output_projection` makes logits).

        Padding stands at the end of a target, where the causal mask already hides it from every real token.
        """
        start = cache[0].length if cache else 0
        positions = torch.arange(start, start + target.size(1), device=target.device)
        x = self.dropout(self.target_positions.embed(self.target_embedding(target), positions))
        context = Context(
            rotation=self.target_positions.rotation(positions),
            memory=encoded.memory,
            memory_mask=encoded.mask,
            capture=capture,
        )
        output: StackOutput = self.decoder(x, context, cache)
        return output

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: [B, S] and [B, T] -> logits [B, T, V] of the token after each target token."""
        logits: Tensor = self.output_projection(self.decode(target, self.encode(source)).hidden)
        return logits


def build_encoder_decoder(config: ModelConfig, vocabulary: int, pad: int) -> EncoderDecoder:
    """Assemble and initialise the model that `config` describes."""
    check_shape(config)
    decoder_width, encoder_width = config.width, config.encoder_width or config.width

    def add_and_norm(width: int) -> AddAndNorm:
        return NORM_ORDERS[config.norm_order](NORMS[config.norm](width), config.dropout)

    def attention(width: int, memory_width: int) -> MultiHeadAttention:
        return MultiHeadAttention(
            width,
            config.heads,
            key_value_heads=config.key_value_heads or None,
            memory_width=memory_width,
            bias=config.bias,
            dropout=config.attention_dropout,
        )

    def layer(width: int, memory_width: int | None) -> Layer:
        feed_forward = FEED_FORWARDS[config.feed_forward](
            width,
            config.hidden,
            ACTIVATIONS[config.activation],
            bias=config.bias,
            dropout=config.hidden_dropout,
        )
        is_decoder = memory_width is not None
        return Layer(
            self_attention=attention(width, width),
            self_norm=add_and_norm(width),
            cross_attention=attention(width, memory_width) if memory_width else None,
            cross_norm=add_and_norm(width) if memory_width else None,
            feed_forward=feed_forward,
            feed_forward_norm=add_and_norm(width),
            causal=is_decoder,
        )

    def stack(layers: int, width: int, memory_width: int | None) -> Stack:
        needs_final_norm = NORM_ORDERS[config.norm_order] is PreNorm
        return Stack(
            [layer(width, memory_width) for _ in range(layers)],
            NORMS[config.norm](width) if needs_final_norm else None,
        )

    def positions(width: int) -> PositionEncoding:
        shape = PositionShape(
            width, width // config.heads, config.max_positions, config.rotary_base, config.rotary_scaling
        )
        return POSITIONS[config.positions](shape)

    source_embedding = TokenEmbedding(vocabulary, encoder_width)
    target_embedding = source_embedding if config.tie == "all" else TokenEmbedding(vocabulary, decoder_width)
    output_weight = target_embedding.weight
    if config.tie == "none":
        output_weight = nn.Parameter(torch.empty(vocabulary, decoder_width))
    model = EncoderDecoder(
        source_embedding=source_embedding,
        source_positions=positions(encoder_width),
        encoder=stack(config.encoder_layers, encoder_width, None),
        target_embedding=target_embedding,
        target_positions=positions(decoder_width),
        decoder=stack(config.decoder_layers, decoder_width, encoder_width),
        output_projection=OutputProjection(output_weight),
        dropout=config.dropout,
        pad=pad,
    )
    initialise(model, config.init)
    return model


def check_shape(config: ModelConfig) -> None:
    """Refuse, with a reason, what cannot be built."""
    tables: dict[str, Collection[str]] = {
        "activation": ACTIVATIONS,
        "feed_forward": FEED_FORWARDS,
        "norm": NORMS,
        "norm_order": NORM_ORDERS,
        "positions": POSITIONS,
        "init": INITS,
    }
    for key, table in tables.items():
        if getattr(config, key) not in table:
            raise ConfigError(f"unknown model.{key} {getattr(config, key)!r}; there are: {', '.join(table)}")
    for key in ("width", "encoder_layers", "decoder_layers", "heads", "hidden", "max_positions"):
        if getattr(config, key) < 1:
            raise ConfigError(f"model.{key} must be at least 1")
    for key in ("encoder_width", "key_value_heads"):
        if getattr(config, key) < 0:
            raise ConfigError(f"model.{key} must not be negative")
    for key in ("rotary_base", "rotary_scaling"):
        if not 0 < getattr(config, key) < math.inf:
            raise ConfigError(f"model.{key} must be above 0")
    for key in ("dropout", "attention_dropout", "hidden_dropout"):
        if not 0 <= getattr(config, key) < 1:
            raise ConfigError(f"model.{key} must be at least 0 and below 1")
    for width in (config.width, config.encoder_width or config.width):
        if width % config.heads:
            raise ConfigError(f"model width {width} cannot be split into {config.heads} heads")
        if config.positions == "rotary" and width // config.heads % 2:
            raise ConfigError(f"rotary positions need an even head width, not {width // config.heads}")
    if config.key_value_heads and config.heads % config.key_value_heads:
        raise ConfigError(f"model.heads {config.heads} is no multiple of {config.key_value_heads} key/value heads")
    if config.tie == "all" and config.encoder_width not in (0, config.width):
        raise ConfigError('an encoder of another width cannot share its embedding: set model.tie = "decoder"')
