"""The context of a pass: what its layers share, and the layout of the sentences in the batch."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from headwise.nn.attention import Guide, MultiHeadAttention, guided_log_weights
from headwise.nn.cache import KeyValues
from headwise.nn.masks import Pattern, padding_mask
from headwise.nn.positions import PositionEncoding, Rotation


class AttentionRecord(NamedTuple):
    """What an attention returns beside its output."""

    keys_values: KeyValues | None = None
    """For the cache of the next step; None where there is no next step."""
    weights: Tensor | None = None  # [B, H, T, S], if captured
    guided: Tensor | None = None  # [B, T], see `Guide`


class Layout(Protocol):
    """The layout of sentences in the tensors of a batch: `Padded` (one per row) or `packing.Packed` (many in a row)."""

    @property
    def longest(self) -> int | None:
        """An upper bound on the length of a sentence, if a row holds several; None: the length of the row."""

    def positions_of(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Positions of the tokens [B, T] in their sentences, which begin at `start`: [T]."""

    def padding_mask(self, tokens: Tensor, pad: int) -> Tensor | None:
        """The padding mask of tokens [B, S]: [B, 1, 1, S], True = may attend; None: attention does not need it."""

    def bias(self, encoding: PositionEncoding, queries: int, keys: int) -> Tensor | None:
        """The bias of the position encoding on the scores of self-attention, [1, H, T, S]."""

    def state_dtype(self, device: torch.device) -> torch.dtype | None:
        """The precision of hidden states between the layers; None: that of the embedding."""

    def attend_self(
        self, attention: MultiHeadAttention, x: Tensor, context: "Context", pattern: Pattern, past: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        """Self-attention of x [B, T, D], which follows the `past` positions."""

    def attend_memory(
        self, attention: MultiHeadAttention, x: Tensor, context: "Context", projected: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        """Cross-attention of x [B, T, D] to the memory, whose keys and values may have been `projected` before."""


class Padded:
    """One sentence per row, padded to the length of the longest: the default layout."""

    longest: int | None = None

    def positions_of(self, tokens: Tensor, start: int = 0) -> Tensor:
        return torch.arange(start, start + tokens.size(1), device=tokens.device)

    def padding_mask(self, tokens: Tensor, pad: int) -> Tensor | None:
        return padding_mask(tokens, pad)

    def bias(self, encoding: PositionEncoding, queries: int, keys: int) -> Tensor | None:
        return encoding.bias(queries, keys)

    def state_dtype(self, device: torch.device) -> torch.dtype | None:
        return None

    def attend_self(
        self, attention: MultiHeadAttention, x: Tensor, context: "Context", pattern: Pattern, past: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        keys_values = attention.keys_values(x, context.rotation)
        if past is not None:
            keys_values = past.append(keys_values)
        attended = attention(
            x,
            keys_values,
            mask=context.mask,
            pattern=pattern,
            rotation=context.rotation,
            bias=context.bias,
            capture=context.capture,
        )
        return attended.output, AttentionRecord(keys_values, attended.weights)

    def attend_memory(
        self, attention: MultiHeadAttention, x: Tensor, context: "Context", projected: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        if projected is None:
            if context.memory is None:
                raise ValueError("a layer with cross-attention needs a memory")
            projected = attention.keys_values(context.memory)
        attended = attention(x, projected, mask=context.memory_mask, capture=context.capture)
        guided = None
        if context.guide is not None and context.memory is not None:
            guided = guided_log_weights(attention, x, context.memory, context.memory_mask, context.guide)
        return attended.output, AttentionRecord(projected, attended.weights, guided)


PADDED = Padded()


class Context(NamedTuple):
    """What the layers of one pass share."""

    mask: Tensor | None = None
    """Which positions of the sequence itself may be attended to, [B, 1, 1 or T, S]; a layer's pattern limits it
    further."""
    rotation: Rotation | None = None
    bias: Tensor | None = None
    """The bias of relative positions on the scores of self-attention, [1, H, T, S]."""
    memory: Tensor | None = None
    """[B, S, encoder width]: the output of the LAST encoder layer, the same for every decoder layer."""
    memory_mask: Tensor | None = None  # [B, 1, 1, S]
    layout: Layout = PADDED
    """The layout of the sentences in x."""
    memory_layout: Layout = PADDED
    """Their layout in the memory."""
    capture: bool = False
    """Whether to return every head's attention weights (takes the explicit attention path)."""
    guide: Guide | None = None
    """Where one head of cross-attention is to attend to, in training."""

    def for_layer(self, index: int) -> "Context":
        """The context of one layer: a guide is for its own layer alone."""
        return self if self.guide is None or self.guide.layer == index else self._replace(guide=None)
