"""The embedding of one token a row, and of its place: three operations in one, for a step that is a chain of them."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from headwise.nn.kernels import usable


def token_embedding(tokens: Tensor, table: Tensor, places: Tensor, positions: Tensor) -> Tensor:
    """Tokens [R], their table [V, D], places [R], theirs [L, D] -> the sums [R, D]. Tables have no gaps."""
    if usable(table):
        return _kernels().token_embedding(tokens, table, places, positions)  # type: ignore[no-any-return]
    return F.embedding(tokens, table) + F.embedding(places, positions)


def _kernels() -> Any:
    from headwise.nn.kernels import token_embedding_triton

    return token_embedding_triton
