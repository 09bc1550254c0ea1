"""Attention of one token per row to a cache: the step of a search, with fixed shapes.

The used length of the cache is read from device memory, so that one CUDA graph serves all steps. The hypotheses of a
beam share their past: a table tells which row wrote each position of a row's past, and no key ever moves. On a GPU the
kernels of `cached_attention_triton` compute it; elsewhere the plain formula, their oracle.

Shapes: R rows, H heads and G key/value heads of width K; L positions of a cache; S of a source. Caches may be views:
only the K values of a head must be contiguous.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.nn.kernels import usable


class Heads(NamedTuple):
    """The heads of an attention."""

    heads: int  # H
    key_heads: int  # G
    width: int  # K
    scale: float


def attend_past(
    qkv: Tensor, keys: Tensor, values: Tensor, stems: Tensor | None, positions: Tensor, heads: Heads
) -> Tensor:
    """Causal attention of queries, keys and values, side by side [R, (H + 2G) * K] -> [R, H * K].

    The keys and values of each row are first written to the caches [R, L, G, K] at its position [R]; then it attends to
    all positions up to there, position p in the row that stems[R, L] gives for it (None: in its own).
    """
    if usable(qkv):
        return _kernels().attend_past(qkv, keys, values, stems, positions, heads)  # type: ignore[no-any-return]
    R, L = keys.shape[:2]
    split = [heads.heads, heads.key_heads, heads.key_heads]
    query, key, value = torch.split(qkv.view(R, -1, heads.width), split, 1)
    rows, every = torch.arange(R, device=qkv.device), torch.arange(L, device=qkv.device)
    keys[rows, positions], values[rows, positions] = key, value
    if stems is not None:
        past = stems.long(), every.expand(R, L)
        keys, values = keys[past], values[past]
    return _attend(query, keys, values, every[None, :] <= positions[:, None], heads)


def attend_memory(query: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, heads: Heads) -> Tensor:
    """Cross-attention of queries [R, H * K], R / N rows per sentence, to keys and values [N, S, G, K], of which the
    first `lengths` [N] are valid -> [R, H * K]."""
    if usable(query):
        return _kernels().attend_memory(query, keys, values, lengths, heads)  # type: ignore[no-any-return]
    R, (N, S) = len(query), keys.shape[:2]
    owners = torch.arange(N, device=query.device).repeat_interleave(R // N)
    seen = torch.arange(S, device=query.device)[None, :] < lengths[owners][:, None]
    return _attend(query.view(R, heads.heads, heads.width), keys[owners], values[owners], seen, heads)


def _kernels() -> Any:
    from headwise.nn.kernels import cached_attention_triton

    return cached_attention_triton


def _attend(query: Tensor, keys: Tensor, values: Tensor, seen: Tensor, heads: Heads) -> Tensor:
    """Attention of queries [R, H, K] to keys and values [R, L, G, K] where `seen` [R, L] -> [R, H * K]."""
    groups = heads.heads // heads.key_heads
    keys, values = (each.repeat_interleave(groups, 2).float() for each in (keys, values))
    scores = torch.einsum("rhk,rlhk->rhl", query.float(), keys) * heads.scale
    weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(-1)
    return torch.einsum("rhl,rlhk->rhk", weights, values).flatten(1).to(query.dtype)
