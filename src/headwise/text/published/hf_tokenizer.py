"""Tokenizers that run in Hugging Face's tokenizers library: published ones, and two kinds that Headwise trains.

Headwise does not normalise the text of a published tokenizer, so that it gives the ids that its model was trained
on. Its special ids and framing are read from the folder once (see `tokenizer_folder`) and saved with it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from headwise.errors import CheckpointError, ConfigError, HeadwiseError
from headwise.files.atomic import write_bytes, write_json
from headwise.text.normalise import normalise_all, well_formed
from headwise.text.specials import Specials
from headwise.text.spelling import from_letters, from_sentencepiece, show, words_of
from headwise.text.stored import Parts
from headwise.text.tokenizer import WORD_START, Tokenizer

DESCRIPTION = "library.json"
"""The part that holds the tokenizer.json of the library."""
TOGETHER = 4096
"""Texts that are encoded in one call: the library's results are many times as large as the ids."""


MOST_GROWTH = 64
"""How many times as long as its text a normaliser or a decoder may make it."""


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Turn whatever the tokenizers library raises into a CheckpointError of one line.

    It raises plain Exception, and where its Rust code panics a PanicException, which derives from BaseException.
    """
    try:
        yield
    except HeadwiseError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CheckpointError(f"{what}: {reason}") from None


def parse(description: bytes, where: str = "the tokenizer") -> tokenizers.Tokenizer:
    """The library's tokenizer, without truncation and padding."""
    with library_errors(f"{where} cannot be read"):
        tokenizer = tokenizers.Tokenizer.from_str(description.decode())
        tokenizer.no_padding()
        tokenizer.no_truncation()
    return tokenizer


def check_growth(description: Mapping[str, Any], where: str = "the tokenizer") -> None:
    """Refuse normalisers and decoders whose replacements could make a text grow without bound."""
    for name in ("normalizer", "decoder"):
        growth = _growth(description.get(name))
        if growth > MOST_GROWTH:
            raise CheckpointError(f"{where} is refused: its {name} could make a text {growth:.0f} times as long")


def _growth(part: object) -> float:
    if isinstance(part, list):
        return math.prod(map(_growth, part))
    if not isinstance(part, dict):
        return 1.0
    if part.get("type") == "Replace":
        pattern, content = part.get("pattern"), part.get("content")
        fixed = pattern.get("String") if isinstance(pattern, dict) else None
        shortest = max(1, len(fixed)) if isinstance(fixed, str) else 1
        inserted = 0 if isinstance(fixed, str) and fixed else 1  # other patterns may match between two characters
        return max(1.0, inserted + len(content) / shortest) if isinstance(content, str) else 1.0
    return math.prod(map(_growth, part.values()))


class HfTokenizer(Tokenizer):
    """A published tokenizer. Names of specials in a text become specials if they do in the original."""

    kind = "library"
    keeps_text = True
    finds_specials = True

    def __init__(self, parts: Parts) -> None:
        if DESCRIPTION not in parts.files:
            raise CheckpointError("tokenizer.part.library.json is missing")
        description = parts.files[DESCRIPTION]
        try:
            table = json.loads(description)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"tokenizer.part.library.json is damaged: {error}") from None
        check_growth(table)
        self._backend = parse(description)
        super().__init__(parts, self._read_specials(parts))
        self._backend.encode_special_tokens = not self.finds_specials
        self._clean_up: bool = parts.settings.get("clean_up", False)
        self._byte_level = _mentions(table.get("decoder"), "ByteLevel")
        self._continuing: str = table["model"].get("continuing_subword_prefix") or ""
        self._ending: str = table["model"].get("end_of_word_suffix") or ""
        self._pieces = {i: piece for piece, i in self._backend.get_vocab(with_added_tokens=True).items()}
        if not self._pieces:
            raise CheckpointError("the vocabulary of this tokenizer is empty")
        self._size = max(self._pieces) + 1
        self._added = self._backend.get_added_tokens_decoder()

    def _read_specials(self, parts: Parts) -> Specials:
        try:
            return Specials.from_table(parts.settings["specials"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CheckpointError("the special tokens of this tokenizer are missing or damaged") from None

    @property
    def size(self) -> int:
        return self._size

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        prepared = [well_formed(text) for text in texts] if self.keeps_text else normalise_all(texts)
        stretches = (prepared[first : first + TOGETHER] for first in range(0, len(prepared), TOGETHER))
        encoded = (self._backend.encode_batch_fast(some, add_special_tokens=False) for some in stretches)
        with library_errors("the tokenizer cannot encode a text"):
            return [each.ids for some in encoded for each in some]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        if not self._ending:
            return super().pieces(ids)
        shown: list[str] = []
        begins = True  # pieces mark the end of a word: the next piece begins one
        for i in map(int, ids):
            piece = self._raw(i)
            ended = piece.endswith(self._ending)
            shown.append(self._names.get(i) or (WORD_START if begins else "") + piece.removesuffix(self._ending))
            begins = ended or i in self._names
        return shown

    @cached_property
    def _by_piece(self) -> dict[str, int]:
        by_piece = {self._raw(i): i for i in self._pieces}
        return by_piece if self._ending else by_piece | {self.pieces([i])[0]: i for i in self._pieces}

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        return words_of([None if self.is_special(i) else self._spelt(i) for i in map(int, ids)])

    def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
        prefixes: dict[str, str] = self.parts.settings.get("prefixes", {})
        before, after = super().source_frame(source, target)
        if prefixes and target:
            if f"{source} {target}" not in prefixes:
                raise ConfigError(f"this model does not translate {source}-{target}; it has: {', '.join(prefixes)}")
            before = [*before, *self.encode(prefixes[f"{source} {target}"])]
        return before, after

    def save_published(self, folder: Path, framed: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        description = self.parts.files[DESCRIPTION]
        if not framed:
            description = json.dumps({**json.loads(description), "post_processor": None}, ensure_ascii=False).encode()
        write_bytes(folder / "tokenizer.json", description)
        write_json(folder / "tokenizer_config.json", self._published_config())

    def _published_config(self) -> dict[str, Any]:
        """Settings for the generic class of transformers, which uses tokenizer.json as it is."""
        names = {"pad": self.pad, "unk": self.unk, "mask": self.mask, "eos": self.eos, "bos": self.sos}
        if any(self._framing.single):
            names |= {"cls": self.sos, "sep": self.eos}
        config: dict[str, Any] = {f"{name}_token": self._raw(i) for name, i in names.items() if i in self._pieces}
        return config | {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": self._clean_up}

    def _surface(self, text: str) -> str:
        normaliser = self._backend.normalizer
        with library_errors("the tokenizer cannot encode a text"):
            return str(normaliser.normalize_str(self._prepared(text)) if normaliser else self._prepared(text))

    def _encode(self, text: str) -> list[int]:
        with library_errors("the tokenizer cannot encode a text"):
            ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
            return ids

    def _decode(self, ids: list[int]) -> str:
        with library_errors("the tokenizer cannot decode a text"):
            text: str = self._backend.decode(ids, skip_special_tokens=True)
        return clean_up(text) if self._clean_up else text

    def _alone(self, i: int) -> str:
        text = super()._alone(i)  # at the beginning of a text the decoder leaves the mark of a continuing piece
        return text.removeprefix(self._continuing) if text != self._continuing else text

    def _raw(self, i: int) -> str:
        return self._pieces.get(i, f"<{i}>")

    def _piece(self, i: int) -> str:
        piece = self._raw(i)
        if i in self._added:
            return piece
        if self._byte_level:
            return show(from_letters(piece))
        if self._continuing:
            begins = not piece.startswith(self._continuing)
            return WORD_START + piece if begins else piece.removeprefix(self._continuing)
        return piece

    def _spelt(self, i: int) -> bytes:
        piece = self._raw(i)
        if i in self._added:  # also <unk>, which represents a whole word in WordPiece
            return (" " if self._continuing and i == self.unk else "").encode() + piece.replace(" ", "_").encode()
        if self._byte_level:
            return from_letters(piece)
        if self._continuing:
            begins = not piece.startswith(self._continuing)
            return (f" {piece}" if begins else piece.removeprefix(self._continuing)).encode()
        if self._ending:
            return (piece.removesuffix(self._ending) + " " * piece.endswith(self._ending)).encode()
        return from_sentencepiece(piece)


class TrainedHfTokenizer(HfTokenizer):
    """A tokenizer of the library that Headwise trains: text never becomes a special."""

    finds_specials = False

    def _published_config(self) -> dict[str, Any]:
        # Otherwise the name of a special in a text would become that special.
        return super()._published_config() | {"split_special_tokens": True}


def clean_up(text: str) -> str:
    """Remove the spaces before English punctuation that a WordPiece decoder leaves, as transformers does."""
    for spaced in (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"):
        text = text.replace(spaced, spaced.strip())
    return text


def _mentions(part: object, kind: str) -> bool:
    """Whether a component of tokenizer.json has this type or contains one that has."""
    if isinstance(part, dict):
        return part.get("type") == kind or any(_mentions(each, kind) for each in part.values())
    return isinstance(part, list) and any(_mentions(each, kind) for each in part)
