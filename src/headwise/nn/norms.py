"""Add & Norm: the residual connection around each sublayer, and the two places of the norm."""

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor, nn

from headwise.nn.dropout import Dropout
from headwise.nn.kernels import usable_in_half
from headwise.nn.kernels.residual_norm import residual_norm

Extra = TypeVar("Extra")
Sublayer = Callable[[Tensor], tuple[Tensor, Extra]]
"""A sublayer returns its output and something else, such as a cache and attention weights."""


class PostNorm(nn.Module):
    """Post-norm, as in the paper: norm(x + dropout(sublayer(x)))."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer[Extra]) -> tuple[Tensor, Extra]:
        y, extra = sublayer(x)
        if self.training and in_one_pass(self.norm, x, y):
            return normed_in_one_pass(self.norm, x, y, self.dropout.p), extra
        return self.norm(x + self.dropout(y)), extra


class PreNorm(nn.Module):
    """Pre-norm: x + dropout(sublayer(norm(x))). The residual path has no norm, so that deep stacks train easily.

    A stack of such layers ends with a final norm.
    """

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer[Extra]) -> tuple[Tensor, Extra]:
        fast = self.training and in_one_pass(self.norm, x)
        y, extra = sublayer(normed_in_one_pass(self.norm, x) if fast else self.norm(x))
        return x + self.dropout(y), extra


AddAndNorm = PostNorm | PreNorm


def in_one_pass(norm: nn.Module, *states: Tensor) -> bool:
    """Whether a fused kernel can compute this norm of these states, or of their sum, with its gradient."""
    return isinstance(norm, nn.LayerNorm | nn.RMSNorm) and usable_in_half(*states)


def normed_in_one_pass(norm: nn.Module, x: Tensor, y: Tensor | None = None, dropout: float = 0.0) -> Tensor:
    """The fused kernel for norm(x + dropout(y)), or norm(x)."""
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    centred = isinstance(norm, nn.LayerNorm)
    offset = norm.bias if isinstance(norm, nn.LayerNorm) else None
    return residual_norm(x, y, norm.weight, offset, norm.eps or 0.0, dropout, centred)


NORMS: dict[str, Callable[[int, float | None], nn.Module]] = {
    "layer": lambda width, epsilon: nn.LayerNorm(width, eps=epsilon or 1e-5),
    "rms": lambda width, epsilon: nn.RMSNorm(width, eps=epsilon or 1e-6),
}
"""Norm layers by name; each takes a width and an epsilon (None: the usual one)."""

NORM_ORDERS: dict[str, type[PostNorm] | type[PreNorm]] = {"post": PostNorm, "pre": PreNorm}
