"""Names of sheets: translated where nothing in the file refers to them, and kept valid and different."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from headwise.documents.marked_text import MarkedText
from headwise.documents.office.replacements import Piece, Replacement, SourceSpan
from headwise.documents.xml_source import escape_attribute

LONGEST = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")


def names_in_formulas(names: Iterable[str], sources: Iterable[bytes], separators: str) -> set[str]:
    """Names of sheets to which any of the sources may refer: the name stands before one of the separators there.

    A text with such a name counts as well. That leaves a name as it is, while to miss a reference breaks a formula.
    """
    spellings = {_spelling(name): name for name in names}
    ends = re.escape(separators)
    choices = "|".join(re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True))
    pattern = re.compile(rf"""({choices})(?=(?:'|&apos;|&#39;|&quot;)?[{ends}])|\ssheet=["']({choices})["']""")
    return {
        spellings[found[1] or found[2]]
        for source in sources
        for found in (pattern.finditer(source.decode("utf-8", "replace")) if spellings else ())
    }


def _spelling(name: str) -> str:
    return escape(name.replace("'", "''"), quote=False)


@dataclass(frozen=True)
class SheetName:
    """The name of a sheet, from byte `start` to before byte `end`."""

    name: str
    start: int
    end: int
    is_translated: bool


class SheetNames:
    """All names of sheets as one place, since no two may become the same."""

    def __init__(self, names: Sequence[SheetName]) -> None:
        self.names = names
        self.texts = [MarkedText([name.name]) for name in names if _is_text(name)]

    def replacement(self, translations: Sequence[MarkedText]) -> Replacement:
        """The file from the first name to the last."""
        new = self.renamed(translations)
        pieces: list[Piece] = []
        position = start = self.names[0].start
        for name in self.names:
            if name.name in new:
                pieces += [SourceSpan(position, name.start), escape_attribute(new[name.name])]
                position = name.end
        return Replacement(start, max(position, start), tuple(pieces))

    def renamed(self, translations: Sequence[MarkedText]) -> dict[str, str]:
        """The new names by the old ones, of those that are texts."""
        taken = {name.name.casefold() for name in self.names if not _is_text(name)}
        new: dict[str, str] = {}
        for name, translation in zip(filter(_is_text, self.names), translations, strict=True):
            new[name.name] = _valid(translation.text, name.name, taken)
            taken.add(new[name.name].casefold())
        return new


def _is_text(name: SheetName) -> bool:
    return name.is_translated and name.name == name.name.strip() and any(map(str.isalpha, name.name))


def _valid(text: str, old: str, taken: set[str]) -> str:
    """A name that spreadsheet programs accept and that is not taken."""
    cleaned = _FORBIDDEN.sub(" ", text)[:LONGEST].strip(" '") or old
    name, number = cleaned, 2
    while name.casefold() in taken:
        ending = f" {number}"
        name, number = cleaned[: LONGEST - len(ending)] + ending, number + 1
    return name
