"""The causal language model: a decoder alone, which continues a text token by token (GPT, Llama)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.models import blocks
from headwise.nn.cache import LayerCache
from headwise.nn.context import Context
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.init import initialise
from headwise.nn.positions import PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Stack, StackOutput


class CausalLM(nn.Module):
    """A causal language model: token ids in, logits of the token after each of them out."""

    def __init__(
        self,
        embedding: TokenEmbedding,
        positions: PositionEncoding,
        decoder: Stack | RecurrentStack,
        output_projection: OutputProjection,
        dropout: float,
        pad: int,
        embedding_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.embedding_norm = embedding_norm
        self.decoder = decoder
        self.output_projection = output_projection
        self.dropout = Dropout(dropout)
        self.pad = pad

    def decode(
        self,
        tokens: Tensor,
        cache: Sequence[LayerCache] = (),
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        capture: bool = False,
    ) -> StackOutput:
        """Decode ids [B, T], which follow those in the cache, to hidden states (`output_projection` makes logits).

        Padding at the end needs no mask: the causal one hides it from every real token. For padding at the
        start give `mask` [B, S], True for real tokens, those in the cache included, and `positions` [B, T].
        """
        start, length = cache[0].length if cache else 0, tokens.size(1)
        if positions is None:
            positions = torch.arange(start, start + length, device=tokens.device)
        x = self.positions.embed(self.embedding(tokens), positions)
        x = self.dropout(x if self.embedding_norm is None else self.embedding_norm(x))
        if mask is not None:
            # Padding may attend to itself: a softmax over nothing is NaN, and NaN spreads.
            itself = torch.ones(length, start + length, dtype=torch.bool, device=tokens.device)
            itself = itself.tril(start) & itself.triu(start)
            mask = mask[:, None, None, :] | itself
        context = Context(
            mask=mask,
            rotation=self.positions.rotation(positions),
            bias=self.positions.bias(length, start + length),
            capture=capture,
        )
        output: StackOutput = self.decoder(x, context, cache)
        return output

    def forward(self, tokens: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """Logits of the token after each of the ids: [B, T] -> [B, T, V]."""
        logits: Tensor = self.output_projection(self.decode(tokens, (), mask, positions).hidden)
        return logits


def build_causal_lm(config: ModelConfig, vocabulary: int, pad: int) -> CausalLM:
    """Assemble and initialise the model that `config` describes."""
    embedding = blocks.token_embedding(config, vocabulary, config.width)
    output_weight = embedding.weight
    if config.tie == "none" and config.output.language_head:  # without a head there is no matrix
        output_weight = nn.Parameter(torch.empty(vocabulary, config.width))
    model = CausalLM(
        embedding=embedding,
        positions=blocks.positions(config, config.width, causal=True),
        embedding_norm=blocks.norm(config, config.width) if config.embedding.norm else None,
        decoder=blocks.stack(config, causal=True),
        output_projection=OutputProjection(output_weight, bias=config.output.bias, scale=config.output.scale),
        dropout=config.dropout,
        pad=pad,
    )
    initialise(model, config.init)
    return model
