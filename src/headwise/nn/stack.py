"""A layer and a stack of them. Encoder and decoder are the same two classes:

an encoder's layers have self-attention and a feed-forward; a decoder's have a causal pattern on the first and
cross-attention to the memory between the two. A decoder alone has no cross-attention.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import KeyValues, LayerCache
from headwise.nn.dropout import Dropout
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.masks import EVERYTHING, Pattern
from headwise.nn.norms import AddAndNorm
from headwise.nn.packing import Packing
from headwise.nn.positions import Rotation


class Context(NamedTuple):
    """What the layers of one pass share."""

    mask: Tensor | None = None
    """Of the sequence itself, [B, 1, 1 or T, S]; a layer's pattern limits it further."""
    rotation: Rotation | None = None
    bias: Tensor | None = None
    """What relative positions add to the scores of self-attention, [1, H, T, S]."""
    memory: Tensor | None = None
    """[B, S, encoder width]: the output of the LAST encoder layer, the same for every decoder layer."""
    memory_mask: Tensor | None = None  # [B, 1, 1, S]
    packing: Packing | None = None
    """The row holds many sentences: attention stays inside each of them, and nothing is kept for a next step."""
    memory_packing: Packing | None = None
    capture: bool = False
    """Return every head's weights (takes the explicit attention path)."""


class LayerOutput(NamedTuple):
    hidden: Tensor  # [B, T, D]
    cache: LayerCache
    self_weights: Tensor | None  # [B, H, T, T]
    cross_weights: Tensor | None  # [B, H, T, S]


class Layer(nn.Module):
    """Self-attention, cross-attention if it has one, feed-forward: each within Add & Norm."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        self_norm: AddAndNorm,
        feed_forward: FeedForward | GatedFeedForward,
        feed_forward_norm: AddAndNorm,
        cross_attention: MultiHeadAttention | None = None,
        cross_norm: AddAndNorm | None = None,
        pattern: Pattern = EVERYTHING,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_norm = self_norm
        self.cross_attention = cross_attention
        self.cross_norm = cross_norm
        self.feed_forward = feed_forward
        self.feed_forward_norm = feed_forward_norm
        self.pattern = pattern

    def forward(self, x: Tensor, context: Context, cache: LayerCache | None = None) -> LayerOutput:
        """x [B, T, D], the positions that follow those in the cache."""
        cache = cache or LayerCache()
        x, (past, self_weights) = self.self_norm(
            x, lambda y: attend_self(self.self_attention, y, context, self.pattern, cache.past)
        )
        memory, cross_weights = None, None
        if self.cross_norm is not None:
            x, (memory, cross_weights) = self.cross_norm(x, lambda y: self._attend_memory(y, context, cache.memory))
        x, _ = self.feed_forward_norm(x, lambda y: (self.feed_forward(y), None))
        return LayerOutput(x, LayerCache(past, memory), self_weights, cross_weights)

    def _attend_memory(
        self, x: Tensor, context: Context, projected: KeyValues | None
    ) -> tuple[Tensor, tuple[KeyValues | None, Tensor | None]]:
        assert self.cross_attention is not None
        if context.packing is not None:
            own, other = context.packing, context.memory_packing
            return self.cross_attention.packed(x, own, memory=context.memory, memory_packing=other), (None, None)
        if projected is None:
            if context.memory is None:
                raise ValueError("a layer with cross-attention needs a memory")
            projected = self.cross_attention.keys_values(context.memory)
        attended = self.cross_attention(x, projected, mask=context.memory_mask, capture=context.capture)
        return attended.output, (projected, attended.weights)


class ParallelLayer(nn.Module):
    """x + attention(norm(x)) + feed_forward(norm(x)): both read the same input (GPT-J, GPT-NeoX).

    Without a `feed_forward_norm` of its own the feed-forward reads what the attention reads.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        self_norm: nn.Module,
        feed_forward: FeedForward | GatedFeedForward,
        feed_forward_norm: nn.Module | None,
        dropout: float,
        pattern: Pattern = EVERYTHING,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_norm = self_norm
        self.feed_forward = feed_forward
        self.feed_forward_norm = feed_forward_norm
        self.dropout = Dropout(dropout)
        self.pattern = pattern

    def forward(self, x: Tensor, context: Context, cache: LayerCache | None = None) -> LayerOutput:
        """x [B, T, D], the positions that follow those in the cache."""
        y = self.self_norm(x)
        past = cache.past if cache else None
        attended, (past, weights) = attend_self(self.self_attention, y, context, self.pattern, past)
        if self.feed_forward_norm is not None:
            y = self.feed_forward_norm(x)
        x = x + self.dropout(attended) + self.dropout(self.feed_forward(y))
        return LayerOutput(x, LayerCache(past), weights, None)


def attend_self(
    attention: MultiHeadAttention, x: Tensor, context: Context, pattern: Pattern, past: KeyValues | None
) -> tuple[Tensor, tuple[KeyValues | None, Tensor | None]]:
    """x attends to itself and to the positions in `past`: the output, then what to keep and the weights."""
    if context.packing is not None:
        return attention.packed(x, context.packing, pattern=pattern, rotation=context.rotation), (None, None)
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
    return attended.output, (keys_values, attended.weights)


class StackOutput(NamedTuple):
    hidden: Tensor  # [B, T, D]
    cache: tuple[LayerCache, ...]
    self_weights: tuple[Tensor, ...]
    """[B, H, T, T] a layer; empty unless captured."""
    cross_weights: tuple[Tensor, ...]
    """[B, H, T, S] a layer; empty unless captured, or without cross-attention."""


class Stack(nn.Module):
    """Layers one after the other; with pre-norm layers, `final_norm` closes the residual path.

    A `depth` above the number of layers uses each of them several times in a row (ALBERT shares one among all).
    """

    def __init__(
        self, layers: Sequence[Layer | ParallelLayer], final_norm: nn.Module | None = None, depth: int | None = None
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm
        self.depth = depth or len(layers)

    @property
    def in_order(self) -> list[Any]:
        """The layers, Layer or ParallelLayer, as they are used: shared ones as often as they are."""
        return [self.layers[index * len(self.layers) // self.depth] for index in range(self.depth)]

    def forward(self, x: Tensor, context: Context, cache: Sequence[LayerCache] = ()) -> StackOutput:
        """x [B, T, D] -> hidden states, the cache of a next step, and the weights if captured."""
        outputs: list[LayerOutput] = []
        for index, layer in enumerate(self.in_order):
            output: LayerOutput = layer(x, context, cache[index] if cache else None)
            x = output.hidden
            outputs.append(output)
        return StackOutput(
            self.final_norm(x) if self.final_norm is not None else x,
            tuple(output.cache for output in outputs),
            tuple(output.self_weights for output in outputs if output.self_weights is not None),
            tuple(output.cross_weights for output in outputs if output.cross_weights is not None),
        )
