"""The likeliest tokens of a step: the log-sum-exp and the few largest logits in one pass.

Separately, each of the two reads all logits, and some implementations write a copy. On a GPU the kernels of
`likeliest_triton` compute it; elsewhere the plain formula, their oracle.
"""

from typing import Any

import torch
from torch import Tensor

from headwise.nn.kernels import usable

MOST = 16
"""Most tokens per row that the kernels find: their loops are unrolled, and more would take a minute to compile."""


def likeliest(logits: Tensor, count: int, banned: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Logits [R, V] -> the `count` largest and their tokens [R, count], largest first, and log-sum-exp of all [R].

    Tokens that `banned` [V] marks are excluded, but count in the sum. Results are float32.
    """
    if count <= MOST and usable(logits):
        return _kernels().likeliest(logits, count, banned)  # type: ignore[no-any-return]
    logits = logits.float()
    normaliser = logits.logsumexp(-1)
    if banned is not None:
        logits = logits.masked_fill(banned, -torch.inf)
    values, tokens = logits.topk(count, -1)
    return values, tokens, normaliser


def _kernels() -> Any:
    from headwise.nn.kernels import likeliest_triton

    return likeliest_triton
