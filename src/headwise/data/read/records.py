"""Records of text files: the fields of tab-separated and CSV lines, and JSON objects, one per line."""

import contextlib
import csv
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from headwise.data.read.files import numbered_lines
from headwise.errors import DataError

PROBE = 1000
"""The number of lines from which the style of quoting is inferred."""

SEPARATORS = ",;\t"
"""The separators that a CSV file may have."""

_NAMED_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""A first line that tells Excel the separator."""

Record = tuple[int, list[str]]
"""The number of a record's first line, and its fields."""


def tab_separated(path: Path) -> Iterator[Record]:
    """The fields of each line, exactly as they are: a quotation mark is part of the text."""
    return ((number, line.split("\t")) for number, line in numbered_lines(path))


def spreadsheet(path: Path) -> Iterator[Record]:
    """The fields of each line of a tab-separated file, unquoted if a spreadsheet program has quoted them."""
    records = tab_separated(path)
    first = list(islice(records, PROBE))
    records = chain(first, records)
    if not _has_spreadsheet_quotes([fields for _, fields in first]):
        return records
    return ((number, [_unquoted(field) for field in fields]) for number, fields in records)


def comma_separated(path: Path) -> Iterator[Record]:
    """The fields of each CSV record that is not empty.

    A field in quotation marks may hold separators, line breaks and doubled quotation marks. The separator is a comma,
    or the semicolon or tab that spreadsheet programs write in many countries: see `_separator`.
    """
    lines = (f"{line}\n" for _, line in numbered_lines(path))
    first_lines = list(islice(lines, PROBE))
    if not first_lines:
        return
    named = _NAMED_SEPARATOR.fullmatch(first_lines[0])
    separator = named[1] if named else _separator(first_lines)
    records = csv.reader(chain(first_lines, lines), strict=True, delimiter=separator)
    if named:
        next(records)
    first = records.line_num + 1
    while True:
        try:
            fields = next(records, None)
        except csv.Error as error:
            raise DataError(f"{path}:{first}: not valid CSV: {error}") from None
        if fields is None:
            return
        if any(fields):
            yield first, fields
        first = records.line_num + 1


def _separator(lines: Sequence[str]) -> str:
    """The separator by which most records have as many fields as the first one, and more than one; else the comma."""

    def alike(separator: str) -> int:
        widths: list[int] = []
        with contextlib.suppress(csv.Error):  # the reader of the file reports it
            widths += (len(fields) for fields in csv.reader(lines, delimiter=separator) if any(fields))
        return widths.count(widths[0]) if widths and widths[0] > 1 else 0

    return max(SEPARATORS, key=alike)  # the first of equals


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON object on each line that is not empty, with the number of the line."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(f"{path}:{number}: not a JSON object on one line: {problem}") from None
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}: expected a JSON object, one on each line")
        yield number, value


_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def _unquoted(field: str) -> str:
    found = _QUOTED.fullmatch(field)
    return found[1].replace('""', '"') if found else field


def _has_spreadsheet_quotes(rows: Sequence[Sequence[str]]) -> bool:
    """Whether quotation marks are the file format's and not the text's.

    In text, a field may open with a quotation mark and not end with one. Spreadsheet programs write marks around all
    fields, or around every field that holds a mark, and double the marks in it; some also where there is a comma.
    """
    fields = list(filter(None, chain.from_iterable(rows)))
    opened = [field for field in fields if field.startswith('"')]
    if not opened or not all(map(_QUOTED.fullmatch, opened)):
        return False
    plain = "\t".join(field for field in fields if not field.startswith('"'))
    if not plain or all(field.startswith('"') for field in rows[0]):
        return True
    if '"' in plain:
        return False
    return '""' in "\t".join(field[1:-1] for field in opened) or ("," not in plain and all("," in f for f in opened))
