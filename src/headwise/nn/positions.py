"""Position encodings: attention alone does not depend on the order of the tokens; these make it.

An encoding can act in three places, and does nothing where it does not override the method:
`embed` adds to the embeddings (sinusoidal, learned), `rotation` rotates queries and keys (rotary), `bias` adds to
the scores (relative). A new kind is a class here and a row in `POSITIONS`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headwise.nn.rotary import Frequencies


class Rotation(NamedTuple):
    """A rotation of queries and keys by the angles of their positions."""

    cosine: Tensor  # [T, R/2], or [B, 1, T, R/2] if the positions differ between the rows of a batch
    sine: Tensor

    def apply(self, heads: Tensor) -> Tensor:
        """Rotate the pairs (first half, second half) of the first R values of [B, H, T, K]."""
        width = 2 * self.cosine.size(-1)
        first, second = heads[..., :width].float().chunk(2, -1)
        rotated = (first * self.cosine - second * self.sine, second * self.cosine + first * self.sine)
        rest = (heads[..., width:],) if width < heads.size(-1) else ()
        return torch.cat((*(part.to(heads.dtype) for part in rotated), *rest), -1)


class PositionEncoding(nn.Module):
    """The encoding without positions; the others override its methods."""

    def embed(self, x: Tensor, positions: Tensor, longest: int | None = None) -> Tensor:
        """Add to the embeddings x [B, T, D] at positions [T] or [B, T], all below `longest` (None: T)."""
        return x

    def rotation(self, positions: Tensor) -> Rotation | None:
        """The rotation of queries and keys in self-attention at positions [T] or [B, T]."""
        return None

    def bias(self, queries: int, keys: int) -> Tensor | None:
        """The bias on the scores of self-attention, [1, H, T, S]; the queries are the last of the keys."""
        return None


class Sinusoidal(PositionEncoding):
    """Sinusoidal positions: P(t, 2i) = sin(t / 10000^(2i/D)), P(t, 2i+1) = cos of the same angle.

    An odd width D has one sine more than cosines. `interleaved` is the paper's order; `halves` holds all sines, then
    all cosines, as in Marian and T2T; so does `fairseq`, whose frequencies differ slightly and end at exactly 1/10000.
    The encoding is computed, not stored, so sentences can be of any length.
    """

    def __init__(self, width: int, layout: str = "interleaved", offset: int = 0) -> None:
        super().__init__()
        if layout not in ("interleaved", "halves", "fairseq"):
            raise ValueError(f"layout must be interleaved, halves or fairseq, not {layout!r}")
        self.width = width
        self.layout = layout
        self.offset = offset
        self._cached: Tensor | None = None

    def table(self, positions: Tensor) -> Tensor:
        """The encoding of positions [...]: [..., D]."""
        numbers = torch.arange(0, self.width, 2, dtype=torch.float32, device=positions.device)
        if self.layout == "fairseq":
            pairs = self.width // 2
            frequencies = torch.exp(numbers[:pairs] / 2 * -(math.log(10000.0) / max(pairs - 1, 1)))
            angles = (positions + self.offset).float()[..., None] * frequencies
            odd = [angles.new_zeros(*angles.shape[:-1], 1)] if self.width % 2 else []
            return torch.cat((angles.sin(), angles.cos(), *odd), -1)
        angles = (positions + self.offset).float()[..., None] / 10000.0 ** (numbers / self.width)  # [..., ceil(D/2)]
        sine, cosine = angles.sin(), angles.cos()[..., : self.width // 2]
        if self.layout == "halves":
            return torch.cat((sine, cosine), -1)
        table = sine.new_empty(*positions.shape, self.width)
        table[..., 0::2] = sine
        table[..., 1::2] = cosine
        return table

    def embed(self, x: Tensor, positions: Tensor, longest: int | None = None) -> Tensor:
        if longest is None:
            return x + self.table(positions).to(x.dtype)
        return x + self._first(longest, x)[positions]

    def _first(self, longest: int, like: Tensor) -> Tensor:
        """The encoding of the first positions, cached: in a packed row they repeat."""
        cached = self._cached
        if cached is None or cached.size(0) < longest or cached.device != like.device or cached.dtype != like.dtype:
            cached = self._cached = self.table(torch.arange(longest, device=like.device)).to(like.dtype)
        return cached


class Learned(PositionEncoding):
    """Learned positions: one trained vector per position, as in BERT and GPT, up to the length of the table.

    The first `offset` rows of the table are not used: some published models reserve them.
    """

    def __init__(self, width: int, max_positions: int, offset: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions + offset, width))
        self.offset = offset

    def embed(self, x: Tensor, positions: Tensor, longest: int | None = None) -> Tensor:
        learned, needed = self.weight.size(0) - self.offset, longest or x.size(1)
        if needed > learned:
            raise ValueError(f"{needed} positions, but only {learned} were learned (model.positions.max_positions)")
        return x + self.weight[positions + self.offset]


class Rotary(PositionEncoding):
    """Rotary positions (RoPE): queries and keys are rotated by an angle that grows with the position (RoFormer).

    Their product then depends on the distance alone. `frequencies` gives the speed of each pair, and may slow them
    down for texts longer than in training.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        super().__init__()
        self.frequencies = frequencies
        self.asks_for_values = frequencies.asks_for_values

    def rotation(self, positions: Tensor) -> Rotation:
        with positions.device:  # created on the device: a copy from the CPU would make the GPU wait
            turns = self.frequencies.turns(positions)
        angles = positions.float()[..., None] * turns  # [T, R/2] or [B, T, R/2]
        if angles.dim() == 3:
            angles = angles[:, None]
        factor = self.frequencies.factor
        return Rotation(angles.cos() * factor, angles.sin() * factor)


class Relative(PositionEncoding):
    """Relative positions: one trained number per head and distance is added to the scores (T5).

    Near distances have one bucket each, far ones share buckets of logarithmic size, and all beyond `distance` share the
    last. A causal stack uses all buckets for the past, any other half of them for the future.
    """

    def __init__(self, heads: int, buckets: int, distance: int, causal: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        self.buckets = buckets
        self.distance = distance
        self.causal = causal

    def bias(self, queries: int, keys: int) -> Tensor:
        device = self.weight.device
        positions = torch.arange(keys, device=device)
        ahead = positions[None, :] - positions[keys - queries :, None]  # [T, S]; below 0: the past
        return self.weight[self.bucket(ahead)].permute(2, 0, 1)[None]

    def bucket(self, ahead: Tensor) -> Tensor:
        """The bucket of each distance; a positive distance is ahead."""
        if self.causal:
            buckets, first, far = self.buckets, torch.zeros_like(ahead), (-ahead).clamp(min=0)
        else:
            buckets = self.buckets // 2
            first, far = (ahead > 0).long() * buckets, ahead.abs()
        exact = buckets // 2
        steps = torch.log(far.clamp(min=1).float() / exact) / math.log(self.distance / exact) * (buckets - exact)
        shared = (exact + steps.long()).clamp(max=buckets - 1)
        return first + torch.where(far < exact, far, shared)


class PositionShape(NamedTuple):
    """The arguments of all kinds of position encodings."""

    width: int
    heads: int
    causal: bool
    max_positions: int
    offset: int
    frequencies: Frequencies
    buckets: int
    distance: int


POSITIONS: dict[str, Callable[[PositionShape], PositionEncoding]] = {
    "none": lambda shape: PositionEncoding(),
    "sinusoidal": lambda shape: Sinusoidal(shape.width, "interleaved", shape.offset),
    "sinusoidal_halves": lambda shape: Sinusoidal(shape.width, "halves", shape.offset),
    "sinusoidal_fairseq": lambda shape: Sinusoidal(shape.width, "fairseq", shape.offset),
    "learned": lambda shape: Learned(shape.width, shape.max_positions, shape.offset),
    "rotary": lambda shape: Rotary(shape.frequencies),
    "relative": lambda shape: Relative(shape.heads, shape.buckets, shape.distance, shape.causal),
}
