"""Whether inputs are the same as last time, without reading them again."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headwise.data.read.files import reading
from headwise.files.atomic import write_json

CACHE = "files.json"


def hash_files(paths: Sequence[Path], folder: Path, say: Callable[[str], None]) -> dict[Path, str]:
    """The SHA-256 of each file. If path, size and time are as before it is not read: `folder` knows it."""
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
                with path.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").hexdigest()
                entry = known[str(path.resolve())] = {"stamp": stamp, "sha256": digest}
                changed = True
        hashes[path] = entry["sha256"]
    if changed:
        write_json(folder / CACHE, {"files": known, "digest": fingerprint(known)})
    return hashes


def fingerprint(table: dict[str, Any]) -> str:
    """A short name for everything in a table of plain values."""
    text = json.dumps(table, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=12).hexdigest()


def _load(path: Path) -> dict[str, Any]:
    """The cache; a missing or damaged one is an empty one, as it can always be made again.

    Its digest matters: with a changed hash in it, data that are the same would be taken for others.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = table.get("files") if isinstance(table, dict) else None
    return known if isinstance(known, dict) and table.get("digest") == fingerprint(known) else {}
