"""Search for the terms of a glossary in a text: by words, longest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headwise.decode.glossary.entry import ALTERNATIVES, OPEN_END, GlossaryEntry
from headwise.decode.glossary.units import Unit, folded_units, units
from headwise.errors import DataError
from headwise.text.word_forms import folded

Key = tuple[str, ...]
"""Units of a term."""


@dataclass(frozen=True)
class FoundTerm:
    """A term of a glossary in a text."""

    entry: GlossaryEntry
    text: str
    """The term as it is written here."""
    start: int
    end: int

    @property
    def requested(self) -> tuple[str, ...]:
        """The texts of which a translation must contain one."""
        return self.entry.targets or (self.text,)


class TermIndex:
    """The terms of one direction, by their words; entries that contradict each other are an error."""

    def __init__(self, entries: Iterable[GlossaryEntry]) -> None:
        self._exact: dict[Key, GlossaryEntry] = {}
        self._cased: dict[Key, GlossaryEntry] = {}
        self._open: dict[Key, GlossaryEntry] = {}
        """Terms whose last word may go on."""
        self._open_cased: dict[Key, GlossaryEntry] = {}
        self._lengths: dict[str, set[int]] = {}
        """Lengths of the terms that begin with a unit."""
        self._open_lengths: set[int] = set()
        for entry in entries:
            self._add(entry)

    def __len__(self) -> int:
        return sum(map(len, (self._exact, self._cased, self._open, self._open_cased)))

    def find(self, text: str) -> list[FoundTerm]:
        """The terms in a text from left to right; those that overlap a longer one, or an earlier one, are left out."""
        if not len(self):
            return []
        listed = units(text)
        plain = [folded(unit.text) for unit in listed]
        found, place = [], 0
        while place < len(listed):
            entry, length = self._longest(listed, plain, place)
            if entry is not None:
                start, end = listed[place].start, listed[place + length - 1].end
                found.append(FoundTerm(entry, text[start:end], start, end))
            place += length
        return found

    def _longest(self, listed: Sequence[Unit], plain: Sequence[str], place: int) -> tuple[GlossaryEntry | None, int]:
        """The longest term that begins at a unit, and its length; None and 1 where there is none."""
        for length in sorted(self._lengths.get(plain[place], set()) | self._open_lengths, reverse=True):
            if place + length > len(listed):
                continue
            key = tuple(plain[place : place + length])
            cased = tuple(unit.text for unit in listed[place : place + length])
            entry = self._cased.get(cased) or self._exact.get(key) or self._open_ended(cased, key)
            if entry is not None:
                return entry, length
        return None, 1

    def _open_ended(self, cased: Key, key: Key) -> GlossaryEntry | None:
        if len(key) not in self._open_lengths:
            return None
        for table, (*before, last) in ((self._open_cased, cased), (self._open, key)):
            begun = ((*before, last[:size]) for size in range(len(last), 0, -1))
            if (entry := next((table[each] for each in begun if each in table), None)) is not None:
                return entry
        return None

    def _add(self, entry: GlossaryEntry) -> None:
        source = entry.source.removesuffix(OPEN_END)
        key, cased = folded_units(source), tuple(unit.text for unit in units(source))
        if entry.source.endswith(OPEN_END):
            self._open_lengths.add(len(key))
            exact, sensitive = self._open, self._open_cased
        else:
            self._lengths.setdefault(key[0], set()).add(len(key))
            exact, sensitive = self._exact, self._cased
        if entry.case_sensitive:
            _put(sensitive, cased, entry)
        else:
            _put(exact, key, entry)


def _put(table: dict[Key, GlossaryEntry], key: Key, entry: GlossaryEntry) -> None:
    other = table.setdefault(key, entry)
    if set(other.targets) == set(entry.targets):
        return
    if entry.keeps or other.keeps:
        raise DataError(
            f"{entry.place}: {entry.source!r} is to be translated in one line and to be kept in another "
            f"({other.place}): remove one"
        )
    here, there = (ALTERNATIVES.join(each.targets) for each in (entry, other))
    raise DataError(
        f"{entry.place}: {entry.source!r} is {here!r} here, but {there!r} in {other.place}: remove one, or write both "
        f"in one line as {there}{ALTERNATIVES}{here}"
    )
