"""Random choices in plain Python that a 64-bit key determines: a generator is made for each of millions of pairs."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_BITS = (1 << 64) - 1


class Dice:
    """The sequence of splitmix64 (see text/random_bits.py) that begins at a key."""

    def __init__(self, key: int) -> None:
        self._state = key

    def bits(self) -> int:
        """The next 64 random bits."""
        self._state = value = (self._state + 0x9E3779B97F4A7C15) & _BITS
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _BITS
        return value ^ (value >> 31)

    def below(self, end: int) -> int:
        """A number from 0 to `end` - 1."""
        return self.bits() % end

    def one_in(self, count: int) -> bool:
        return self.bits() % count == 0

    def pick(self, items: Sequence[T]) -> T:
        return items[self.bits() % len(items)]

    def text(self, characters: str, count: int) -> str:
        """So many characters, each drawn by itself."""
        return "".join([self.pick(characters) for _ in range(count)])
