"""Ranges of numeric config fields, declared in the field's type and checked when a config is made."""

import functools
import math
import typing
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from headwise.errors import ConfigError

FEW = 30
"""Messages name both ends of intervals from 0 up to this; the upper end of larger ones is only a safeguard."""


@dataclass(frozen=True)
class Between:
    """An interval; `open_low` and `open_high` exclude its ends. NaN lies in none."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low < value if self.open_low else self.low <= value
        return above and (value < self.high if self.open_high else value <= self.high)

    def refuse(self, value: float) -> str:
        """The bound that a value outside the interval violates, in words."""
        above = f"{'above' if self.open_low else 'at least'} {self.low:,}"
        below = f"{'below' if self.open_high else 'at most'} {self.high:,}"
        if self.low == 0 and self.high <= FEW:
            return f"{above} and {below}"
        return below if value > self.low else above


Count = Annotated[int, Between(1, 2**31)]
Natural = Annotated[int, Between(0, 2**31)]
Positive = Annotated[float, Between(0, open_low=True, open_high=True)]
NotNegative = Annotated[float, Between(0)]
Share = Annotated[float, Between(0, 1)]
ShareBelowOne = Annotated[float, Between(0, 1, open_high=True)]


class Checked:
    """A config table that refuses numbers outside the ranges its fields declare."""

    where: ClassVar[str] = ""
    """The table's name in a recipe, for messages."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, (range_, optional) in _ranges(kind).items():
            value = getattr(self, name)
            if value is None and optional:
                continue
            if not isinstance(value, int | float):
                raise ConfigError(f"{self.where}{name} must be a number, not {value!r}")
            if value not in range_:
                none = ", or none" if optional else ""
                raise ConfigError(f"{self.where}{name} must be {range_.refuse(value)}{none}, not {value!r}")


@functools.cache
def _ranges(kind: type[Any]) -> dict[str, tuple[Between, bool]]:
    """The range of each field that has one, and whether the field may be None."""
    found = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        optional = type(None) in typing.get_args(hint)
        for each in (hint, *typing.get_args(hint)):
            for extra in getattr(each, "__metadata__", ()):
                if isinstance(extra, Between):
                    found[name] = extra, optional
    return found
