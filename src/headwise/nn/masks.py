"""Who may look at whom. True = may attend; a mask is added to the scores before the softmax, as 0 or -inf.

Two things decide it: which tokens are real (`padding_mask`), and the `Pattern` of a layer, which knows places alone.
"""

import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int) -> Tensor:
    """[B, S] ids -> [B, 1, 1, S]: every query may attend to every real token."""
    return (tokens != pad)[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """[T, S]: a position may attend to itself and to what came before it.

    With more keys than queries (a cache holds the earlier ones) the queries are the last positions.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as what is added to the scores: 0 where one may attend, minus infinity elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))


class Pattern:
    """Every position may look at every other, as in an encoder: the pattern that the others override."""

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        """[T, S] for queries that are the last of the keys' positions; None: no limit."""
        return None

    def is_causal(self, queries: int, keys: int) -> bool:
        """Whether here the mask is the plain triangle that kernels know without being given it."""
        return False


class Causal(Pattern):
    """What came before, and itself: a decoder's."""

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        if queries == 1:  # a single query is the last position: it may see everything
            return None
        return causal_mask(queries, keys, device)

    def is_causal(self, queries: int, keys: int) -> bool:
        return queries == keys > 1


class SlidingWindow(Causal):
    """The last `window` positions, itself included (Mistral): far ones are reached through the layers between."""

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"a window has at least one position, not {window}")
        self.window = window

    def mask(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        if keys <= self.window:
            return super().mask(queries, keys, device)
        near = causal_mask(queries, keys, device)
        return near & ~near.tril(keys - queries - self.window)

    def is_causal(self, queries: int, keys: int) -> bool:
        return keys <= self.window and super().is_causal(queries, keys)


EVERYTHING = Pattern()
