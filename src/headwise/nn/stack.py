"""Layers, and stacks of layers: encoder and decoder are instances of the same classes.

An encoder's layers have self-attention and a feed-forward network. A decoder's self-attention is causal, and between
the two comes cross-attention to the memory, unless there is no encoder.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import LayerCache
from headwise.nn.context import AttentionRecord, Context
from headwise.nn.dropout import Dropout
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.masks import EVERYTHING, Pattern
from headwise.nn.norms import AddAndNorm


class LayerOutput(NamedTuple):
    """The output of one layer, its cache and captured attention weights."""

    hidden: Tensor  # [B, T, D]
    cache: LayerCache
    self_weights: Tensor | None  # [B, H, T, T]
    cross_weights: Tensor | None  # [B, H, T, S]
    guided: Tensor | None = None  # [B, T]


class Layer(nn.Module):
    """A layer: self-attention, cross-attention if it has one, feed-forward, each with Add & Norm."""

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
        """Transform x [B, T, D], the positions that follow those in the cache."""
        cache = cache or LayerCache()
        layout, pattern = context.layout, self.pattern
        x, own = self.self_norm(x, lambda y: layout.attend_self(self.self_attention, y, context, pattern, cache.past))
        cross = AttentionRecord()
        if self.cross_attention is not None and self.cross_norm is not None:
            attention = self.cross_attention
            x, cross = self.cross_norm(x, lambda y: layout.attend_memory(attention, y, context, cache.memory))
        x, _ = self.feed_forward_norm(x, lambda y: (self.feed_forward(y), None))
        caches = LayerCache(own.keys_values, cross.keys_values)
        return LayerOutput(x, caches, own.weights, cross.weights, cross.guided)


class ParallelLayer(nn.Module):
    """A parallel layer: x + attention(norm(x)) + feed_forward(norm(x)) (GPT-J, GPT-NeoX).

    Without a `feed_forward_norm` both share one norm.
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
        """Transform x [B, T, D], the positions that follow those in the cache."""
        y = self.self_norm(x)
        past = cache.past if cache else None
        attended, own = context.layout.attend_self(self.self_attention, y, context, self.pattern, past)
        if self.feed_forward_norm is not None:
            y = self.feed_forward_norm(x)
        x = x + self.dropout(attended) + self.dropout(self.feed_forward(y))
        return LayerOutput(x, LayerCache(own.keys_values), own.weights, None)


class StackOutput(NamedTuple):
    """The output of a stack, its cache and captured attention weights."""

    hidden: Tensor  # [B, T, D]
    cache: tuple[LayerCache, ...]
    self_weights: tuple[Tensor, ...]
    """[B, H, T, T] per layer; empty unless captured."""
    cross_weights: tuple[Tensor, ...]
    """[B, H, T, S] per layer; empty unless captured, or without cross-attention."""
    guided: Tensor | None = None
    """[B, T]: the log-weights that the guided head gives to its links, 0 without a link; None without a guide."""


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
            output: LayerOutput = layer(x, context.for_layer(index), cache[index] if cache else None)
            x = output.hidden
            outputs.append(output)
        return StackOutput(
            self.final_norm(x) if self.final_norm is not None else x,
            tuple(output.cache for output in outputs),
            tuple(output.self_weights for output in outputs if output.self_weights is not None),
            tuple(output.cross_weights for output in outputs if output.cross_weights is not None),
            next((output.guided for output in outputs if output.guided is not None), None),
        )
