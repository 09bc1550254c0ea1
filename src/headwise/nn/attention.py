"""Attention: every query takes a mean of the values, weighted by how well it fits their keys.

Two paths compute the same thing. `explicit_attention` is the formula, and has every head's weights;
`fused_attention` is PyTorch's kernel, which never holds them. Rows of many short sentences have a third path
(`nn/packing.py`). Tests keep them equal.
"""

import math
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.cache import KeyValues
from headwise.nn.dropout import dropout as drop
from headwise.nn.masks import EVERYTHING, Pattern, additive
from headwise.nn.positions import Rotation

SHORT = 64
"""Up to this length, on a CPU, the explicit path is the faster one, by up to twice (benchmarks/attention_cpu.py):
the kernel works in tiles that a sentence does not fill."""


class Attended(NamedTuple):
    """The output of an attention, and its weights if they were captured."""

    output: Tensor  # [B, T, D]
    weights: Tensor | None  # [B, H, T, S]


def explicit_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T * scale + bias + mask) V, and the weights: [B, H, T, K], [B, H, T, S].

    `scale` is 1 / sqrt(K) unless it is given; `bias` is what the positions add to the scores, if anything.
    """
    scores = query * (1 / math.sqrt(query.size(-1)) if scale is None else scale) @ key.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores + additive(mask, scores.dtype)
    weights = scores.softmax(-1)
    return drop(weights, dropout) @ value, weights


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    dropout: float = 0.0,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Attention in one kernel of PyTorch. `causal` is for as many queries as keys, and then needs no mask."""
    if bias is not None:
        bias = bias.to(query.dtype)
        mask = bias if mask is None else bias + additive(mask, bias.dtype)
    return F.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal=causal, scale=scale)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: H attentions side by side, each in its own projection of width K; their outputs are joined.

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
        head_width: int | None = None,
        memory_width: int | None = None,
        bias: bool = True,
        output_bias: bool | None = None,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        key_value_heads = key_value_heads or heads
        if width % heads and head_width is None:
            raise ValueError(f"width {width} cannot be split into {heads} heads")
        if heads % key_value_heads:
            raise ValueError(f"{heads} heads cannot share {key_value_heads} key/value heads evenly")
        self.heads = heads
        self.key_value_heads = key_value_heads
        self.head_width = head_width or width // heads
        self.dropout = dropout
        self.scale = scale
        self.query = nn.Linear(width, heads * self.head_width, bias=bias)
        self.key = nn.Linear(memory_width or width, key_value_heads * self.head_width, bias=bias)
        self.value = nn.Linear(memory_width or width, key_value_heads * self.head_width, bias=bias)
        self.output = nn.Linear(heads * self.head_width, width, bias=bias if output_bias is None else output_bias)

    @property
    def score_scale(self) -> float:
        """The factor that scores are multiplied by."""
        return float(self.head_width**-0.5) if self.scale is None else self.scale

    def queries(self, x: Tensor, rotation: Rotation | None = None) -> Tensor:
        """Queries of x [B, T, D]: [B, H, T, K]."""
        query = self._split(self.query(x), self.heads)
        return rotation.apply(query) if rotation else query

    def keys_values(self, memory: Tensor, rotation: Rotation | None = None) -> KeyValues:
        """Keys and values of the memory [B, S, memory width], for `forward`: [B, G, S, K] each."""
        key = self._split(self.key(memory), self.key_value_heads)
        value = self._split(self.value(memory), self.key_value_heads)
        return KeyValues(rotation.apply(key) if rotation else key, value)

    def shared(self, memory: KeyValues) -> KeyValues:
        """Keys and values for every head, [B, H, S, K]: each is repeated for the heads that share it."""
        groups = self.heads // self.key_value_heads
        if groups == 1:
            return memory
        return KeyValues(memory.key.repeat_interleave(groups, 1), memory.value.repeat_interleave(groups, 1))

    def forward(
        self,
        x: Tensor,
        memory: KeyValues,
        *,
        mask: Tensor | None = None,
        pattern: Pattern = EVERYTHING,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        capture: bool = False,
    ) -> Attended:
        """Attend from x [B, T, D] to `memory`. `mask` is broadcastable to [B, H, T, S], True = may attend.

        `pattern` limits which positions a position may attend to, `bias` [1, H, T, S] is added to the scores.
        `capture` takes the explicit path and returns the weights.
        """
        query = self.queries(x, rotation)
        key, value = self.shared(memory)
        dropout = self.dropout if self.training else 0.0

        T, S = query.size(2), key.size(2)
        explicit = capture or (x.device.type == "cpu" and max(T, S) <= SHORT)
        causal = pattern.is_causal(T, S) and not explicit and mask is None and bias is None
        limits = None if causal else pattern.mask(T, S, x.device)
        if limits is not None:
            mask = limits if mask is None else mask & limits
        weights = None
        if explicit:
            context, weights = explicit_attention(query, key, value, mask, dropout, scale=self.scale, bias=bias)
        else:
            context = fused_attention(query, key, value, mask, causal, dropout, scale=self.scale, bias=bias)
        return Attended(self.output(context.transpose(1, 2).flatten(2)), weights if capture else None)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:-1], heads, self.head_width).transpose(1, 2)  # [B, heads, T, K]


class Guide(NamedTuple):
    """Guided attention: where one head of cross-attention is to attend to, so that it aligns words (Garg et al., 2019).

    Fused and packed attention never hold weights: those of the guided head are computed beside them.
    """

    layer: int
    head: int
    links: Tensor
    """[B, T]: the position in the memory that each query is to attend to; below 0: any. Where sentences are packed,
    the position in its own sentence."""


def guided_log_weights(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, mask: Tensor | None, guide: Guide
) -> Tensor:
    """The log-weights of the links, [B, T], for x [B, T, D] and a memory [B, S, memory width]; 0 without a link.

    `mask` is [B, 1, 1, S], True = may attend.
    """
    query, key = one_head(attention, x, memory, guide.head)
    scores = (query @ key.transpose(1, 2)).float()  # [B, T, S]
    if mask is not None:
        scores = scores + additive(mask.squeeze(1), scores.dtype)
    linked = guide.links >= 0
    found = scores.log_softmax(-1).gather(-1, guide.links.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return found.where(linked, 0.0)


def one_head(attention: MultiHeadAttention, x: Tensor, memory: Tensor, head: int) -> tuple[Tensor, Tensor]:
    """The scaled queries and the keys of one head: [B, T, K], [B, S, K]."""
    width = attention.head_width
    group = head * attention.key_value_heads // attention.heads
    query = _projected(attention.query, x, slice(head * width, (head + 1) * width))
    key = _projected(attention.key, memory, slice(group * width, (group + 1) * width))
    return query * attention.score_scale, key


def _projected(projection: nn.Module, x: Tensor, part: slice) -> Tensor:
    """A part of the output of a projection."""
    if type(projection) is not nn.Linear:  # LoRA
        whole: Tensor = projection(x)
        return whole[..., part]
    return F.linear(x, projection.weight[part], None if projection.bias is None else projection.bias[part])
