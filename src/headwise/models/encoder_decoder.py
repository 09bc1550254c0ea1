"""The encoder-decoder Transformer of 2017: the encoder reads the source, the decoder predicts the target."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models import blocks
from headwise.nn.attention import Guide, MultiHeadAttention
from headwise.nn.cache import LayerCache
from headwise.nn.context import PADDED, Context, Layout
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.init import initialise
from headwise.nn.masks import Causal, Pattern
from headwise.nn.positions import PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Stack, StackOutput


class Encoded(NamedTuple):
    """The encoder's output: the source as the decoder sees it."""

    memory: Tensor  # [B, S, encoder width]
    mask: Tensor | None  # [B, 1, 1, S]
    self_weights: tuple[Tensor, ...] = ()
    """[B, H, S, S] per layer, if captured."""
    layout: Layout = PADDED

    def select(self, rows: Tensor) -> "Encoded":
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Encoded(self.memory.index_select(0, rows), mask)


class EncoderDecoder(nn.Module):
    """The encoder-decoder Transformer: source ids and target ids in, logits over the vocabulary out."""

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

    def encode(self, source: Tensor, capture: bool = False, layout: Layout = PADDED) -> Encoded:
        """Encode the source ids [B, S]: the memory is the output of the last encoder layer."""
        length = source.size(1)
        positions = layout.positions_of(source)
        x = self._enter(
            source,
            positions,
            self.source_embedding,
            self.source_positions,
            self.source_norm,
            layout.longest,
            layout.state_dtype(source.device),
        )
        mask = layout.padding_mask(source, self.pad)
        context = Context(
            mask=mask,
            rotation=self.source_positions.rotation(positions),
            bias=layout.bias(self.source_positions, length, length),
            layout=layout,
            capture=capture,
        )
        output: StackOutput = self.encoder(x, context)
        return Encoded(output.hidden, mask, output.self_weights, layout)

    def decode(
        self,
        target: Tensor,
        encoded: Encoded,
        cache: Sequence[LayerCache] = (),
        capture: bool = False,
        layout: Layout = PADDED,
        guide: Guide | None = None,
    ) -> StackOutput:
        """Decode the target ids [B, T], which follow those in the cache, to hidden states.

        `output_projection` makes logits of them. Padding is at the end of a target, where the causal mask already
        hides it from every real token. A packed target has the sentences of its packed source in the same order.
        """
        start = cache[0].length if cache else 0
        length = target.size(1)
        positions = layout.positions_of(target, start)
        x = self._enter(
            target,
            positions,
            self.target_embedding,
            self.target_positions,
            self.target_norm,
            layout.longest,
            layout.state_dtype(target.device),
        )
        context = Context(
            rotation=self.target_positions.rotation(positions),
            bias=layout.bias(self.target_positions, length, start + length),
            memory=encoded.memory,
            memory_mask=encoded.mask,
            layout=layout,
            memory_layout=encoded.layout,
            capture=capture,
            guide=guide,
        )
        output: StackOutput = self.decoder(x, context, cache)
        return output

    def _enter(
        self,
        tokens: Tensor,
        positions: Tensor,
        embedding: TokenEmbedding,
        encoding: PositionEncoding,
        norm: nn.Module | None,
        longest: int | None,
        dtype: torch.dtype | None,
    ) -> Tensor:
        """Embed tokens [B, T] with their positions: [B, T, D], in `dtype` if it is given."""
        x: Tensor = encoding.embed(embedding(tokens), positions, longest)
        x = self.dropout(x if norm is None else norm(x))
        return x if dtype is None else x.to(dtype)

    def compile_embedding(self) -> None:
        """Compile the embedding, which comes before the layers."""
        self._enter = torch.compile(self._enter)  # type: ignore[method-assign]

    @property
    def can_be_packed(self) -> bool:
        """Whether sentences can share a row: the kernel supports full and causal attention, no window and no bias."""
        encodings = self.source_positions, self.target_positions
        if any(type(each).bias is not PositionEncoding.bias for each in encodings):
            return False
        for stack in (self.encoder, self.decoder):
            if not isinstance(stack, Stack):
                return False
            patterns: set[Any] = {type(layer.pattern) for layer in stack.layers}
            if not patterns <= {Pattern, Causal}:
                return False
        attentions = [part for part in self.modules() if isinstance(part, MultiHeadAttention)]
        return all(type(each) is MultiHeadAttention for each in attentions)  # a subclass may compute something else

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Teacher forcing: [B, S] and [B, T] -> logits [B, T, V] of the token after each target token."""
        logits: Tensor = self.output_projection(self.decode(target, self.encode(source)).hidden)
        return logits


def build_encoder_decoder(config: ModelConfig, vocabulary: int, pad: int) -> EncoderDecoder:
    """Assemble and initialise the model that `config` describes."""
    if config.norm.order in blocks.PARALLEL:
        raise ConfigError("parallel layers have no place for cross-attention: model.norm.order must be pre or post")
    source = config.encoder_side
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
        source_norm=blocks.norm(config, source.width) if config.embedding.norm else None,
        encoder=blocks.stack(source, causal=False),
        target_embedding=target_embedding,
        target_positions=blocks.positions(config, config.width, causal=True),
        target_norm=blocks.norm(config, config.width) if config.embedding.norm else None,
        decoder=blocks.stack(config, causal=True, memory_width=source.width),
        output_projection=OutputProjection(output_weight, bias=config.output.bias, scale=config.output.scale),
        dropout=config.dropout,
        pad=pad,
    )
    initialise(model, config.init)
    return model
