"""Add & Norm: the residual connection around each sublayer, and the two places where the norm can stand."""

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor, nn

from headwise.nn.dropout import Dropout

Extra = TypeVar("Extra")
Sublayer = Callable[[Tensor], tuple[Tensor, Extra]]
"""A sublayer gives its output and whatever else it has to report (a cache, attention weights)."""


class PostNorm(nn.Module):
    """norm(x + dropout(sublayer(x))): as in the paper."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer[Extra]) -> tuple[Tensor, Extra]:
        y, extra = sublayer(x)
        return self.norm(x + self.dropout(y)), extra


class PreNorm(nn.Module):
    """x + dropout(sublayer(norm(x))): the residual path stays free, so that deep stacks train easily.

    A stack of these ends in a norm of its own.
    """

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer[Extra]) -> tuple[Tensor, Extra]:
        y, extra = sublayer(self.norm(x))
        return x + self.dropout(y), extra


AddAndNorm = PostNorm | PreNorm

NORMS: dict[str, Callable[[int, float], nn.Module]] = {
    "layer": lambda width, epsilon: nn.LayerNorm(width, eps=epsilon or 1e-5),
    "rms": lambda width, epsilon: nn.RMSNorm(width, eps=epsilon or 1e-6),
}
"""Width and epsilon (0: the kind's usual one) -> norm."""

NORM_ORDERS: dict[str, type[PostNorm] | type[PreNorm]] = {"post": PostNorm, "pre": PreNorm}
