"""Preparing plain text for language models: one long row of tokens in a memory-mapped array.

A lossless tokenizer encodes each file as it is, line ends and all, and a file is a document. Other tokenizers encode
line by line, and an empty line or the end of a file ends a document. Documents are separated by EOS. Memory stays
small whatever the size: text is read, encoded and written one block at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from headwise.config import DataConfig, TextConfig
from headwise.data.prepare.disk_cache import cached
from headwise.data.prepare.encoded_corpus import Ids, id_type, map_array
from headwise.data.prepare.fingerprint import fingerprint, hash_files, tokenizer_settings
from headwise.data.prepare.progress import Throttle
from headwise.data.prepare.result import SourceFile
from headwise.data.read.files import numbered_lines
from headwise.data.read.text_files import text_blocks, text_paths
from headwise.errors import ConfigError, DataError
from headwise.files.atomic import write_json
from headwise.files.tables import read_json
from headwise.text.kinds import load_tokenizer, train_tokenizer
from headwise.text.tokenizer import Tokenizer

VERSION = 2
DESCRIPTION = "text.json"
LINES = 4096
HELD_OUT = 0.1
"""Share of the text, its end, that is held out for validation when no `valid` is given."""
MOST_HELD_OUT = 1 << 20
"""The most tokens that are held out."""


@dataclass(frozen=True)
class TokenText:
    """The tokens of several files, end to end."""

    ids: Ids
    files: tuple[str, ...]
    starts: tuple[int, ...]
    """The index of each file's first token."""

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, index: int) -> str:
        """The file of a token and its position there, for messages."""
        number = int(np.searchsorted(self.starts, index, side="right")) - 1
        return f"{self.files[number]}: token {index - self.starts[number]:,}"


@dataclass(frozen=True)
class PreparedText:
    folder: Path
    tokenizer: Tokenizer
    train: TokenText
    valid: TokenText
    test: tuple[TokenText, ...]
    """One for each test corpus of the recipe."""
    files: list[SourceFile]
    """Their `pairs` are lines here."""


@dataclass(frozen=True)
class TextPreparation:
    """The preparation of a recipe's text, before it is done: `key` names the result.

    A `tokenizer` that is given is used as it is; otherwise one is trained on the training text, with a mask token if
    `mask` is set. Validation uses the recipe's own text for it, or else the last tenth of the training text (at most a
    million tokens), which is then left out of training, but not of the tokenizer's training.
    """

    data: DataConfig
    text: TextConfig
    folder: Path
    say: Callable[[str], None]
    tokenizer: Tokenizer | None
    mask: bool
    parts: dict[str, list[Path]]
    """The files for training, for validation and of each test set."""
    hashes: dict[Path, str]
    key: str

    @classmethod
    def of(
        cls,
        data: DataConfig,
        text: TextConfig,
        folder: Path,
        say: Callable[[str], None],
        tokenizer: Tokenizer | None = None,
        *,
        mask: bool = False,
    ) -> "TextPreparation":
        """Hash the files of a recipe, unless `folder` knows their hashes; nothing else is read."""
        parts = {
            "train": text_paths(data.train, data),
            "valid": text_paths(data.valid, data),
            **{f"test-{number}": text_paths([corpus], data) for number, corpus in enumerate(data.test)},
        }
        if not parts["train"]:
            raise ConfigError("the recipe names no training text: give --text FILE, or `text` in data.train")
        hashes = hash_files([path for paths in parts.values() for path in paths], folder, say)
        trained = {**tokenizer_settings(text), "mask": mask}  # a causal model has another tokenizer
        key = fingerprint(
            {
                "version": VERSION,
                "parts": {name: [[str(path), hashes[path]] for path in paths] for name, paths in parts.items()},
                "text": trained if tokenizer is None else tokenizer.fingerprint,
            }
        )
        return cls(data, text, folder, say, tokenizer, mask, parts, hashes, key)

    def prepare(self) -> PreparedText:
        """The tokens of the text, from the cache if they are there."""
        return cached(self.folder, self.key, self.say, self._build, self._open)

    def _build(self, home: Path) -> None:
        tokenizer = self.tokenizer
        if tokenizer is None:
            self.say("training the tokenizer")
            tokenizer = train_tokenizer(self.text, _Lines(self.parts["train"]), (), self.mask)
            tokenizer.save(home / "tokenizer")
        throttle = Throttle(self.say)
        parts = {name: _encode(paths, home / f"{name}.bin", tokenizer, throttle) for name, paths in self.parts.items()}
        if not parts["train"]["tokens"]:
            raise DataError("there is no text in the training files")
        write_json(home / DESCRIPTION, parts)

    def _open(self, home: Path) -> PreparedText:
        tokenizer = self.tokenizer or load_tokenizer(home / "tokenizer")
        texts, lines = _open_arrays(home, self.parts)
        train, valid = (texts["train"], texts["valid"]) if self.data.valid else _hold_out_end(texts["train"])
        corpora = [("train", self.data.train), ("valid", self.data.valid), ("test", self.data.test)]
        files = [
            SourceFile(str(path), self.hashes[path], lines[path], corpus.licence, role)
            for role, listed in corpora
            for corpus in listed
            for path in text_paths([corpus], self.data)
        ]
        test = tuple(texts[name] for name in self.parts if name.startswith("test-"))
        return PreparedText(home, tokenizer, train, valid, test, files)


class _Lines:
    """The lines of files with their ends, as often as they are iterated: what a tokenizer learns from."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            for block in text_blocks(path):
                yield from block.splitlines(keepends=True)


def _encode(paths: Sequence[Path], target: Path, tokenizer: Tokenizer, throttle: Throttle) -> dict[str, Any]:
    """Write the tokens of files; returns their description."""
    kind = id_type(tokenizer.size)
    chunks = _kept_chunks if tokenizer.keeps_text else _line_chunks
    total = 0
    starts: list[int] = []
    lines: dict[str, int] = {}
    with target.open("wb") as stream:
        for path in paths:
            starts.append(total)
            count = 0
            for ids, new_lines in chunks(path, tokenizer):
                if total and ids and (starts[-1] == total):
                    total += _write(stream, [tokenizer.eos], kind)  # the last document of the file before ends
                total += _write(stream, ids, kind)
                count += new_lines
                throttle.tick(f"encoding {path}: {count:,} lines")
            lines[str(path)] = count
    return {"ids": kind.str, "tokens": total, "starts": starts, "lines": lines}


def _write(stream: IO[bytes], ids: Sequence[int], kind: np.dtype[Any]) -> int:
    stream.write(np.asarray(ids, kind).tobytes())
    return len(ids)


def _kept_chunks(path: Path, tokenizer: Tokenizer) -> Iterator[tuple[list[int], int]]:
    """The tokens of a file for a lossless tokenizer: block by block, with the number of lines in each."""
    for block in text_blocks(path):
        yield tokenizer.encode(block), block.count("\n") or 1


def _line_chunks(path: Path, tokenizer: Tokenizer) -> Iterator[tuple[list[int], int]]:
    """The tokens of a file line by line, in chunks with their number of lines; EOS replaces empty lines in between."""
    begun = ended = False
    lines = (line for _, line in numbered_lines(path))
    while chunk := list(islice(lines, LINES)):
        ids: list[int] = []
        for own in tokenizer.encode_batch(chunk):
            if not own:
                ended = begun
            else:
                ids += [tokenizer.eos, *own] if ended else own
                begun, ended = True, False
        yield ids, len(chunk)


def _open_arrays(home: Path, parts: dict[str, list[Path]]) -> tuple[dict[str, TokenText], dict[Path, int]]:
    """The text of each part, and the number of lines of each file."""
    description: Any = read_json(home / DESCRIPTION)
    texts: dict[str, TokenText] = {}
    lines: dict[Path, int] = {}
    for name, paths in parts.items():
        described = description[name]
        ids = map_array(home / f"{name}.bin", np.dtype(described["ids"]))
        texts[name] = TokenText(ids, tuple(map(str, paths)), tuple(described["starts"]))
        lines |= {path: described["lines"][str(path)] for path in paths}
    return texts, lines


def _hold_out_end(text: TokenText) -> tuple[TokenText, TokenText]:
    """Split a text into all but its end, and its end."""
    cut = max(int(len(text) * (1 - HELD_OUT)), len(text) - MOST_HELD_OUT)
    number = max(int(np.searchsorted(text.starts, cut, side="right")) - 1, 0)
    starts = tuple(start - cut for start in text.starts[number:])
    return TokenText(text.ids[:cut], text.files, text.starts), TokenText(text.ids[cut:], text.files[number:], starts)
