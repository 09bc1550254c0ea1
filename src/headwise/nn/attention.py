"""Attention: every query takes a mean of the values, weighted by how well it fits their keys.

Two paths compute the same thing. `explicit_attention` is the formula, and has every head's weights;
`fused_attention` is PyTorch's kernel, which never holds them. A test keeps the two equal.
"""

import math
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.cache import KeyValues
from headwise.nn.dropout import dropout as drop
from headwise.nn.masks import additive, causal_mask
from headwise.nn.positions import Rotation

SHORT = 64
"""Up to this length, on a CPU, the explicit path is the faster one, by up to twice (benchmarks/attention_cpu.py):
the kernel works in tiles that a sentence does not fill."""


class Attended(NamedTuple):
    """What an attention gives back."""

    output: Tensor  # [B, T, D]
    weights: Tensor | None  # [B, H, T, S], where they were asked for


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(K) + mask) V, and the weights: [B, H, T, K], [B, H, T, S]."""
    scores = query / math.sqrt(query.size(-1)) @ key.transpose(-2, -1)  # [B, H, T, S]
    if mask is not None:
        scores = scores + additive(mask, scores.dtype)
    weights = scores.softmax(-1)
    return drop(weights, dropout) @ value, weights


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, dropout: float = 0.0
) -> Tensor:
    """The same in one kernel. `causal` is for as many queries as keys, and then needs no mask."""
    return F.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal=causal)


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each in its own projection of width K; their outputs are joined and mixed.

    Self-, causal and cross-attention differ only in where keys and values come from: make them with
    `keys_values` from the queries' own sequence, or from the memory (whose width may differ), and keep them
    in a cache if they are wanted again. With fewer key/value heads G than heads H, groups of H/G heads share
    theirs.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        key_value_heads: int | None = None,
        memory_width: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        key_value_heads = key_value_heads or heads
        if width % heads:
            raise ValueError(f"width {width} cannot be split into {heads} heads")
        if heads % key_value_heads:
            raise ValueError(f"{heads} heads cannot share {key_value_heads} key/value heads evenly")
        self.heads = heads
        self.key_value_heads = key_value_heads
        self.head_width = width // heads
        self.dropout = dropout
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(memory_width or width, key_value_heads * self.head_width, bias=bias)
        self.value = nn.Linear(memory_width or width, key_value_heads * self.head_width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def keys_values(self, memory: Tensor, rotation: Rotation | None = None) -> KeyValues:
        """[B, S, memory width] -> what `forward` looks up."""
        key = self._split(self.key(memory), self.key_value_heads)
        value = self._split(self.value(memory), self.key_value_heads)
        return KeyValues(rotation.apply(key) if rotation else key, value)

    def forward(
        self,
        x: Tensor,
        memory: KeyValues,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Rotation | None = None,
        capture: bool = False,
    ) -> Attended:
        """x [B, T, D] asks, `memory` answers. `mask` is broadcastable to [B, H, T, S], True = may attend.

        `capture` takes the explicit path and returns the weights.
        """
        query = self._split(self.query(x), self.heads)
        if rotation:
            query = rotation.apply(query)
        groups = self.heads // self.key_value_heads
        key, value = memory
        if groups > 1:
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        dropout = self.dropout if self.training else 0.0

        T, S = query.size(2), key.size(2)
        explicit = capture or (x.device.type == "cpu" and max(T, S) <= SHORT)
        causal = causal and T > 1  # a single query is the last position: it may see everything
        if causal and (explicit or mask is not None or T != S):
            earlier = causal_mask(T, S, x.device)
            mask = earlier if mask is None else mask & earlier
            causal = False
        weights = None
        if explicit:
            context, weights = explicit_attention(query, key, value, mask, dropout)
        else:
            context = fused_attention(query, key, value, mask, causal, dropout)
        return Attended(self.output(context.transpose(1, 2).flatten(2)), weights if capture else None)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:-1], heads, self.head_width).transpose(1, 2)  # [B, heads, T, K]
