"""What a tokenizer is made of, its content hash, and its two files.

`tokenizer.json` says what the tokenizer is and, for words and characters, holds the vocabulary;
`tokenizer.model` is the SentencePiece model. The JSON is written last and carries the hash of all of it,
so a folder whose files do not belong together is noticed when it is read, not by bad translations.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.atomic import write_bytes, write_json
from headwise.errors import CheckpointError

VERSION = 1
"""Of the file format; raised when an older Headwise could no longer read it."""

JSON_NAME = "tokenizer.json"
MODEL_NAME = "tokenizer.model"


@dataclass(frozen=True)
class Parts:
    """Everything that a tokenizer of some kind is built from; equal parts make equal tokenizers."""

    languages: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()
    """Words or characters, after the specials; empty where there is a model or nothing to learn."""
    model: bytes = b""
    """A serialised SentencePiece model; empty where there is none."""


def fingerprint(kind: str, parts: Parts) -> str:
    """A hash of all content: tokenizers with equal ones encode and decode alike."""
    content = [VERSION, kind, parts.languages, parts.vocabulary, _sha(parts.model)]
    return _sha(json.dumps(content, ensure_ascii=True).encode())


def write_parts(folder: Path, kind: str, parts: Parts) -> None:
    """Save into `folder`, which is made if need be; each file appears whole or not at all."""
    description = {
        "version": VERSION,
        "kind": kind,
        "languages": parts.languages,
        "vocabulary": parts.vocabulary,
        "model_sha256": _sha(parts.model) if parts.model else "",
        "fingerprint": fingerprint(kind, parts),
    }
    folder.mkdir(parents=True, exist_ok=True)
    if parts.model:
        write_bytes(folder / MODEL_NAME, parts.model)
    write_json(folder / JSON_NAME, description)
    if not parts.model:
        (folder / MODEL_NAME).unlink(missing_ok=True)


def read_parts(folder: Path) -> tuple[str, Parts]:
    """The kind and the parts that `write_parts` saved, checked against their hash."""
    path = folder / JSON_NAME
    try:
        description = json.loads(_read(path))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    if not isinstance(description, dict):
        raise CheckpointError(f"{path} is damaged: it does not describe a tokenizer")
    version = description.get("version")
    if isinstance(version, int) and version > VERSION:
        raise CheckpointError(
            f"{path} was written by a newer Headwise (format {version}, this one reads up to {VERSION}): "
            "install a newer Headwise"
        )
    kind, languages, vocabulary = _fields(path, description)
    digest = description["model_sha256"]
    model = _read(folder / MODEL_NAME) if digest else b""
    if digest and _sha(model) != digest:
        raise CheckpointError(
            f"{folder / MODEL_NAME} is damaged or belongs to another tokenizer: its hash is not the one in {JSON_NAME}"
        )
    parts = Parts(languages, vocabulary, model)
    if fingerprint(kind, parts) != description["fingerprint"]:
        raise CheckpointError(f"{path} is damaged: its content does not have the hash that it names")
    return kind, parts


def _fields(path: Path, description: Mapping[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    for name in ("kind", "model_sha256", "fingerprint"):
        if not isinstance(description.get(name), str):
            raise CheckpointError(f"{path} is damaged: {name} is missing or no text")
    for name in ("languages", "vocabulary"):
        items = description.get(name)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise CheckpointError(f"{path} is damaged: {name} is missing or no list of texts")
    return description["kind"], tuple(description["languages"]), tuple(description["vocabulary"])


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: the folder holds no complete tokenizer") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
