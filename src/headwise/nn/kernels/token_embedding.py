"""Token and position embedding of one token per row: three operations in one kernel."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from headwise.nn.kernels import usable


def token_embedding(tokens: Tensor, table: Tensor, positions: Tensor, position_table: Tensor) -> Tensor:
    """Tokens [R] of a table [V, D] plus positions [R] of a table [L, D] -> [R, D]. Tables are contiguous."""
    if usable(table):
        return _kernels().token_embedding(tokens, table, positions, position_table)  # type: ignore[no-any-return]
    return F.embedding(tokens, table) + F.embedding(positions, position_table)


def _kernels() -> Any:
    from headwise.nn.kernels import token_embedding_triton

    return token_embedding_triton
