"""The feed-forward network: the same two-layer perceptron at every position."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from headwise.nn.dropout import Dropout
from headwise.nn.kernels import usable_in_half
from headwise.nn.kernels.linear_relu import linear_relu

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
"""Activations by name; gelu_tanh is the approximation that GPT, GPT-2 and their descendants were trained with."""


class FeedForward(nn.Module):
    """The feed-forward network of the paper: activation(x W1 + b1) W2 + b2."""

    def __init__(
        self,
        width: int,
        hidden: int,
        activation: Activation,
        *,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.expand = nn.Linear(width, hidden, bias=bias)
        self.contract = nn.Linear(hidden, width, bias=bias)
        self.activation = activation
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position by itself: [B, T, D] -> [B, T, D]."""
        if self.training and self._in_one_product(x):
            hidden = linear_relu(x, self.expand.weight, self.expand.bias)
        else:
            hidden = self.activation(self.expand(x))
        y: Tensor = self.contract(self.dropout(hidden))
        return y

    def _in_one_product(self, x: Tensor) -> bool:
        """Whether one kernel computes the first product and the ReLU: for half precision on a GPU, where it pays."""
        plain = self.activation is F.relu and type(self.expand) is nn.Linear and self.expand.bias is not None
        return plain and usable_in_half(x)


class GatedFeedForward(nn.Module):
    """The gated feed-forward network: (activation(x W1) * x W3) W2 (GLU variants; with SiLU, SwiGLU)."""

    def __init__(
        self,
        width: int,
        hidden: int,
        activation: Activation,
        *,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=bias)
        self.expand = nn.Linear(width, hidden, bias=bias)
        self.contract = nn.Linear(hidden, width, bias=bias)
        self.activation = activation
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position by itself: [B, T, D] -> [B, T, D]."""
        y: Tensor = self.contract(self.dropout(self.activation(self.gate(x)) * self.expand(x)))
        return y


FEED_FORWARDS: dict[str, type[FeedForward] | type[GatedFeedForward]] = {
    "plain": FeedForward,
    "gated": GatedFeedForward,
}
