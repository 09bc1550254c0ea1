"""Glossary: the terms of a file or a dictionary, which translations render as requested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headwise.data.read.files import format_suffix
from headwise.decode.glossary.entry import SOURCE, TARGET, GlossaryConcept
from headwise.decode.glossary.tbx import read_tbx
from headwise.decode.glossary.term_index import TermIndex
from headwise.decode.glossary.term_table import read_csv, read_tsv, row_concept
from headwise.errors import DataError
from headwise.files.digest import table_digest
from headwise.text.language.codes import Direction

Read = Callable[[Path], list[GlossaryConcept]]

READERS: dict[str, Read] = {".tsv": read_tsv, ".txt": read_tsv, ".csv": read_csv, ".tbx": read_tbx, ".xml": read_tbx}
"""Reader of a glossary by the extension of its file."""


class Glossary:
    """Terms and their requested translations. It is immutable, and may serve several translators.

    `Glossary({"engine": "Motor"})` applies to every direction; `Glossary.read` takes a file.
    """

    def __init__(self, terms: Mapping[str, str | Sequence[str]] | Sequence[GlossaryConcept]) -> None:
        if isinstance(terms, Mapping):
            terms = [_concept(source, targets) for source, targets in terms.items()]
        self._concepts = tuple(terms)
        self._indices: dict[Direction, TermIndex] = {}
        self.digest: str = table_digest([_row(each) for each in self._concepts])
        """Digest of the content."""
        if all(SOURCE in each.terms for each in self._concepts):
            self.index(("", ""))  # contradictions, where the direction does not matter

    @classmethod
    def read(cls, *paths: str | Path) -> Glossary:
        """Read a glossary from TSV, CSV or TBX files, which may be compressed."""
        return cls([concept for path in paths for concept in _concepts(Path(path))])

    def index(self, direction: Direction) -> TermIndex:
        """The terms of a direction; two that contradict each other are an error."""
        if direction not in self._indices:
            entries = [entry for concept in self._concepts for entry in concept.entries(direction)]
            self._indices[direction] = TermIndex(entries)
        return self._indices[direction]

    def check(self, direction: Direction) -> None:
        """Refuse a glossary that has no terms for a direction, or contradictory ones."""
        if not len(self.index(direction)):
            names = sorted({name for each in self._concepts for name in each.terms})
            first = self._concepts[0].place.rpartition(":")[0] if self._concepts else "the glossary"
            raise DataError(
                f"{first}: no terms from {direction[0] or 'a language that the model does not name'} to "
                f"{direction[1] or 'another'}; the languages are {', '.join(names) or 'not named'}"
            )

    def __len__(self) -> int:
        return len(self._concepts)

    def __repr__(self) -> str:
        return f"Glossary({len(self):,} terms)"


def _concepts(path: Path) -> list[GlossaryConcept]:
    reader = READERS.get(format_suffix(path))
    if reader is None:
        raise DataError(f"{path}: a glossary is a file with the extension .tsv, .csv or .tbx")
    concepts = reader(path)
    if not concepts:
        raise DataError(f"{path}: there are no terms in this file")
    return concepts


def _concept(source: str, targets: str | Sequence[str]) -> GlossaryConcept:
    listed = (targets,) if isinstance(targets, str) else tuple(targets)
    return row_concept({SOURCE: source, TARGET: "|".join(listed)}, f"the term {source!r}")


def _row(concept: GlossaryConcept) -> list[object]:
    return [sorted(concept.terms.items()), concept.case_sensitive, concept.keeps]
