"""Text with inline markup: what a document gives to the translator, and what it gets back.

A bold word, a link or a footnote is a pair of marks or a single mark; a code span or a placeholder is kept text. What
they stand for in the file is the format's own business: the translator moves marks and never looks into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum


class MarkKind(Enum):
    """The role of a mark: it begins a pair, ends one, or stands alone."""

    OPEN = "open"
    CLOSE = "close"
    SINGLE = "single"


@dataclass(frozen=True)
class Mark:
    """Inline markup at one place of a text."""

    kind: MarkKind
    number: int
    """Two marks of a pair share it; otherwise it is unique in its text."""
    markup: object = None
    """What the format needs to write the mark again."""
    separates: bool = False
    """Whether words on both sides of it are apart without a space: a line break, a tab."""


@dataclass(frozen=True)
class Kept:
    """A part of a sentence that is not translated: a code span, a placeholder, a formula."""

    text: str
    """What a reader sees, and what the model sees in the sentence."""
    markup: object = None
    """What the format needs to write the part again."""


Part = str | Mark | Kept


@dataclass(frozen=True)
class MarkedText:
    """A text with marks between its characters. Neighbouring strings are joined, and empty ones dropped."""

    parts: tuple[Part, ...]

    def __init__(self, parts: Iterable[Part]) -> None:
        object.__setattr__(self, "parts", tuple(_joined(parts)))

    @property
    def text(self) -> str:
        """The text without marks, with a space for those that separate words."""
        return "".join(_visible(part) for part in self.parts)

    @property
    def marks(self) -> list[Mark]:
        """All marks, in order."""
        return [part for part in self.parts if isinstance(part, Mark)]

    @property
    def kept(self) -> list[Kept]:
        """All kept parts, in order."""
        return [part for part in self.parts if isinstance(part, Kept)]

    @property
    def has_letters(self) -> bool:
        """Whether any part that may be translated contains a letter."""
        return any(character.isalpha() for part in self.parts if isinstance(part, str) for character in part)

    def fault(self) -> str:
        """What is wrong with the nesting of the marks; empty if they are well-formed."""
        open_numbers: list[int] = []
        seen: set[int] = set()
        for mark in self.marks:
            if mark.kind is MarkKind.CLOSE:
                if not open_numbers or open_numbers.pop() != mark.number:
                    return f"mark {mark.number} closes where it is not open, or before one that it encloses"
                continue
            if mark.number in seen:
                return f"mark {mark.number} occurs twice"
            seen.add(mark.number)
            if mark.kind is MarkKind.OPEN:
                open_numbers.append(mark.number)
        return f"mark {open_numbers[-1]} is not closed" if open_numbers else ""


def _visible(part: Part) -> str:
    if isinstance(part, Mark):
        return " " if part.separates else ""
    return part if isinstance(part, str) else part.text


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    run: list[str] = []
    for part in parts:
        if isinstance(part, str):
            run.append(part)
            continue
        if text := "".join(run):
            yield text
        run = []
        yield part
    if text := "".join(run):
        yield text
