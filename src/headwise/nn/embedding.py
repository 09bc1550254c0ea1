"""From ids to vectors, and from vectors back to scores over the vocabulary."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TokenEmbedding(nn.Module):
    """A vector a token, times sqrt(D): drawn small, so that the matrix can serve as the output's too."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, width))
        self.scale = math.sqrt(width)

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return F.embedding(tokens, self.weight) * self.scale


class OutputProjection(nn.Module):
    """Logits over the vocabulary. To tie it, give it the embedding's own matrix."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight  # [V, D]

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return F.linear(hidden, self.weight)
