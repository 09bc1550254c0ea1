"""Pairs as JSON lines: one object a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headwise.data.read.files import numbered_lines
from headwise.data.read.languages import best
from headwise.data.read.pair import Pair
from headwise.errors import DataError


def read_jsonl(path: Path, source_language: str, target_language: str) -> Iterator[Pair]:
    """Objects with the keys `source` and `target` or two language codes, or with such a `translation`."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(f"{path}:{number}: not a JSON object on one line: {problem}") from None
        where = f"{path}:{number}"
        table = value.get("translation", value) if isinstance(value, dict) else value
        if not isinstance(table, dict):
            raise DataError(f"{where}: expected a JSON object, one on each line")
        source = _text(table, "source", source_language, where)
        target = _text(table, "target", target_language, where)
        yield Pair(source, target, str(path), number)


def _text(table: dict[str, Any], role: str, language: str, where: str) -> str:
    key: str | None = role
    if role not in table:
        index = best(language, list(table))
        key = None if index is None else list(table)[index]
    if key is None:
        wanted = f"{role!r} or {language!r}" if language else repr(role)
        raise DataError(f"{where}: no key {wanted}; there are: {', '.join(map(repr, table)) or 'none'}")
    text = table[key]
    if not isinstance(text, str):
        raise DataError(f"{where}: the value of {key!r} is not a string")
    return text
