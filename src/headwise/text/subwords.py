"""The two SentencePiece kinds: pieces of words, and bytes for what no piece spells, so nothing is unknown."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import sentencepiece

from headwise.atomic import write_bytes, write_json
from headwise.errors import CheckpointError
from headwise.text.bpe_dropout import segment
from headwise.text.escape import SPACE, escape, unescape
from headwise.text.normalise import normalise, normalise_all
from headwise.text.parts import Parts
from headwise.text.sentencepiece_training import train_model
from headwise.text.tokenizer import Tokenizer
from headwise.text.utf8 import chosen

MOST_CANDIDATES = 512
"""SentencePiece lists no more segmentations."""


class _Subwords(Tokenizer):
    """What unigram and bpe share: all but how a segmentation is drawn."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=parts.model)
            first = list(self._processor.id_to_piece(list(range(len(self._names)))))
        except (RuntimeError, IndexError, OSError, TypeError, ValueError):
            raise CheckpointError("the SentencePiece model of this tokenizer is damaged") from None
        if first != list(self._names.values()):
            raise CheckpointError("the SentencePiece model of this tokenizer has other special tokens")

    @classmethod
    def train(
        cls,
        sentences: Sequence[str],
        vocabulary: int,
        languages: tuple[str, ...],
        *,
        mask: bool = False,
        lossless: bool = False,
    ) -> Self:
        model = train_model(cls.kind, sentences, vocabulary, languages, mask)
        return cls(Parts(languages, model=model, settings=chosen(mask=mask)))

    @property
    def size(self) -> int:
        return int(self._processor.get_piece_size())

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        batch = [escape(text) for text in normalise_all(texts)]
        ids: list[list[int]] = self._processor.encode(batch, out_type=int, num_threads=-1)
        return ids

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(escape(text), out_type=int)
        return ids

    def _decode(self, ids: list[int]) -> str:
        # Every ▁ that is left stands for a space, one that a model spelt in bytes too.
        return unescape(self._processor.decode(ids).replace(SPACE, " "))

    def _piece(self, i: int) -> str:
        return str(self._processor.id_to_piece(i))

    def save_published(self, folder: Path, framed: bool = True) -> None:
        """As Marian's: one model for both sides and a table of its ids, in which tags are written as Marian's are."""
        if not framed or self.mask is not None:  # of a language model, which Marian's framing would not suit
            super().save_published(folder, framed)
        written = {self.eos: "</s>"} | {self.tag(language): f">>{language}<<" for language in self.languages}
        pieces = self._processor.id_to_piece(list(range(self.size)))
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("source.spm", "target.spm"):
            write_bytes(folder / name, self.parts.model)
        write_json(folder / "vocab.json", {written.get(i, piece): i for i, piece in enumerate(pieces)})
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer"})

    def _escaped(self, ids: list[int]) -> str:
        """The text of the ids in the form that the model segments."""
        return escape(normalise(self._decode(ids)))


class Unigram(_Subwords):
    """The unigram language model of Kudo (2018): a text has many segmentations, each with a probability."""

    kind = "unigram"

    def _sample(self, ids: list[int], alpha: float, candidates: int, rng: np.random.Generator) -> list[int]:
        """One of the best `candidates`, drawn in proportion to its probability to the power of alpha."""
        count = max(1, min(candidates, MOST_CANDIDATES))
        best: list[list[int]] = self._processor.nbest_encode(self._escaped(ids), nbest_size=count, out_type=int)
        if len(best) < 2:
            return ids
        scores = np.array([sum(map(self._scores.__getitem__, each)) for each in best])
        weights = np.exp(alpha * (scores - scores.max())).cumsum()
        return best[int(weights.searchsorted(rng.random() * weights[-1], side="right"))]

    @cached_property
    def _scores(self) -> list[float]:
        """Log probability of each piece."""
        scores: list[float] = self._processor.get_score(list(range(self.size)))
        return scores


class Bpe(_Subwords):
    """Byte-pair encoding: the merges that were most frequent in training, in that order."""

    kind = "bpe"

    def _sample(self, ids: list[int], alpha: float, candidates: int, rng: np.random.Generator) -> list[int]:
        """BPE-dropout at rate alpha."""
        text = SPACE + self._escaped(ids).replace(" ", SPACE)
        pieces = segment(text, self._scores, alpha, rng.random(3 * len(text)).tolist())
        return [i for piece in pieces for i in self._ids_of(piece)]

    def _ids_of(self, piece: str) -> list[int]:
        if piece in self._scores:
            return [self._processor.piece_to_id(piece)]
        ids: list[int] = self._processor.piece_to_id([f"<0x{byte:02X}>" for byte in piece.encode()])
        return ids

    @cached_property
    def _scores(self) -> dict[str, float]:
        """Score of each piece that text can be merged to; the specials and bytes are none."""
        model = self._processor
        spelt = [i for i in range(self.size) if not (model.is_control(i) or model.is_unknown(i) or model.is_byte(i))]
        return dict(zip(model.id_to_piece(spelt), model.get_score(spelt), strict=True))
