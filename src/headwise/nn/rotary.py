"""Rotary frequencies, and the methods of scaling them for texts longer than in training.

Pair i of a head turns by base^(-2i/R) per position. Each method is a class.
"""

import math

import torch
from torch import Tensor


class Frequencies:
    """Plain rotary frequencies, as in RoFormer; `width` (R) values of each head are rotated."""

    factor = 1.0
    """The factor of cosines and sines: some methods sharpen attention on long texts."""
    asks_for_values = False
    """Whether `turns` depends on the values of positions, which makes the CPU wait for a GPU."""

    def __init__(self, width: int, base: float = 10000.0) -> None:
        if width % 2:
            raise ValueError(f"rotary positions need an even width, not {width}")
        self.width = width
        self.base = base

    def turns(self, positions: Tensor) -> Tensor:
        """Radians per position of each pair, [R/2], for a pass over these positions."""
        return self.plain()

    def plain(self, base: float | None = None) -> Tensor:
        exponents = torch.arange(0, self.width, 2, dtype=torch.float32) / self.width
        return 1.0 / (base or self.base) ** exponents


class Linear(Frequencies):
    """Linear interpolation: all frequencies are divided by `stretch`."""

    def __init__(self, width: int, base: float, stretch: float) -> None:
        super().__init__(width, base)
        self.stretch = stretch

    def turns(self, positions: Tensor) -> Tensor:
        return self.plain() / self.stretch


class Dynamic(Frequencies):
    """Dynamic NTK scaling: the base grows once a text is longer than `length`, which lowers low frequencies most."""

    asks_for_values = True

    def __init__(self, width: int, base: float, stretch: float, length: int) -> None:
        super().__init__(width, base)
        self.stretch = stretch
        self.length = length

    def turns(self, positions: Tensor) -> Tensor:
        longest = max(int(positions.max()) + 1, self.length)
        growth = self.stretch * longest / self.length - (self.stretch - 1)
        return self.plain(self.base * growth ** (self.width / (self.width - 2)))


class Llama3(Frequencies):
    """Llama 3.1 scaling: high frequencies are kept, low ones divided by `stretch`, those between interpolated."""

    def __init__(self, width: int, base: float, stretch: float, length: int, low: float, high: float) -> None:
        super().__init__(width, base)
        self.stretch = stretch
        self.length = length
        self.low = low
        self.high = high

    def turns(self, positions: Tensor) -> Tensor:
        plain = self.plain()
        rounds = self.length * plain / (2 * math.pi)  # of each pair within the training length
        share = ((rounds - self.low) / (self.high - self.low)).clamp(0, 1)
        return (1 - share) * plain / self.stretch + share * plain


class Yarn(Frequencies):
    """YaRN scaling: high frequencies are kept, low ones divided, with a ramp between; attention is sharpened."""

    def __init__(
        self,
        width: int,
        base: float,
        stretch: float,
        length: int,
        fast: float = 32.0,
        slow: float = 1.0,
        factor: float | None = None,
        truncate: bool = True,
    ) -> None:
        super().__init__(width, base)
        self.stretch = stretch
        self.factor = factor or (0.1 * math.log(stretch) + 1.0 if stretch > 1 else 1.0)

        def pair_of(rounds: float) -> float:
            return width * math.log(length / (rounds * 2 * math.pi)) / (2 * math.log(base))

        first, last = pair_of(fast), pair_of(slow)
        if truncate:
            first, last = math.floor(first), math.ceil(last)
        self.first = max(first, 0)
        self.last = min(last, width - 1)
        if self.first == self.last:
            self.last += 0.001

    def turns(self, positions: Tensor) -> Tensor:
        plain = self.plain()
        numbers = torch.arange(self.width // 2, dtype=torch.float32)
        stretched = ((numbers - self.first) / (self.last - self.first)).clamp(0, 1)
        return plain / self.stretch * stretched + plain * (1 - stretched)


class LongRope(Frequencies):
    """LongRoPE scaling: one divisor per pair, found by search; texts beyond the training length have other divisors."""

    asks_for_values = True

    def __init__(
        self,
        width: int,
        base: float,
        stretch: float,
        length: int,
        short: tuple[float, ...],
        long: tuple[float, ...],
        factor: float | None = None,
    ) -> None:
        super().__init__(width, base)
        for name, divisors in (("short", short), ("long", long)):
            if len(divisors) != width // 2:
                raise ValueError(f"{len(divisors)} {name} factors for {width // 2} rotary pairs")
        self.length = length
        self.short = short
        self.long = long
        self.factor = factor or (math.sqrt(1 + math.log(stretch) / math.log(length)) if stretch > 1 else 1.0)

    def turns(self, positions: Tensor) -> Tensor:
        divisors = self.long if int(positions.max()) + 1 > self.length else self.short
        return self.plain() / torch.tensor(divisors, dtype=torch.float32)
