"""The content of a tokenizer, its fingerprint, and its files.

`tokenizer.json` names the kind and, for words and characters, holds the vocabulary; `tokenizer.model` is the
SentencePiece model; whatever else a kind is made of, such as the files of a published tokenizer, lies beside them
as `tokenizer.part.*`. The JSON is written last and carries the digest of all of it, so that files that do not
belong together are noticed when they are read, not by bad translations.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from headwise.errors import CheckpointError
from headwise.files.atomic import write_bytes, write_json
from headwise.files.digest import bytes_digest

VERSION = 1
"""Number of the file format, raised when an older Headwise could no longer read it."""

JSON_NAME = "tokenizer.json"
MODEL_NAME = "tokenizer.model"
PART_PREFIX = "tokenizer.part."


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
    described = [VERSION, kind, parts.languages, parts.vocabulary, bytes_digest(parts.model), parts.settings, files]
    return bytes_digest(json.dumps(described, ensure_ascii=True, sort_keys=True).encode())


def write_parts(folder: Path, kind: str, parts: Parts) -> None:
    """Save a tokenizer into `folder`, which is created if need be; each file is written atomically."""
    description: dict[str, Any] = {
        "version": VERSION,
        "kind": kind,
        "languages": parts.languages,
        "vocabulary": parts.vocabulary,
        "model_sha256": bytes_digest(parts.model) if parts.model else "",
        "settings": dict(parts.settings),
        "files": {name: bytes_digest(content) for name, content in parts.files.items()},
        "fingerprint": fingerprint(kind, parts),
    }
    folder.mkdir(parents=True, exist_ok=True)
    if parts.model:
        write_bytes(folder / MODEL_NAME, parts.model)
    for name, content in parts.files.items():
        write_bytes(folder / (PART_PREFIX + name), content)
    write_json(folder / JSON_NAME, description)
    if not parts.model:
        (folder / MODEL_NAME).unlink(missing_ok=True)
    for path in folder.glob(PART_PREFIX + "*"):
        if path.name.removeprefix(PART_PREFIX) not in parts.files:
            path.unlink(missing_ok=True)


def read_parts(folder: Path) -> tuple[str, Parts]:
    """The kind and the parts that `write_parts` saved, checked against their fingerprint."""
    path = folder / JSON_NAME
    description = _description(path)
    for name in ("kind", "model_sha256", "fingerprint"):
        if not isinstance(description.get(name), str):
            raise CheckpointError(f"{path} is damaged: {name} is missing or not a string")
    for name in ("languages", "vocabulary"):
        items = description.get(name)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise CheckpointError(f"{path} is damaged: {name} is missing or not a list of strings")
    settings, digests = description.get("settings"), description.get("files")
    if not isinstance(settings, dict) or not _are_file_names(digests):
        raise CheckpointError(f"{path} is damaged: settings or files are missing or not tables")
    digest = description["model_sha256"]
    parts = Parts(
        tuple(description["languages"]),
        tuple(description["vocabulary"]),
        _read_checked(folder / MODEL_NAME, digest) if digest else b"",
        settings,
        {name: _read_checked(folder / (PART_PREFIX + name), digests[name]) for name in digests},
    )
    if fingerprint(description["kind"], parts) != description["fingerprint"]:
        raise CheckpointError(f"{path} is damaged: its content does not match its fingerprint")
    return description["kind"], parts


def _description(path: Path) -> dict[str, Any]:
    try:
        description = json.loads(_read(path))
    except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise CheckpointError(f"{path} is damaged: {error}") from None
    if not isinstance(description, dict):
        raise CheckpointError(f"{path} is damaged: it does not describe a tokenizer")
    version = description.get("version")
    if isinstance(version, int) and version > VERSION:
        raise CheckpointError(
            f"{path} was written by a newer Headwise (format {version}, this one reads up to {VERSION}): "
            "install a newer Headwise"
        )
    return description


def _are_file_names(digests: object) -> TypeGuard[dict[str, str]]:
    """Whether this is a table of file names, none of which leads out of the folder."""
    return isinstance(digests, dict) and not any("/" in name or "\\" in name for name in digests)


def _read_checked(path: Path, digest: str) -> bytes:
    content = _read(path)
    if bytes_digest(content) != digest:
        raise CheckpointError(
            f"{path} is damaged or belongs to another tokenizer: its digest is not the one in {JSON_NAME}"
        )
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: the folder holds no complete tokenizer") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
