"""The content of a tokenizer, its fingerprint, and its files.

`tokenizer.json` names the kind and, for words and characters, holds the vocabulary; `tokenizer.model` is the
SentencePiece model; other content, such as the files of a published tokenizer, is saved as `tokenizer.part.*`. The
JSON file is written last and holds the digests of the others, so that files that do not belong together are refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.atomic import write_bytes
from headwise.files.digest import bytes_digest
from headwise.files.tables import FORMAT, check_format, digest_mismatch, read_table, write_table

JSON_NAME = "tokenizer.json"
MODEL_NAME = "tokenizer.model"
PART_PREFIX = "tokenizer.part."
_KEYS = ("kind", "languages", "vocabulary", "settings", "files")


@dataclass(frozen=True)
class Parts:
    """The content that a tokenizer is built from; equal parts make equal tokenizers."""

    languages: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()
    """Words or characters, after the specials; empty where there is a model or nothing to learn."""
    model: bytes = b""
    """A serialised SentencePiece model; empty where there is none."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """JSON values: whether it is lossless, the special ids of a published tokenizer, ..."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Other content, by name."""


def fingerprint(kind: str, parts: Parts) -> str:
    """A digest of all content: tokenizers with equal fingerprints encode and decode alike."""
    files = {name: bytes_digest(content) for name, content in parts.files.items()}
    described = [FORMAT, kind, parts.languages, parts.vocabulary, bytes_digest(parts.model), parts.settings, files]
    return bytes_digest(json.dumps(described, ensure_ascii=True, sort_keys=True).encode())


def write_parts(folder: Path, kind: str, parts: Parts) -> None:
    """Save a tokenizer into `folder`, which is created if need be; each file is written atomically."""
    files = {MODEL_NAME: parts.model} if parts.model else {}
    files |= {PART_PREFIX + name: content for name, content in parts.files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_bytes(folder / name, content)
    description = {
        "format": FORMAT,
        "kind": kind,
        "languages": parts.languages,
        "vocabulary": parts.vocabulary,
        "settings": dict(parts.settings),
        "files": {name: bytes_digest(content) for name, content in files.items()},
    }
    write_table(folder / JSON_NAME, description)
    for path in [folder / MODEL_NAME, *folder.glob(PART_PREFIX + "*")]:
        if path.name not in files:
            path.unlink(missing_ok=True)


def read_parts(folder: Path) -> tuple[str, Parts]:
    """The kind and the parts that `write_parts` saved; a CheckpointError names a file that is missing or damaged."""
    path = folder / JSON_NAME
    description = read_table(path)
    check_format(path, description)
    try:
        kind, languages, vocabulary, settings, digests = (description[key] for key in _KEYS)
        files = {name: _read(folder, name, digest) for name, digest in digests.items()}
        model = files.pop(MODEL_NAME, b"")
        parts = {name.removeprefix(PART_PREFIX): content for name, content in files.items()}
        return str(kind), Parts(tuple(languages), tuple(vocabulary), model, dict(settings), parts)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CheckpointError(f"{path}: damaged: it does not describe a tokenizer") from None


def _read(folder: Path, name: str, digest: str) -> bytes:
    if "/" in name or "\\" in name:  # it must not lead out of the folder
        raise ValueError(name)
    try:
        content = (folder / name).read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{folder / name}: missing") from None
    except OSError as error:
        raise CheckpointError(f"{folder / name}: cannot be read: {error.strerror}") from None
    if bytes_digest(content) != digest:
        raise digest_mismatch(folder / name)
    return content
