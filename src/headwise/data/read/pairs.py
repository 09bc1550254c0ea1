"""Sentence pairs, and their readers: two text files, columns of a table, JSON lines (TMX: see tmx.py)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from headwise.data.read.files import numbered_lines
from headwise.data.read.languages import best, named_language
from headwise.data.read.records import Record, comma_separated, json_objects, spreadsheet
from headwise.errors import DataError

Note = Callable[[str], None]
"""Receives remarks about a file that people should see."""


class Pair(NamedTuple):
    """A sentence pair and where it comes from."""

    source: str
    target: str
    file: str
    line: int
    """In the file of the source side, where the two sides are in two files."""


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """The pairs of two text files whose lines translate each other."""
    name = str(source)
    lines = zip_longest(numbered_lines(source), numbered_lines(target))
    for left, right in lines:
        if left is None or right is None:
            # One file has ended: count on to the end of the other, as both counts show what went wrong.
            longer = right if left is None else left
            assert longer is not None
            shorter_count = longer[0] - 1
            longer_count = longer[0] + sum(1 for _ in lines)
            counts = (shorter_count, longer_count) if left is None else (longer_count, shorter_count)
            raise DataError(
                f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}; "
                "line by line they must translate each other"
            )
        yield Pair(left[1], right[1], name, left[0])


def read_tsv(path: Path, source_language: str, target_language: str, note: Note) -> Iterator[Pair]:
    """The pairs of a tab-separated file (see `_from_columns`)."""
    return _from_columns(path, spreadsheet(path), "tabs", source_language, target_language, note)


def read_csv(path: Path, source_language: str, target_language: str, note: Note) -> Iterator[Pair]:
    """The pairs of a CSV file (see `_from_columns`)."""
    separators = "commas, semicolons or tabs"
    return _from_columns(path, comma_separated(path), separators, source_language, target_language, note)


def _from_columns(
    path: Path, records: Iterator[Record], separators: str, source: str, target: str, note: Note
) -> Iterator[Pair]:
    """The pairs in the columns that a header names, by language or as `source` and `target`, or in the first two.

    Further columns (licences, scores) are ignored. An empty line is a pair of empty texts, so that cleaning counts
    and reports it.
    """
    left, right = 0, 1
    for index, (number, fields) in enumerate(records):
        if index == 0:
            columns = _header(fields, source, target)
            if columns:
                left, right = columns
                continue
            if _looks_like_header(fields):
                named = " nor ".join([f"{source} and {target}"] * bool(source and target) + ["source and target"])
                note(
                    f"note: {path}: the first line looks like a header ({', '.join(fields)}), but it names neither "
                    f"{named}: it is taken for a pair, and pairs from the first two columns"
                )
        if len(fields) <= max(left, right):
            if any(field.strip() for field in fields):
                count = f"{len(fields)} column{'' if len(fields) == 1 else 's'}"
                needed = f"a pair needs {max(left, right) + 1}, separated by {separators}"
                raise DataError(f"{path}:{number}: {count}, but {needed}")
            fields = [""] * (max(left, right) + 1)
        yield Pair(fields[left], fields[right], str(path), number)


def _header(fields: Sequence[str], source: str, target: str) -> tuple[int, int] | None:
    """The columns of source and target if the fields are names of columns."""
    names = [field.partition("(")[0].strip().lower() for field in fields]
    codes = [named_language(name) or name for name in names]
    for wanted, given in (((source, target), codes), (("source", "target"), names)):
        left, right = (best(name, given) for name in wanted)
        if left is not None and right is not None and left != right:
            return left, right
    languages = [index for index, name in enumerate(names) if named_language(name)]
    if not source and not target and len(languages) == 2:
        return languages[0], languages[1]
    return None


_COLUMN_NAMES = {
    *("id", "nr", "number", "source", "target", "src", "tgt", "trg", "text", "sentence", "segment", "translation"),
    *("original", "score", "licence", "license", "url", "origin", "domain", "quelle", "ziel", "satz", "übersetzung"),
}


def _looks_like_header(fields: Sequence[str]) -> bool:
    names = [field.strip().lower() for field in fields]
    known = [name for name in names if name in _COLUMN_NAMES or named_language(name)]
    return len(known) > len(names) / 2 and all(len(name.split()) <= 3 for name in names)


def read_jsonl(path: Path, source_language: str, target_language: str, note: Note) -> Iterator[Pair]:
    """The pairs of JSON objects with language codes, or else `source` and `target`, as keys, or with such a
    `translation`."""
    for number, value in json_objects(path):
        table = value.get("translation", value)
        if not isinstance(table, dict):
            raise DataError(f"{path}:{number}: expected a JSON object, one on each line")
        keys = _json_keys(table, source_language, target_language, f"{path}:{number}")
        source, target = (_json_text(table, key, f"{path}:{number}") for key in keys)
        yield Pair(source, target, str(path), number)


def _json_keys(table: dict[str, Any], source: str, target: str, where: str) -> tuple[str, str]:
    keys = list(table)
    left, right = best(source, keys), best(target, keys)
    if left is not None and right is not None:
        return keys[left], keys[right]
    if "source" in table and "target" in table:
        return "source", "target"
    role, language = ("source", source) if left is None and "source" not in table else ("target", target)
    wanted = f"{role!r} or {language!r}" if language else f"{role!r}, and no --from and --to"
    raise DataError(f"{where}: no key {wanted}; there are: {', '.join(map(repr, table)) or 'none'}")


def _json_text(table: dict[str, Any], key: str, where: str) -> str:
    text = table[key]
    if not isinstance(text, str):
        raise DataError(f"{where}: the value of {key!r} is not a string")
    return text
