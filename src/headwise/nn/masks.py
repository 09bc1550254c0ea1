"""Who may look at whom. True = may attend; a mask is added to the scores before the softmax, as 0 or -inf."""

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
