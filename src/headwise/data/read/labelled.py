"""Labelled text for classification: columns of a file as examples, and labels as numbers."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headwise.config import ClassifyConfig, CorpusConfig, DataConfig
from headwise.data.read.files import format_suffix
from headwise.data.read.paths import recipe_path
from headwise.data.read.records import comma_separated, json_objects, tab_separated
from headwise.errors import DataError

USUAL = ("sentence", "text")
"""Names of the column with the text, if the recipe gives none."""

Row = Mapping[str, Any]
"""The fields of a record by the name of their column, or by its number as a string if there is no header."""


class Example(NamedTuple):
    """A text, or two, with its label."""

    first: str
    second: str | None
    label: str
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def read_labelled(corpus: CorpusConfig, data: DataConfig, columns: ClassifyConfig) -> Iterator[Example]:
    """All examples of a corpus, in the order of its files."""
    if not corpus.labelled:
        raise DataError("a corpus for classification names no files: give `labelled`")
    for name in corpus.labelled:
        path = recipe_path(data.folder, name)
        for line, row in _reader(path)(path, columns.header):
            where = f"{path}:{line}"
            first = _text(row, columns.text or _usual(row), "text", where)
            second = _text(row, columns.pair, "pair", where) if columns.pair else None
            yield Example(first, second, _label(row, columns.label, where), str(path), line)


def class_names(examples: Iterable[Example]) -> tuple[str, ...]:
    """The labels that occur, sorted by value if all are numbers, else as text."""
    labels = {example.label for example in examples}
    if len(labels) < 2:
        raise DataError(f"classification needs at least two classes; the training data has {sorted(labels)}")
    values = {label: _number(label) for label in labels}
    if None in values.values():
        return tuple(sorted(labels))
    return tuple(sorted(labels, key=lambda label: (values[label] or 0.0, label)))


def class_numbers(classes: Sequence[str]) -> Callable[[Example], float]:
    """A function that gives the number of an example's class."""
    numbers = {name: number for number, name in enumerate(classes)}

    def number(example: Example) -> float:
        if example.label not in numbers:
            known = ", ".join(classes[:10])
            raise DataError(f"{example.where}: the label {example.label!r} is not in the training data ({known})")
        return numbers[example.label]

    return number


def value(example: Example) -> float:
    """The label of an example as a number, for regression."""
    number = _number(example.label)
    if number is None:
        raise DataError(f"{example.where}: the label {example.label!r} is not a number")
    return number


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _tsv_rows(path: Path, header: bool) -> Iterator[tuple[int, Row]]:
    return _named(((number, fields) for number, fields in tab_separated(path) if "".join(fields).strip()), header)


def _csv_rows(path: Path, header: bool) -> Iterator[tuple[int, Row]]:
    return _named(comma_separated(path), header)


def _json_rows(path: Path, header: bool) -> Iterator[tuple[int, Row]]:
    return json_objects(path)


FORMATS: dict[str, Callable[[Path, bool], Iterator[tuple[int, Row]]]] = {
    ".tsv": _tsv_rows,
    ".tab": _tsv_rows,
    ".txt": _tsv_rows,
    ".csv": _csv_rows,
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".json": _json_rows,
}
"""How a file of labelled text is read, by its extension (before that of a compression)."""


def _reader(path: Path) -> Callable[[Path, bool], Iterator[tuple[int, Row]]]:
    try:
        return FORMATS[format_suffix(path)]
    except KeyError:
        known = ", ".join(FORMATS)
        raise DataError(
            f"{path}: unknown extension; labelled text can be {known} (also .gz, .xz, .bz2, .zst)"
        ) from None


def _named(rows: Iterator[tuple[int, list[str]]], header: bool) -> Iterator[tuple[int, Row]]:
    names: list[str] | None = None
    for number, fields in rows:
        if header and names is None:
            names = [field.strip() for field in fields]
        elif names is None:
            yield number, {str(i): field for i, field in enumerate(fields)}
        else:
            yield number, dict(zip(names, fields, strict=False))


def _usual(row: Row) -> str:
    """The name of the column that most likely holds the text."""
    return next((name for name in USUAL if name in row), USUAL[0])


def _cell(row: Row, column: str, key: str, where: str) -> Any:
    """The field in a column given by its name, or else by its number."""
    if column in row:
        return row[column]
    if column.isdecimal() and int(column) < len(row):
        return list(row.values())[int(column)]
    known = ", ".join(map(repr, row)) or "none"
    raise DataError(f"{where}: no column {column!r}; there are: {known}. Choose with classify.{key}=NAME")


def _text(row: Row, column: str, key: str, where: str) -> str:
    text = _cell(row, column, key, where)
    if not isinstance(text, str):
        raise DataError(f"{where}: column {column!r} is not text")
    if not text.strip():
        raise DataError(f"{where}: the text in column {column!r} is empty")
    return text


def _label(row: Row, column: str, where: str) -> str:
    label = _cell(row, column, "label", where)
    if isinstance(label, bool | int | float):
        label = json.dumps(label)
    if not isinstance(label, str) or not label.strip():
        raise DataError(f"{where}: the label in column {column!r} is empty, or neither text nor a number")
    return label.strip()
