"""Plain text as one long row of tokens in a memory-mapped array: what language models are trained on.

A tokenizer that keeps text gets each file as it is, line ends and all, and a file is a document. For the others a
line is a unit, and an empty line or the end of a file ends a document. Between two documents stands `<eos>`.
Memory stays small whatever the text: it is read, encoded and written a block at a time.
"""

import codecs
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from headwise.config import CorpusConfig, DataConfig, TextConfig, to_tables
from headwise.data.prepare.disk_cache import cached
from headwise.data.prepare.encoded_corpus import Ids
from headwise.data.prepare.fingerprint import fingerprint, hash_files
from headwise.data.prepare.progress import Progress
from headwise.data.prepare.result import SourceFile
from headwise.data.read.files import MAX_LINE, numbered_lines, open_bytes, reading
from headwise.data.read.paths import recipe_path
from headwise.errors import ConfigError, DataError
from headwise.files.atomic import sync, write_json
from headwise.text.tokenizer import Tokenizer

VERSION = 1
MANIFEST = "text.json"
BLOCK = 1 << 18
LINES = 4096
HELD_OUT = 0.1
"""Share of the text, its end, that is held out for validation when no `valid` is given ..."""
MOST_HELD_OUT = 1 << 20
"""... and the most tokens of it."""


class TrainTokenizer(Protocol):
    def __call__(
        self, config: TextConfig, sentences: Iterable[str], languages: Sequence[str], mask: bool
    ) -> Tokenizer: ...


@dataclass(frozen=True)
class Text:
    """Tokens end to end, from several files."""

    ids: Ids
    files: tuple[str, ...]
    starts: tuple[int, ...]
    """The index of each file's first token."""

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, index: int) -> str:
        """The file of a token and its place there, for messages."""
        number = int(np.searchsorted(self.starts, index, side="right")) - 1
        return f"{self.files[number]}: token {index - self.starts[number]:,}"


@dataclass(frozen=True)
class PreparedText:
    folder: Path
    tokenizer: Tokenizer
    train: Text
    valid: Text
    test: tuple[Text, ...]
    """One for each test corpus of the recipe."""
    files: list[SourceFile]
    """Their `pairs` are lines here."""


def prepare_text(
    data: DataConfig,
    text: TextConfig,
    folder: Path,
    say: Callable[[str], None],
    tokenizer: Tokenizer | None = None,
    *,
    train_tokenizer: TrainTokenizer,
    load_tokenizer: Callable[[Path], Tokenizer],
    mask: bool = False,
) -> PreparedText:
    """The tokens of a recipe's text, from `folder` if they are there and up to date.

    A `tokenizer` that is given is used as it is; otherwise one is trained on the training text, with a token that
    hides others if `mask` asks for it. Validation is on
    the recipe's own text for it, or else on the last tenth of the training text (at most a million tokens), which
    is then left out of training - though not of the tokenizer's.
    """
    parts = {
        "train": text_paths(data.train, data),
        "valid": text_paths(data.valid, data),
        **{f"test-{number}": text_paths([corpus], data) for number, corpus in enumerate(data.test)},
    }
    if not parts["train"]:
        raise ConfigError("the recipe names no training text: give --text FILE, or `text` in data.train")
    folder.mkdir(parents=True, exist_ok=True)
    hashes = hash_files([path for paths in parts.values() for path in paths], folder, say)
    settings = {key: value for key, value in to_tables(text).items() if key not in ("sampling", "candidates", "folder")}
    if mask:  # the same text for a causal model has another tokenizer
        settings["mask"] = True
    key = fingerprint(
        {
            "version": VERSION,
            "parts": {name: [[str(path), hashes[path]] for path in paths] for name, paths in parts.items()},
            "text": settings if tokenizer is None else tokenizer.fingerprint,
        }
    )

    def build(home: Path) -> None:
        used = tokenizer
        if used is None:
            say("training the tokenizer")
            used = train_tokenizer(text, _Lines(parts["train"]), (), mask)
            used.save(home / "tokenizer")
        progress = Progress(say)
        described = {name: _encode(paths, home / f"{name}.bin", used, progress) for name, paths in parts.items()}
        if not described["train"]["tokens"]:
            raise DataError("there is no text in the training files")
        write_json(home / MANIFEST, {"tokenizer": used.fingerprint, "parts": described})
        sync(home)

    def open_folder(home: Path) -> PreparedText:
        used = tokenizer or load_tokenizer(home / "tokenizer")
        texts, lines = _open(home, parts, used)
        train, valid = (texts["train"], texts["valid"]) if data.valid else _held_out(texts["train"])
        corpora = [("train", data.train), ("valid", data.valid), ("test", data.test)]
        files = [
            SourceFile(str(path), hashes[path], lines[path], corpus.licence, role)
            for role, listed in corpora
            for corpus in listed
            for path in text_paths([corpus], data)
        ]
        test = tuple(texts[name] for name in parts if name.startswith("test-"))
        return PreparedText(home, used, train, valid, test, files)

    return cached(folder, key, say, build, open_folder)


def text_paths(corpora: Iterable[CorpusConfig], data: DataConfig) -> list[Path]:
    return [recipe_path(data.folder, name) for corpus in corpora for name in corpus.text]


def text_blocks(path: Path) -> Iterator[str]:
    """A file's text exactly, in blocks that end with a line; a byte order mark is left out."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    done = 0
    with reading(path), open_bytes(path) as stream:
        more = True
        while more:
            block = stream.read(BLOCK)
            more = bool(block)
            try:
                rest += decoder.decode(block, final=not more)
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                raise DataError(
                    f"{path}: not valid UTF-8 (byte 0x{byte:02x} near byte {done + error.start:,})"
                ) from None
            done += len(block)
            head, newline, tail = rest.rpartition("\n")
            if newline:
                yield head + newline
                rest = tail
            elif len(rest) > MAX_LINE:  # text without lines is cut where a block ends
                yield rest
                rest = ""
    if rest:
        yield rest


class _Lines:
    """The lines of files with their ends, as often as they are iterated: what a tokenizer learns from."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __iter__(self) -> Iterator[str]:
        for path in self.paths:
            for block in text_blocks(path):
                yield from block.splitlines(keepends=True)


def _encode(paths: Sequence[Path], target: Path, tokenizer: Tokenizer, progress: Progress) -> dict[str, Any]:
    """Write the tokens of files; returns what the manifest says of them."""
    kind = np.dtype("<u2" if tokenizer.size <= 1 << 16 else "<u4")
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
                progress.tick(f"encoding {path}: {count:,} lines")
            lines[str(path)] = count
        stream.flush()
        os.fsync(stream.fileno())
    return {"ids": kind.str, "tokens": total, "starts": starts, "lines": lines}


def _write(stream: IO[bytes], ids: Sequence[int], kind: np.dtype[Any]) -> int:
    stream.write(np.asarray(ids, kind).tobytes())
    return len(ids)


def _kept_chunks(path: Path, tokenizer: Tokenizer) -> Iterator[tuple[list[int], int]]:
    """The tokens of a file block by block, with the number of lines in each."""
    for block in text_blocks(path):
        yield tokenizer.encode(block), block.count("\n") or 1


def _line_chunks(path: Path, tokenizer: Tokenizer) -> Iterator[tuple[list[int], int]]:
    """The same, line by line; `<eos>` stands where empty lines stand between others."""
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


def _open(home: Path, parts: dict[str, list[Path]], tokenizer: Tokenizer) -> tuple[dict[str, Text], dict[Path, int]]:
    try:
        manifest = json.loads((home / MANIFEST).read_text(encoding="utf-8"))
        if manifest["tokenizer"] != tokenizer.fingerprint:
            raise DataError(f"{home}: encoded with another tokenizer")
        texts: dict[str, Text] = {}
        lines: dict[Path, int] = {}
        for name, paths in parts.items():
            described = manifest["parts"][name]
            kind = np.dtype(described["ids"])
            file = home / f"{name}.bin"
            if file.stat().st_size != described["tokens"] * kind.itemsize:
                raise DataError(f"{file}: damaged: it has not the size it should have")
            ids = np.memmap(file, kind, mode="r") if described["tokens"] else np.zeros(0, kind)
            texts[name] = Text(ids, tuple(map(str, paths)), tuple(described["starts"]))
            lines |= {path: described["lines"][str(path)] for path in paths}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{home}: incomplete: {error}") from None
    return texts, lines


def _held_out(text: Text) -> tuple[Text, Text]:
    """All but the end of a text, and the end."""
    cut = max(int(len(text) * (1 - HELD_OUT)), len(text) - MOST_HELD_OUT)
    number = max(int(np.searchsorted(text.starts, cut, side="right")) - 1, 0)
    starts = tuple(start - cut for start in text.starts[number:])
    return Text(text.ids[:cut], text.files, text.starts), Text(text.ids[cut:], text.files[number:], starts)
