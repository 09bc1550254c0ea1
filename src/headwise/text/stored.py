"""What a tokenizer is made of, its content hash, and its files.

`tokenizer.json` says what the tokenizer is and, for words and characters, holds the vocabulary;
`tokenizer.model` is the SentencePiece model; whatever else a kind is made of, such as the files of a published
tokenizer, lies beside them as `tokenizer.part.*`. The JSON is written last and carries the hash of all of it,
so a folder whose files do not belong together is noticed when it is read, not by bad translations.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.errors import CheckpointError
from headwise.files.atomic import write_bytes, write_json
from headwise.files.digest import bytes_digest

VERSION = 2
"""Of the file format; raised when an older Headwise could no longer read it. Tokenizers without settings and
files are still written as version 1, and have the fingerprint that they always had."""

JSON_NAME = "tokenizer.json"
MODEL_NAME = "tokenizer.model"
PART_PREFIX = "tokenizer.part."


@dataclass(frozen=True)
class Parts:
    """Everything that a tokenizer of some kind is built from; equal parts make equal tokenizers."""

    languages: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()
    """Words or characters, after the specials; empty where there is a model or nothing to learn."""
    model: bytes = b""
    """A serialised SentencePiece model; empty where there is none."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What JSON can hold: lossless, the ids of a published tokenizer's specials, ..."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Other content, by name."""

    @property
    def version(self) -> int:
        return 2 if self.settings or self.files else 1


def fingerprint(kind: str, parts: Parts) -> str:
    """A hash of all content: tokenizers with equal ones encode and decode alike."""
    content: list[Any] = [parts.version, kind, parts.languages, parts.vocabulary, bytes_digest(parts.model)]
    if parts.version > 1:
        content += [parts.settings, {name: bytes_digest(blob) for name, blob in parts.files.items()}]
    return bytes_digest(json.dumps(content, ensure_ascii=True, sort_keys=True).encode())


def write_parts(folder: Path, kind: str, parts: Parts) -> None:
    """Save into `folder`, which is made if need be; each file appears whole or not at all."""
    description: dict[str, Any] = {
        "version": parts.version,
        "kind": kind,
        "languages": parts.languages,
        "vocabulary": parts.vocabulary,
        "model_sha256": bytes_digest(parts.model) if parts.model else "",
        "fingerprint": fingerprint(kind, parts),
    }
    if parts.version > 1:
        description["settings"] = dict(parts.settings)
        description["files"] = {name: bytes_digest(blob) for name, blob in parts.files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    if parts.model:
        write_bytes(folder / MODEL_NAME, parts.model)
    for name, blob in parts.files.items():
        write_bytes(folder / (PART_PREFIX + name), blob)
    write_json(folder / JSON_NAME, description)
    if not parts.model:
        (folder / MODEL_NAME).unlink(missing_ok=True)
    for path in folder.glob(PART_PREFIX + "*"):
        if path.name.removeprefix(PART_PREFIX) not in parts.files:
            path.unlink(missing_ok=True)


def read_parts(folder: Path) -> tuple[str, Parts]:
    """The kind and the parts that `write_parts` saved, checked against their hash."""
    path = folder / JSON_NAME
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
    kind, languages, vocabulary = _fields(path, description)
    digest = description["model_sha256"]
    model = _read_checked(folder / MODEL_NAME, digest) if digest else b""
    settings, digests = description.get("settings", {}), description.get("files", {})
    if not isinstance(settings, dict) or not _names(digests):
        raise CheckpointError(f"{path} is damaged: settings or files are no tables")
    files = {name: _read_checked(folder / (PART_PREFIX + name), digests[name]) for name in digests}
    parts = Parts(languages, vocabulary, model, settings, files)
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


def _names(digests: object) -> bool:
    """Whether this is a table of file names, none of which leads out of the folder."""
    return isinstance(digests, dict) and not any("/" in name or "\\" in name for name in digests)


def _read_checked(path: Path, digest: str) -> bytes:
    content = _read(path)
    if bytes_digest(content) != digest:
        raise CheckpointError(
            f"{path} is damaged or belongs to another tokenizer: its hash is not the one in {JSON_NAME}"
        )
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: the folder holds no complete tokenizer") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
