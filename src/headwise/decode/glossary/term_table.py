"""Glossaries as tables: one term per line of a TSV or CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from headwise.data.read.languages import named_language
from headwise.data.read.records import Record, comma_separated, spreadsheet
from headwise.decode.glossary.entry import ALTERNATIVES, OPEN_END, SOURCE, TARGET, GlossaryConcept
from headwise.decode.glossary.units import units
from headwise.errors import DataError
from headwise.text.language.all_languages import ALL_LANGUAGES
from headwise.text.language.codes import short_code
from headwise.text.normalise import normalise

CASE, KEEP, NOTE = "case", "keep", "note"
_COLUMNS = {SOURCE, TARGET, CASE, KEEP, NOTE}
_YES, _NO = {"yes", "true", "1", "x"}, {"no", "false", "0", ""}


def read_tsv(path: Path) -> list[GlossaryConcept]:
    """The rows of a tab-separated glossary."""
    return _read(path, spreadsheet(path), "a tab")


def read_csv(path: Path) -> list[GlossaryConcept]:
    """The rows of a comma-separated glossary."""
    return _read(path, comma_separated(path), "a comma (or semicolon, as in the first line)")


def row_concept(row: Mapping[str, str], place: str) -> GlossaryConcept:
    """The terms of a row, given by column; a row that makes no sense is an error that names its place."""
    case_sensitive, marked = _flag(row, CASE, place), _flag(row, KEEP, place)
    terms = {name: _terms(row[name], place) for name in row if name not in (CASE, KEEP, NOTE) and row[name].strip()}
    if not terms:
        raise DataError(f"{place}: a line without a term")
    if SOURCE in row:
        if SOURCE not in terms:
            raise DataError(f"{place}: the source term is empty")
        if TARGET in terms and marked and terms[TARGET] != terms[SOURCE]:
            raise DataError(f"{place}: {row[SOURCE]!r} is not to be translated, but has a translation: remove one")
        marked = marked or TARGET not in terms
    elif OPEN_END in "".join(chain.from_iterable(terms.values())):
        # Each column may be the source; what is open in one direction would be text in the other.
        raise DataError(f"{place}: {OPEN_END} needs columns named source and target, not languages")
    if any(target.endswith(OPEN_END) for target in terms.get(TARGET, ())):
        raise DataError(f"{place}: {OPEN_END} stands after source terms only")
    return GlossaryConcept(terms, case_sensitive, marked, place)


def _read(path: Path, records: Iterable[Record], separator: str) -> list[GlossaryConcept]:
    rows: Iterator[Record] = ((number, fields) for number, fields in records if any(field.strip() for field in fields))
    first = next(rows, None)
    if first is None:
        return []
    columns = _header(first[1])
    if columns is None:
        columns, rows = [SOURCE, TARGET], chain([first], rows)
    concepts = []
    for number, fields in rows:
        place = f"{path}:{number}"
        if len(fields) > len(columns) and any(field.strip() for field in fields[len(columns) :]):
            raise DataError(
                f"{place}: {len(fields)} columns, but {len(columns)} are expected ({', '.join(columns)}); "
                "a first line with their names may have more: source, target, case, keep, note, or language codes"
            )
        if len(fields) == 1 and (TARGET in columns or SOURCE not in columns):  # more likely mistyped than meant
            raise DataError(
                f"{place}: {fields[0].strip()[:80]!r} is alone in its line: put {separator} between a term and its "
                "translation, and after a term that is not to be translated"
            )
        concepts.append(row_concept(dict(zip(columns, fields, strict=False)), place))
    return concepts


def _header(fields: Sequence[str]) -> list[str] | None:
    """The names of the columns, if this is a line of names; columns of languages have their codes."""
    given = [field.strip().casefold() for field in fields]
    names = [name if name in _COLUMNS else _language(name) for name in given]
    languages = [name for name in names if name not in _COLUMNS]
    if not all(names) or len(set(names)) < len(names):
        return None
    return names if SOURCE in names or len(languages) > 1 else None


def _language(name: str) -> str:
    """The code of a column of a language; empty if this is not the name of one."""
    return named_language(name) or (name if short_code(name) in ALL_LANGUAGES else "")


def _terms(cell: str, place: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(normalise(term) for term in cell.split(ALTERNATIVES)))
    check_terms(found, place)
    return found


def check_terms(terms: Iterable[str], place: str) -> None:
    """Refuse terms that are no words."""
    for term in terms:
        if not any(unit.is_word for unit in units(term)):
            raise DataError(f"{place}: the term {term!r} has no letters or digits")


def _flag(row: Mapping[str, str], column: str, place: str) -> bool:
    value = row.get(column, "").strip().casefold()
    if value not in _YES | _NO | {column}:
        raise DataError(f"{place}: the column {column!r} must be yes or no, not {value!r}")
    return value in _YES | {column}
