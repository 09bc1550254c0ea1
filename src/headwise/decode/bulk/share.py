"""Share of a bulk translation: which groups of lines one of several processes translates."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwise.errors import ConfigError


@dataclass(frozen=True)
class Share:
    """One of `count` processes, numbered from 0: it translates group `number` and every `count`-th after it."""

    number: int = 0
    count: int = 1
    together: bool = field(default=False, compare=False)
    """Whether a launcher such as torchrun started all processes: then the first reports for all of them."""

    @classmethod
    def parse(cls, text: str) -> Share:
        """The share that `K/N` names, such as `2/8`."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise ConfigError(f"--shard {text}: not K/N with K from 1 to N, such as 2/8")
        return cls(int(number) - 1, int(count))

    @property
    def suffix(self) -> str:
        """End of the names of this share's files."""
        return "" if self.count == 1 else f"-{self.number + 1}-of-{self.count}"

    @property
    def reports(self) -> bool:
        """Whether this process reports progress and prints notes."""
        return self.number == 0 or not self.together

    @property
    def separate(self) -> bool:
        """Whether this is one of several processes that were started one by one."""
        return self.count > 1 and not self.together

    def all(self) -> list[Share]:
        """The shares of all processes."""
        return [Share(number, self.count) for number in range(self.count)]

    def __str__(self) -> str:
        return f"part {self.number + 1} of {self.count}"


WHOLE = Share()
