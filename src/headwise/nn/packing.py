"""Packing: many sentences one after the other in a single row, without padding; attention stays within each.

A batch then always has the same shapes, whatever its sentences are like, and no arithmetic is spent on padding.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.attention import Guide, MultiHeadAttention, one_head
from headwise.nn.cache import KeyValues
from headwise.nn.context import AttentionRecord, Context
from headwise.nn.kernels.short_attention import packed_attention, packed_cross_attention, packed_self_attention
from headwise.nn.masks import EVERYTHING, Pattern
from headwise.nn.positions import PositionEncoding, Rotation

GUIDED_BLOCK = 128
"""Queries that are compared with one window of keys by a guided head."""


class Packed(NamedTuple):
    """The layout of a row [1, N] that holds many sentences. Tokens after the last one belong to none.

    Attention weights are not captured, and nothing is cached for a next step: this is for training, and for encoding
    many sources together.
    """

    starts: Tensor
    """int32 [sentences + 1]: each sentence's first token, then the end; empty ones may follow."""
    positions: Tensor
    """[N]: each token's position in its sentence."""
    longest: int
    """An upper bound on the length of a sentence."""

    def positions_of(self, tokens: Tensor, start: int = 0) -> Tensor:
        return self.positions

    def padding_mask(self, tokens: Tensor, pad: int) -> None:
        return None

    def bias(self, encoding: PositionEncoding, queries: int, keys: int) -> None:
        return None

    def state_dtype(self, device: torch.device) -> torch.dtype | None:
        """The precision of matrix products under autocast: half the memory traffic between them."""
        return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None

    def attend_self(
        self, attention: MultiHeadAttention, x: Tensor, context: Context, pattern: Pattern, past: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        return _attend(attention, x, x, self, self, pattern, context.rotation), AttentionRecord()

    def attend_memory(
        self, attention: MultiHeadAttention, x: Tensor, context: Context, projected: KeyValues | None
    ) -> tuple[Tensor, AttentionRecord]:
        if context.memory is None or not isinstance(context.memory_layout, Packed):
            raise ValueError("a packed target needs a memory that is packed in the same way")
        there, guided = context.memory_layout, None
        if context.guide is not None:
            longest = max(self.longest, there.longest)
            starts = self.starts, there.starts
            guided = packed_guided_log_weights(attention, x, context.memory, *starts, longest, context.guide)
        return _attend(attention, x, context.memory, self, there), AttentionRecord(guided=guided)


def positions_in(starts: Tensor, count: int) -> Tensor:
    """The position of each of `count` tokens in its sentence, [N]; 0 after the last sentence."""
    token = torch.arange(count, device=starts.device)
    sentence = torch.searchsorted(starts[1:].contiguous(), token, right=True)
    return torch.where(sentence < len(starts) - 1, token - starts[sentence], 0)


def _attend(
    attention: MultiHeadAttention,
    x: Tensor,
    memory: Tensor,
    layout: Packed,
    memory_layout: Packed,
    pattern: Pattern = EVERYTHING,
    rotation: Rotation | None = None,
) -> Tensor:
    """Multi-head attention of x [1, N, D] to the memory [1, M, memory width], which may be x, sentence by sentence."""
    dropout = attention.dropout if attention.training else 0.0
    longest = max(layout.longest, memory_layout.longest)
    causal = pattern.is_causal(longest, longest)
    starts = layout.starts, memory_layout.starts
    projections = attention.query, attention.key, attention.value
    shared_heads = attention.key_value_heads < attention.heads
    if not shared_heads and rotation is None and all(type(each) is nn.Linear for each in projections):
        # Fewer and larger matrix products, and one gradient for what comes out of each.
        heads, width = attention.heads, attention.head_width
        if memory is x:
            qkv = _project(x.squeeze(0), projections, heads, width)
            context = packed_self_attention(
                qkv, starts[0], causal=causal, scale=attention.scale, dropout=dropout, longest=longest
            )
        else:
            query = attention.query(x.squeeze(0)).unflatten(-1, (heads, width))
            kv = _project(memory.squeeze(0), projections[1:], heads, width)
            context = packed_cross_attention(
                query, kv, *starts, scale=attention.scale, dropout=dropout, longest=longest
            )
    else:
        query = attention.queries(x, rotation)
        key, value = attention.shared(attention.keys_values(memory, rotation))
        query, key, value = (each.squeeze(0).transpose(0, 1) for each in (query, key, value))  # [N, H, K]
        context = packed_attention(
            query, key, value, *starts, causal=causal, scale=attention.scale, dropout=dropout, longest=longest
        )
    output: Tensor = attention.output(context.flatten(1))
    return output.unsqueeze(0)


def _project(x: Tensor, projections: tuple[nn.Linear, ...], heads: int, width: int) -> Tensor:
    """Several projections of x [N, D] in one matrix product, side by side: [N, projections, H, K]."""
    weight = torch.cat(tuple(each.weight for each in projections))
    biases = tuple(each.bias for each in projections if each.bias is not None)
    joint = F.linear(x, weight, torch.cat(biases) if biases else None)
    return joint.view(len(x), len(projections), heads, width)


def packed_guided_log_weights(
    attention: MultiHeadAttention,
    x: Tensor,
    memory: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    longest: int,
    guide: Guide,
) -> Tensor:
    """`guided_log_weights` of packed sentences: x [1, N, D], memory [1, M, memory width] -> [1, N].

    A block of queries is compared with a window of keys, which begins with those of its first query. The shapes are
    the same for every batch. A window holds the sentences of its block unless they are more than twice as long in the
    memory: what it does not hold counts as not linked.
    """
    query, key = (each.squeeze(0) for each in one_head(attention, x, memory, guide.head))  # [N, K], [M, K]
    count, device = len(query), query.device
    rows = torch.arange(-(-count // GUIDED_BLOCK) * GUIDED_BLOCK, device=device)
    sentence = torch.searchsorted(query_starts[1:].contiguous(), rows, right=True).clamp(max=len(query_starts) - 2)
    begin, end = (key_starts[sentence + after].long().view(-1, GUIDED_BLOCK, 1) for after in (0, 1))
    places = begin[:, 0] + torch.arange(2 * (GUIDED_BLOCK + longest), device=device)  # [blocks, window]
    # One row of zeros after the last key, and queries of zeros after the last one.
    window = F.embedding(places.clamp(max=len(key)), F.pad(key, (0, 0, 0, 1)))  # [blocks, window, K]
    query = F.pad(query, (0, 0, 0, len(rows) - count)).view(-1, GUIDED_BLOCK, query.size(-1))
    scores = (query @ window.transpose(1, 2)).float()  # [blocks, GUIDED_BLOCK, window]
    inside = (places[:, None] >= begin) & (places[:, None] < end)
    links = F.pad(guide.links.squeeze(0), (0, len(rows) - count), value=-1).view(-1, GUIDED_BLOCK, 1)
    linked = (links >= 0) & (end <= places[:, None, -1:] + 1)
    # Rows without a link are not masked: a softmax over nothing would be NaN.
    log_weights = scores.masked_fill(~inside & linked, float("-inf")).log_softmax(-1)
    columns = (links + begin - begin[:, :1]).clamp(0, places.size(1) - 1)
    found = log_weights.gather(-1, columns).where(linked, 0.0)
    return found.flatten()[None, :count]
