"""Where order enters. Attention itself sees a set; these tell it where each token stands.

An encoding can act in two places, and does nothing in a place it does not override:
`embed` adds to the embeddings (sinusoidal, learned), `rotation` turns queries and keys (rotary).
A new kind is a class here and a row in `POSITIONS`.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Rotation(NamedTuple):
    """The angles of a set of positions, as they are applied to queries and keys."""

    cosine: Tensor  # [T, K/2]
    sine: Tensor  # [T, K/2]

    def apply(self, heads: Tensor) -> Tensor:
        """Turn the pairs (first half, second half) of [B, H, T, K] by each position's angles."""
        first, second = heads.float().chunk(2, -1)
        turned = (first * self.cosine - second * self.sine, second * self.cosine + first * self.sine)
        return torch.cat(turned, -1).to(heads.dtype)


class PositionEncoding(nn.Module):
    """No positions at all: the encoding that the others override."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, T, D] at positions [T] -> [B, T, D]."""
        return x

    def rotation(self, positions: Tensor) -> Rotation | None:
        """What self-attention applies to its queries and keys at positions [T]."""
        return None


class Sinusoidal(PositionEncoding):
    """P(t, 2i) = sin(t / 10000^(2i/D)), P(t, 2i+1) = cos of the same angle.

    Of the width D of the paper; an odd width has one sine more than cosines. `interleaved` is the paper's
    order; `halves` holds all sines, then all cosines, as Marian (and T2T) do. Computed, not stored:
    there is no longest sentence.
    """

    def __init__(self, width: int, layout: str = "interleaved") -> None:
        super().__init__()
        if layout not in ("interleaved", "halves"):
            raise ValueError(f"layout must be interleaved or halves, not {layout!r}")
        self.width = width
        self.layout = layout

    def table(self, positions: Tensor) -> Tensor:
        """[T] -> [T, D]."""
        exponents = torch.arange(0, self.width, 2, dtype=torch.float32, device=positions.device) / self.width
        angles = positions.float()[:, None] / 10000.0**exponents  # [T, ceil(D/2)]
        sine, cosine = angles.sin(), angles.cos()[:, : self.width // 2]
        if self.layout == "halves":
            return torch.cat((sine, cosine), -1)
        table = sine.new_empty(len(positions), self.width)
        table[:, 0::2] = sine
        table[:, 1::2] = cosine
        return table

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.table(positions).to(x.dtype)


class Learned(PositionEncoding):
    """A trained vector a position, as in BERT and GPT: it ends where its table ends."""

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, width))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        longest = self.weight.size(0)
        if x.size(1) > longest:
            raise ValueError(f"{x.size(1)} positions, but only {longest} were learned (model.max_positions)")
        return x + self.weight[positions]


class Rotary(PositionEncoding):
    """Queries and keys are turned by an angle that grows with the position (RoFormer).

    Their product then depends on the distance alone. `scaling` above 1 stretches the positions that were
    seen in training over longer texts (linear interpolation).
    """

    def __init__(self, head_width: int, base: float = 10000.0, scaling: float = 1.0) -> None:
        super().__init__()
        if head_width % 2:
            raise ValueError(f"rotary positions need an even head width, not {head_width}")
        self.head_width = head_width
        self.base = base
        self.scaling = scaling

    def rotation(self, positions: Tensor) -> Rotation:
        exponents = torch.arange(0, self.head_width, 2, dtype=torch.float32, device=positions.device)
        angles = (positions.float() / self.scaling)[:, None] / self.base ** (exponents / self.head_width)
        return Rotation(angles.cos(), angles.sin())


class PositionShape(NamedTuple):
    """All that any encoding may need to know of the model it is built for."""

    width: int
    head_width: int
    max_positions: int
    rotary_base: float
    rotary_scaling: float


POSITIONS: dict[str, Callable[[PositionShape], PositionEncoding]] = {
    "none": lambda shape: PositionEncoding(),
    "sinusoidal": lambda shape: Sinusoidal(shape.width),
    "sinusoidal_halves": lambda shape: Sinusoidal(shape.width, "halves"),
    "learned": lambda shape: Learned(shape.width, shape.max_positions),
    "rotary": lambda shape: Rotary(shape.head_width, shape.rotary_base, shape.rotary_scaling),
}
