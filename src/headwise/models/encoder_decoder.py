"""The Transformer of 2017: an encoder reads the source, a decoder writes the target token by token."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models import blocks
from headwise.nn.cache import LayerCache
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.init import initialise
from headwise.nn.masks import padding_mask
from headwise.nn.positions import PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Context, Stack, StackOutput


class Encoded(NamedTuple):
    """The source as the decoder sees it."""

    memory: Tensor  # [B, S, encoder width]
    mask: Tensor | None  # [B, 1, 1, S]
    self_weights: tuple[Tensor, ...] = ()
    """[B, H, S, S] a layer, if captured."""

    def select(self, rows: Tensor) -> "Encoded":
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Encoded(self.memory.index_select(0, rows), mask)


class EncoderDecoder(nn.Module):
    """Source ids and target ids in, logits over the vocabulary out."""

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        source_positions: PositionEncoding,
        encoder: Stack | RecurrentStack,
        target_embedding: TokenEmbedding,
        target_positions: PositionEncoding,
        decoder: Stack | RecurrentStack,
        output_projection: OutputProjection,
        dropout: float,
        pad: int,
        source_norm: nn.Module | None = None,
        target_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.source_positions = source_positions
        self.source_norm = source_norm
        self.encoder = encoder
        self.target_embedding = target_embedding
        self.target_positions = target_positions
        self.target_norm = target_norm
        self.decoder = decoder
        self.output_projection = output_projection
        self.dropout = Dropout(dropout)
        self.pad = pad

    def encode(self, source: Tensor, capture: bool = False) -> Encoded:
        """[B, S] ids -> the memory, from the last encoder layer."""
        length = source.size(1)
        positions = torch.arange(length, device=source.device)
        x = self.source_positions.embed(self.source_embedding(source), positions)
        x = self.dropout(x if self.source_norm is None else self.source_norm(x))
        mask = padding_mask(source, self.pad)
        context = Context(
            mask=mask,
            rotation=self.source_positions.rotation(positions),
            bias=self.source_positions.bias(length, length),
            capture=capture,
        )
        output: StackOutput = self.encoder(x, context)
        return Encoded(output.hidden, mask, output.self_weights)

    def decode(
        self, target: Tensor, encoded: Encoded, cache: Sequence[LayerCache] = (), capture: bool = False
    ) -> StackOutput:
        """[B, T] ids, which follow those in the cache -> hidden states (`output_projection` makes logits).

        Padding stands at the end of a target, where the causal mask already hides it from every real token.
        """
        start = cache[0].length if cache else 0
        length = target.size(1)
        positions = torch.arange(start, start + length, device=target.device)
        x = self.target_positions.embed(self.target_embedding(target), positions)
        x = self.dropout(x if self.target_norm is None else self.target_norm(x))
        context = Context(
            rotation=self.target_positions.rotation(positions),
            bias=self.target_positions.bias(length, start + length),
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
    if config.norm_order in blocks.PARALLEL:
        raise ConfigError("parallel layers have no place for cross-attention: model.norm_order must be pre or post")
    source = blocks.encoder_side(config)
    source_embedding = blocks.token_embedding(config, vocabulary, source.width)
    target_embedding = source_embedding
    if config.tie in ("decoder", "none"):
        target_embedding = blocks.token_embedding(config, vocabulary, config.width)
    output_weight = target_embedding.weight
    if config.tie in ("embeddings", "none"):
        output_weight = nn.Parameter(torch.empty(vocabulary, config.width))
    model = EncoderDecoder(
        source_embedding=source_embedding,
        source_positions=blocks.positions(source, source.width, causal=False),
        source_norm=blocks.norm(config, source.width) if config.embedding_norm else None,
        encoder=blocks.stack(source, config.encoder_layers, causal=False),
        target_embedding=target_embedding,
        target_positions=blocks.positions(config, config.width, causal=True),
        target_norm=blocks.norm(config, config.width) if config.embedding_norm else None,
        decoder=blocks.stack(config, config.decoder_layers, causal=True, memory_width=source.width),
        output_projection=OutputProjection(output_weight, bias=config.output_bias, scale=config.output_scale),
        dropout=config.dropout,
        pad=pad,
    )
    initialise(model, config.init)
    return model
