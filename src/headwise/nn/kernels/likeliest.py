"""The likeliest tokens of a step: softmax's denominator and the few largest logits, in one pass over the table.

Apart, each of the two reads the whole table, and some write another. On a GPU the kernels of `likeliest_triton` do it;
elsewhere the obvious way, their oracle.
"""

from typing import Any

import torch
from torch import Tensor

from headwise.nn.kernels import usable

MOST = 16
"""Tokens of a row that the kernels look for: their loops are written out, and a minute of compiling is no gain."""


def likeliest(logits: Tensor, count: int, banned: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Logits [R, V] -> the `count` largest and their tokens [R, count], largest first, and log-sum-exp of all [R].

    What `banned` [V] marks is not among them, but keeps its share of the sum. Float32, whatever the logits are.
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
