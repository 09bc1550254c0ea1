"""Attention masks. True = may attend; a mask is added to the scores before the softmax, as 0 or -inf.

Two things make a mask: which tokens are real (`padding_mask`), and the `Pattern` of a layer, which depends only on
positions.
"""

import torch
from torch import Tensor


def real_tokens(tokens: Tensor, pad: int) -> Tensor:
    """Which of the ids [B, S] are not padding, [B, S]. Padding ends a row: a padding id before other tokens is text.

    A text can contain the name of a published tokenizer's padding token, as in "fill [PAD] in".
    """
    return (tokens != pad).flip(1).cumsum(1).flip(1) > 0


def padding_mask(tokens: Tensor, pad: int) -> Tensor:
    """The padding mask of ids [B, S]: every query may attend to every real token, [B, 1, 1, S]."""
    return real_tokens(tokens, pad)[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """The causal mask [T, S]: a position may attend to itself and to those before it.

    With more keys than queries (a cache holds the earlier ones) the queries are the last positions.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as a term of the scores: 0 where a query may attend, minus infinity elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))


class Pattern:
    """Full attention: every position may attend to every other, as in an encoder. The other patterns override it."""

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        """The mask [T, S] for queries that are the last of the keys' positions; None: no limit."""
        return None

    def is_causal(self, queries: int, keys: int) -> bool:
        """Whether the mask is the causal triangle, which kernels compute themselves."""
        return False


class Causal(Pattern):
    """Causal attention, as in a decoder: to the position itself and those before it."""

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        if queries == 1:  # a single query is the last position: it may see everything
            return None
        return causal_mask(queries, keys, device)

    def is_causal(self, queries: int, keys: int) -> bool:
        return queries == keys > 1


class SlidingWindow(Causal):
    """Sliding-window attention (Mistral): to the last `window` positions, itself included."""

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"the window must be at least 1, not {window}")
        self.window = window

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        if keys <= self.window:
            return super().mask(queries, keys, device)
        near = causal_mask(queries, keys, device)
        return near & ~near.tril(keys - queries - self.window)

    def is_causal(self, queries: int, keys: int) -> bool:
        return keys <= self.window and super().is_causal(queries, keys)


EVERYTHING = Pattern()
