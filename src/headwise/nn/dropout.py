"""Dropout: in training, each value is 0 with probability p, and the others are scaled up to keep the mean."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def dropout(x: Tensor, p: float) -> Tensor:
    """Drop each value with probability p.

    On a CPU, drawing one random number per value is a tenth of a small model's training time. Here one 64-bit
    number decides on four values: each gets 16 of its bits, so p is kept to within 1/65536.
    """
    if p == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    numbers = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = numbers.view(torch.int16)[: x.numel()].view(x.shape)
    threshold = round(p * 2**16)
    scale = 1 / (1 - threshold / 2**16)
    return x * (draws >= threshold - 2**15).to(x.dtype).mul_(scale)


class Dropout(nn.Module):
    """`dropout` while the module is in training mode."""

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"the dropout probability must be at least 0 and below 1, not {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x
