"""Documents made by splicing: translations replace the source of their segments in a text, and nothing else changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headwise.documents.encoded_text import EncodedText
from headwise.documents.marked_text import MarkedText

Source = Callable[[int, int], str]
"""The source text between two positions, in which changes have been made."""


@dataclass(frozen=True)
class MarkSpan:
    """What a mark stands for: source text from `start` to before `end`."""

    start: int
    end: int
    instead: str = ""
    """What is written for it in a translation, if not the same."""

    def written(self, source: Source) -> str:
        """The source text of the mark, in a translation."""
        return self.instead or source(self.start, self.end)


@dataclass(frozen=True)
class Place:
    """A segment with its position, from `start` to before `end`. Places lie beside each other or within marks."""

    start: int
    end: int
    text: MarkedText
    write: Callable[[MarkedText, Source], str]
    """The source text of a translation."""


@dataclass(frozen=True)
class Change:
    """Source text to be replaced."""

    start: int
    end: int
    make: Callable[[Source], str]


class Splice:
    """A text with changes, some of which may lie within others."""

    def __init__(self, text: str, changes: Iterable[Change]) -> None:
        self.text = text
        self.changes = sorted(changes, key=lambda change: (change.start, -change.end))
        self.starts = [change.start for change in self.changes]

    def source(self, start: int, end: int) -> str:
        """The changed text between two positions of the original."""
        pieces = []
        done = start
        for index in range(bisect_left(self.starts, start), bisect_left(self.starts, end)):
            change = self.changes[index]
            if done <= change.start and change.end <= end:
                pieces += [self.text[done : change.start], change.make(self.source)]
                done = change.end
        return "".join([*pieces, self.text[done:end]])


class SplicedDocument:
    """A text file whose segments are places in it."""

    def __init__(
        self, file: EncodedText, places: Iterable[Place], *, changes: Sequence[Change] = (), references: bool = False
    ) -> None:
        self.file = file
        self.places = sorted(places, key=lambda place: (place.start, -place.end))
        self.changes = changes
        """What changes whatever the translations are."""
        self.encode = file.encode_with_references if references else file.encode

    @property
    def segments(self) -> list[MarkedText]:
        """The texts of all places, in reading order."""
        return [place.text for place in self.places]

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The file with the translations; unchanged segments keep their own spelling, such as entities."""
        changes = [
            _change(place, translation)
            for place, translation in zip(self.places, translations, strict=True)
            if translation != place.text
        ]
        text = self.file.text
        return self.encode(Splice(text, [*self.changes, *changes]).source(0, len(text)))


def _change(place: Place, translation: MarkedText) -> Change:
    return Change(place.start, place.end, lambda source: place.write(translation, source))
