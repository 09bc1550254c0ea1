"""Pooling: one vector for the whole sequence from one vector per token."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from headwise.nn.feed_forward import ACTIVATIONS, Activation

POOLERS: dict[str, Activation] = {"tanh": torch.tanh, **ACTIVATIONS}
"""Activations that a pooler may have."""


class Pooler(nn.Module):
    """BERT's pooler: a dense layer over the first position, which represents the whole sequence."""

    def __init__(self, width: int, activation: Activation) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.activation = activation

    def forward(self, first: Tensor) -> Tensor:
        """Transform the pooled vectors: [B, D] -> [B, D]."""
        return self.activation(self.dense(first))


def last_real(hidden: Tensor, real: Tensor) -> Tensor:
    """The last real token of [B, T, D], given which are real [B, T]."""
    places = torch.arange(real.size(1), device=real.device)
    last = (places * real).argmax(-1)
    return hidden[torch.arange(len(hidden), device=hidden.device), last]


def mean_of_real(hidden: Tensor, real: Tensor) -> Tensor:
    """The mean of the real tokens of [B, T, D], given which are real [B, T]."""
    weights = real.to(hidden.dtype)[..., None]
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "first": lambda hidden, real: hidden[:, 0],
    "last": last_real,
    "mean": mean_of_real,
}
