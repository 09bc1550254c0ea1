"""Journal of a document's translation: what is done is on disk, so that a killed command continues.

The file lies beside the output under a hidden name. Its first line identifies the work: the input, the model, the
options. Each further line holds the translations of some segments, one after the other. A line that a kill cut off is
dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from headwise.decode.glossary.rendering import TermUse
from headwise.documents.marked_text import MarkedText, Part
from headwise.files.atomic import disk_errors


class Stored(NamedTuple):
    """A translation, and what is to be told about it."""

    text: MarkedText
    notes: list[str]
    terms: tuple[TermUse, ...] = ()


def journal_path(output: Path) -> Path:
    """The path of the journal of an output."""
    return output.with_name(f".{output.name}.translating")


class Journal:
    """Translations of a document's segments, as far as they are done."""

    def __init__(self, path: Path, identity: dict[str, Any], segments: Sequence[MarkedText]) -> None:
        self._path = path
        self._segments = segments
        self.done: list[Stored] = []
        """The translations of the first segments."""
        head = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        kept = self._read(head)
        with disk_errors(path):
            self._file = path.open("r+b" if kept else "wb", buffering=0)  # a buffer would be written again at the end
            try:
                self._file.truncate(kept)
                self._file.seek(kept)
                if not kept:
                    self._write(head)
            except BaseException:
                self.close()
                raise

    def _read(self, head: str) -> int:
        """Read what an earlier start did; returns the number of bytes that are whole. 0: it did other work, or none."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return 0
        lines = data.split(b"\n")[:-1]
        if not lines or lines[0] != head.encode():
            return 0
        length = len(lines[0]) + 1
        for line in lines[1:]:
            try:
                rows = json.loads(line)
            except ValueError:
                break
            self.done += [
                Stored(_restored(parts, segment), notes, tuple(TermUse(use[0], tuple(use[1]), use[2]) for use in terms))
                for (parts, notes, terms), segment in zip(rows, self._segments[len(self.done) :], strict=False)
            ]
            length += len(line) + 1
        return length

    def add(self, translations: Sequence[Stored]) -> None:
        """Store the translations of the next segments."""
        following = self._segments[len(self.done) :]
        rows = [
            (_as_numbers(stored.text, segment), stored.notes, [astuple(use) for use in stored.terms])
            for stored, segment in zip(translations, following, strict=False)
        ]
        with disk_errors(self._path):
            self._write(json.dumps(rows, ensure_ascii=False))
        self.done += translations

    def _write(self, line: str) -> None:
        rest = memoryview(line.encode("utf-8", "surrogatepass") + b"\n")
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """Remove the file: the output is complete."""
        self.close()
        self._path.unlink(missing_ok=True)


def _as_numbers(text: MarkedText, segment: MarkedText) -> list[str | int]:
    """The parts of a translation; marks and kept parts as their numbers among those of the segment."""
    numbers: dict[int, list[int]] = {}
    others = [part for part in segment.parts if not isinstance(part, str)]
    for number, part in enumerate(others):
        numbers.setdefault(id(part), []).append(number)
    return [part if isinstance(part, str) else numbers[id(part)].pop(0) for part in text.parts]


def _restored(parts: Sequence[str | int], segment: MarkedText) -> MarkedText:
    others: list[Part] = [part for part in segment.parts if not isinstance(part, str)]
    return MarkedText(part if isinstance(part, str) else others[part] for part in parts)
