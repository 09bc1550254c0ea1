"""The masked language model: an encoder alone, which predicts masked tokens (BERT, RoFormer)."""

import torch
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.models import blocks
from headwise.models.encoder_decoder import Encoded
from headwise.nn.context import Context
from headwise.nn.dropout import Dropout
from headwise.nn.embedding import OutputProjection, PredictionHead, TokenEmbedding
from headwise.nn.feed_forward import ACTIVATIONS
from headwise.nn.init import initialise
from headwise.nn.masks import padding_mask
from headwise.nn.pooling import POOLERS, Pooler
from headwise.nn.positions import Learned, PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Stack, StackOutput


class MaskedLM(nn.Module):
    """A masked language model: token ids in, one vector per token out; with a head, logits at each position."""

    def __init__(
        self,
        embedding: TokenEmbedding,
        segments: TokenEmbedding | None,
        tasks: TokenEmbedding | None,
        positions: PositionEncoding,
        embedding_norm: nn.Module | None,
        embedding_projection: nn.Linear | None,
        encoder: Stack | RecurrentStack,
        pooler: Pooler | None,
        head: PredictionHead | None,
        next_sentence: nn.Linear | None,
        dropout: float,
        pad: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.segments = segments
        self.tasks = tasks
        self.positions = positions
        self.embedding_norm = embedding_norm
        self.embedding_projection = embedding_projection
        self.encoder = encoder
        self.pooler = pooler
        self.head = head
        self.next_sentence = next_sentence
        self.dropout = Dropout(dropout)
        self.pad = pad

    def encode(self, tokens: Tensor, segments: Tensor | None = None, capture: bool = False) -> Encoded:
        """Encode ids [B, T], with the numbers of their segments [B, T] (all 0 if not given), to hidden states."""
        length = tokens.size(1)
        positions = self._positions(tokens)
        x = self.embedding(tokens)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(tokens) if segments is None else segments)
        if self.tasks is not None:
            x = x + self.tasks(torch.zeros_like(tokens))
        x = self.positions.embed(x, positions)
        x = self.dropout(x if self.embedding_norm is None else self.embedding_norm(x))
        if self.embedding_projection is not None:
            x = self.embedding_projection(x)
        mask = padding_mask(tokens, self.pad)
        context = Context(
            mask=mask,
            rotation=self.positions.rotation(positions),
            bias=self.positions.bias(length, length),
            capture=capture,
        )
        output: StackOutput = self.encoder(x, context)
        return Encoded(output.hidden, mask, output.self_weights)

    def _positions(self, tokens: Tensor) -> Tensor:
        """The positions of ids [B, T]: [T], or [B, T] in RoBERTa, which does not count the padding id.

        There a padding id within a text has the row of the table before the first position. Training does not do so:
        it would change the order in which the gradients of the table are summed.
        """
        if self.training or not isinstance(self.positions, Learned) or self.positions.offset != self.pad + 1:
            return torch.arange(tokens.size(1), device=tokens.device)
        counted = tokens != self.pad
        return counted.cumsum(1) * counted - 1

    def pool(self, hidden: Tensor) -> Tensor:
        """Pool hidden states: [B, T, D] -> [B, D], the first position, through the pooler if there is one."""
        first = hidden[:, 0]
        return first if self.pooler is None else self.pooler(first)

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits of the token at each position: [B, T] -> [B, T, V]."""
        if self.head is None:
            raise ValueError("this encoder has no head that predicts tokens: use `encode`")
        logits: Tensor = self.head(self.encode(tokens, segments).memory)
        return logits


def build_masked_lm(config: ModelConfig, vocabulary: int, pad: int) -> MaskedLM:
    """Assemble and initialise the model that `config` describes."""
    width = config.embedding.width or config.width
    embedding = blocks.token_embedding(config, vocabulary, width)
    model = MaskedLM(
        embedding=embedding,
        segments=TokenEmbedding(config.embedding.segments, width) if config.embedding.segments else None,
        tasks=TokenEmbedding(config.embedding.task_types, width) if config.embedding.task_types else None,
        positions=blocks.positions(config, width, causal=False),
        embedding_norm=blocks.norm(config, width) if config.embedding.norm else None,
        embedding_projection=nn.Linear(width, config.width) if config.embedding.width else None,
        encoder=blocks.stack(config, causal=False),
        pooler=Pooler(config.width, POOLERS[config.pooling.pooler]) if config.pooling.pooler else None,
        head=_head(config, width, embedding) if config.output.language_head else None,
        next_sentence=nn.Linear(config.width, 2) if config.output.next_sentence else None,
        dropout=config.dropout,
        pad=pad,
    )
    initialise(model, config.init)
    return model


def _head(config: ModelConfig, width: int, embedding: TokenEmbedding) -> PredictionHead:
    weight = nn.Parameter(torch.empty_like(embedding.weight)) if config.tie == "none" else embedding.weight
    projection = OutputProjection(weight, bias=config.output.bias, scale=config.output.scale)
    return PredictionHead(
        nn.Linear(config.width, width),
        ACTIVATIONS[config.feed_forward.activation],
        blocks.norm(config, width),
        projection,
    )
