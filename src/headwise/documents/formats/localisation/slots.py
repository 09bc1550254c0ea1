"""Documents made of slots: places in a file, each with its texts and the way to write their translations there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headwise.documents.marked_text import Kept, MarkedText
from headwise.documents.xml_source import Edit


class Editable(Protocol):
    """A file that edits can be spliced into."""

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The file with these edits."""
        ...


@dataclass(frozen=True)
class Slot:
    """A place in a file: texts found there, and the edits that write their translations."""

    segments: Sequence[MarkedText]
    edits: Callable[[Sequence[MarkedText]], Iterable[Edit]]


class SlotDocument:
    """A file with slots. `always` are edits that writing makes whatever the translations: names of languages."""

    def __init__(self, source: Editable, slots: Iterable[Slot], always: Sequence[Edit] = ()) -> None:
        self._source = source
        self._slots = [slot for slot in slots if slot.segments]
        self._always = always
        self.segments = [segment for slot in self._slots for segment in slot.segments]

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The file with a translation in the place of each segment."""
        if len(translations) != len(self.segments):
            raise ValueError(f"{len(translations)} translations for {len(self.segments)} segments")
        edits = list(self._always)
        taken = 0
        for slot in self._slots:
            count = len(slot.segments)
            edits += slot.edits(translations[taken : taken + count])
            taken += count
        return self._source.edited(edits)


def in_place(
    start: int, end: int, segments: Sequence[MarkedText], render: Callable[[Sequence[MarkedText]], str]
) -> Slot:
    """The slot of texts that their translations replace; the source of unchanged texts stays as it is written."""

    def edits(translations: Sequence[MarkedText]) -> list[Edit]:
        if list(translations) == list(segments):
            return []
        return [Edit(start, end, render(translations))]

    return Slot(segments, edits)


def source_of(text: MarkedText, escape: Callable[[str], str]) -> str:
    """The source of a text: strings are escaped, marks and kept parts written as their markup."""
    return "".join(
        escape(part)
        if isinstance(part, str)
        else str(part.markup)
        if part.markup is not None
        else escape(part.text)
        if isinstance(part, Kept)
        else ""
        for part in text.parts
    )
