"""A layer and a stack of them. Encoder and decoder are the same two classes:

an encoder's layers have self-attention and a feed-forward; a decoder's have a causal mask on the first and
cross-attention to the memory between the two.
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import KeyValues, LayerCache
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.norms import AddAndNorm
from headwise.nn.positions import Rotation


class Context(NamedTuple):
    """What the layers of one pass share."""

    mask: Tensor | None = None
    """Of the sequence itself, [B, 1, 1, T]; a causal stack adds its own."""
    rotation: Rotation | None = None
    memory: Tensor | None = None
    """[B, S, encoder width]: the output of the LAST encoder layer, the same for every decoder layer."""
    memory_mask: Tensor | None = None  # [B, 1, 1, S]
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
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_norm = self_norm
        self.cross_attention = cross_attention
        self.cross_norm = cross_norm
        self.feed_forward = feed_forward
        self.feed_forward_norm = feed_forward_norm
        self.causal = causal

    def forward(self, x: Tensor, context: Context, cache: LayerCache | None = None) -> LayerOutput:
        """x [B, T, D], the positions that follow those in the cache."""
        cache = cache or LayerCache()
        x, (past, self_weights) = self.self_norm(x, lambda y: self._attend_self(y, context, cache.past))
        memory, cross_weights = None, None
        if self.cross_norm is not None:
            x, (memory, cross_weights) = self.cross_norm(x, lambda y: self._attend_memory(y, context, cache.memory))
        x, _ = self.feed_forward_norm(x, lambda y: (self.feed_forward(y), None))
        return LayerOutput(x, LayerCache(past, memory), self_weights, cross_weights)

    def _attend_self(
        self, x: Tensor, context: Context, past: KeyValues | None
    ) -> tuple[Tensor, tuple[KeyValues, Tensor | None]]:
        keys_values = self.self_attention.keys_values(x, context.rotation)
        if past is not None:
            keys_values = past.append(keys_values)
        attended = self.self_attention(
            x,
            keys_values,
            mask=context.mask,
            causal=self.causal,
            rotation=context.rotation,
            capture=context.capture,
        )
        return attended.output, (keys_values, attended.weights)

    def _attend_memory(
        self, x: Tensor, context: Context, projected: KeyValues | None
    ) -> tuple[Tensor, tuple[KeyValues, Tensor | None]]:
        assert self.cross_attention is not None
        if projected is None:
            if context.memory is None:
                raise ValueError("a layer with cross-attention needs a memory")
            projected = self.cross_attention.keys_values(context.memory)
        attended = self.cross_attention(x, projected, mask=context.memory_mask, capture=context.capture)
        return attended.output, (projected, attended.weights)


class StackOutput(NamedTuple):
    hidden: Tensor  # [B, T, D]
    cache: tuple[LayerCache, ...]
    self_weights: tuple[Tensor, ...]
    """[B, H, T, T] a layer; empty unless captured."""
    cross_weights: tuple[Tensor, ...]
    """[B, H, T, S] a layer; empty unless captured, or without cross-attention."""


class Stack(nn.Module):
    """Layers one after the other; with pre-norm layers, `final_norm` closes the residual path."""

    def __init__(self, layers: Sequence[Layer], final_norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(self, x: Tensor, context: Context, cache: Sequence[LayerCache] = ()) -> StackOutput:
        """x [B, T, D] -> hidden states, the cache of a next step, and the weights if captured."""
        outputs: list[LayerOutput] = []
        for index, layer in enumerate(self.layers):
            output: LayerOutput = layer(x, context, cache[index] if cache else None)
            x = output.hidden
            outputs.append(output)
        return StackOutput(
            self.final_norm(x) if self.final_norm is not None else x,
            tuple(output.cache for output in outputs),
            tuple(output.self_weights for output in outputs if output.self_weights is not None),
            tuple(output.cross_weights for output in outputs if output.cross_weights is not None),
        )
