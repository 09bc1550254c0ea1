"""Fingerprints of input files and settings: whether inputs are the same as last time, without reading them again."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headwise.config import TextConfig
from headwise.data.read.files import reading
from headwise.errors import CheckpointError
from headwise.files.digest import file_digest, table_digest
from headwise.files.tables import read_table, write_table
from headwise.recipe import to_tables

CACHE = "files.json"


def hash_files(paths: Sequence[Path], folder: Path, say: Callable[[str], None]) -> dict[Path, str]:
    """SHA-256 of each file. One with the same path, size and time as before is looked up in `folder`, not read."""
    known = _load(folder / CACHE)
    hashes: dict[Path, str] = {}
    changed = False
    for path in dict.fromkeys(paths):
        with reading(path):
            status = path.stat()
            stamp = [status.st_size, status.st_mtime_ns]
            entry = known.get(str(path.resolve()))
            if entry is None or entry["stamp"] != stamp:
                if status.st_size > 1 << 28:
                    say(f"hashing {path}")
                entry = known[str(path.resolve())] = {"stamp": stamp, "sha256": file_digest(path)}
                changed = True
        hashes[path] = entry["sha256"]
    if changed:
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder / CACHE, {"files": known})
    return hashes


def fingerprint(table: dict[str, Any]) -> str:
    """Short name of a table of plain values, for a folder."""
    return table_digest(table, size=12)


def _load(path: Path) -> dict[str, Any]:
    """The known hashes; none if the cache is missing or damaged, as it can be made again.

    With a changed hash in it, files that are the same would be taken for others: hence the digest of the table.
    """
    try:
        known = read_table(path).get("files")
    except CheckpointError:
        return {}
    return known if isinstance(known, dict) else {}


def tokenizer_settings(text: TextConfig) -> dict[str, Any]:
    """The settings that a trained tokenizer, and what it encodes, depend on: not those of sampling in training."""
    return {key: value for key, value in to_tables(text).items() if key not in ("sampling", "candidates", "folder")}
