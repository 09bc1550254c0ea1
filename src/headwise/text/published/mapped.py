"""SentencePiece tokenizers whose ids come from a separate table: Marian (OPUS-MT) and M2M100.

Marian segments source texts with one model and target texts with another, and looks both up in one table.
transformers normalises punctuation first if the package sacremoses is installed; Headwise never does, because the
models were trained on text as it is.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from headwise.errors import CheckpointError
from headwise.files.atomic import write_bytes, write_json
from headwise.text.escape import SPACE
from headwise.text.specials import Specials
from headwise.text.spelling import from_sentencepiece, words_of
from headwise.text.stored import Parts
from headwise.text.tokenizer import Tokenizer

SOURCE, TARGET, TABLE = "source.spm", "target.spm", "vocabulary.json"
TARGET_TABLE = "target_vocabulary.json"
PUBLISHED_NAMES = ("source.spm", "target.spm", "vocab.json", "target_vocab.json", "sentencepiece.bpe.model")


class Mapped(Tokenizer):
    """A tokenizer of SentencePiece models and a table of ids. Names of specials in a text become specials."""

    kind = "mapped"
    keeps_text = True

    def __init__(self, parts: Parts) -> None:
        try:
            super().__init__(parts, Specials.from_table(parts.settings["specials"]))
            self._source = sentencepiece.SentencePieceProcessor(model_proto=parts.files[SOURCE])
            self._target = sentencepiece.SentencePieceProcessor(
                model_proto=parts.files.get(TARGET, parts.files[SOURCE])
            )
            self._ids: dict[str, int] = json.loads(parts.files[TABLE])
            own = parts.files.get(TARGET_TABLE)
            self._target_ids: dict[str, int] = self._ids if own is None else json.loads(own)
            self._code = re.compile(parts.settings["code"], re.DOTALL) if parts.settings["code"] else None
            found = sorted(parts.settings["found"], key=len, reverse=True)
            self._split = re.compile("(" + "|".join(map(re.escape, found)) + ")")
            self._pieces = {i: piece for piece, i in self._target_ids.items()} | dict(self._names)
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OSError, re.error):
            raise CheckpointError("a part of this tokenizer is missing or damaged") from None
        self._added: dict[str, int] = {name: i for i, name in self._names.items()}
        self._size: int = max([*self._pieces, *self._ids.values()]) + 1

    @property
    def size(self) -> int:
        return self._size

    def encode_target(self, text: str) -> list[int]:
        return self._cut(self._prepared(text), self._target, self._target_ids)

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode_target(text) for text in texts]

    def word_ids(self, ids: Sequence[int]) -> list[int]:
        return words_of([None if self.is_special(i) else self._spelt(i) for i in map(int, ids)])

    def save_published(self, folder: Path, framed: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        published: dict[str, str] = self.parts.settings["published"]
        for part, name in published.items():
            if name not in PUBLISHED_NAMES:  # the name comes from a file: it must not lead out of the folder
                raise CheckpointError(f"this tokenizer names {name!r} as one of its files, which is refused")
            write_bytes(folder / name, self.parts.files[part])
        write_json(folder / "tokenizer_config.json", self.parts.settings["config"])

    def _surface(self, text: str) -> str:
        pieces: list[str] = self._source.encode(self._prepared(text), out_type=str)
        return "".join(pieces)

    def _encode(self, text: str) -> list[int]:
        return self._cut(text, self._source, self._ids)

    def _cut(self, text: str, model: sentencepiece.SentencePieceProcessor, ids: dict[str, int]) -> list[int]:
        result: list[int] = []
        for part in self._split.split(text):
            if part in self._added:
                result.append(self._added[part])
            elif part:
                code = self._code.match(part) if self._code else None
                pieces = [code[0]] if code else []
                pieces += model.encode(part[code.end() :] if code else part, out_type=str)
                result += [ids.get(piece, self.unk) for piece in pieces]
        return result

    def _decode(self, ids: list[int]) -> str:
        text: str = self._target.decode_pieces([self._piece(i) for i in ids])
        return text.replace(SPACE, " ").strip()

    def _piece(self, i: int) -> str:
        piece: str = self._pieces.get(i, self._names[self.unk])
        return piece

    def _spelt(self, i: int) -> bytes:
        return b"?" if i == self.unk else from_sentencepiece(self._piece(i))
