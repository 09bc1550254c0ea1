"""Documents as seen by the translator: some texts with markup, and the same file with other texts in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headwise.documents.marked_text import MarkedText


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a document: its languages, and which texts are wanted."""

    source: str | None = None
    """Code of the language to translate from; None: any."""
    target: str | None = None
    """Code of the language to translate to. Where a format names its language, writing sets this one; None: nothing
    that names a language changes."""
    again: bool = False
    """Also translate what has a translation already: entries of a PO, XLIFF or TMX file."""
    columns: tuple[str, ...] = ()
    """Columns of a table to translate, by heading or by number from 1; none given: the format decides."""


class Document(Protocol):
    """A file as its texts, in reading order, and the way back."""

    @property
    def segments(self) -> Sequence[MarkedText]:
        """The texts to translate: paragraphs, cells, messages, attributes. None is empty or without letters."""
        ...

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The file with a translation in the place of each segment. All other bytes are those that were read."""
        ...


Reader = Callable[[bytes, ReadOptions], Document]
"""Reads the bytes of a file; what cannot be read is a DataError that names no path: the caller knows it."""
