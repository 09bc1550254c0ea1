"""Pairs as two columns of a tab-separated file."""

from collections.abc import Iterator
from pathlib import Path

from headwise.data.read.files import numbered_lines
from headwise.data.read.languages import best
from headwise.data.read.pair import Pair
from headwise.errors import DataError


def read_tsv(path: Path, source_language: str, target_language: str) -> Iterator[Pair]:
    """The first two columns, or those that a header line names by language or as `source` and `target`.

    Further columns (licences, scores) are ignored. An empty line is a pair of empty texts, so that the
    cleaning counts and reports it.
    """
    source, target = 0, 1
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if number == 1:
            columns = _header(fields, source_language, target_language)
            if columns:
                source, target = columns
                continue
        if len(fields) <= max(source, target):
            if line.strip():
                raise DataError(
                    f"{path}:{number}: {len(fields)} column(s), but a pair needs {max(source, target) + 1}, "
                    "separated by tabs"
                )
            fields = [""] * (max(source, target) + 1)
        yield Pair(fields[source], fields[target], str(path), number)


def _header(fields: list[str], source_language: str, target_language: str) -> tuple[int, int] | None:
    names = [field.strip().lower() for field in fields]
    for source_name, target_name in (("source", "target"), (source_language, target_language)):
        source, target = best(source_name, names), best(target_name, names)
        if source is not None and target is not None and source != target:
            return source, target
    return None
