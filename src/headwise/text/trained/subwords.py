"""The SentencePiece tokenizers, unigram and BPE: subwords with byte fallback, so that nothing is unknown."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from headwise.errors import CheckpointError
from headwise.files.atomic import write_bytes, write_json
from headwise.text.escape import SPACE, escape, unescape
from headwise.text.normalise import normalise, normalise_all
from headwise.text.sampling.bpe_dropout import BpeDropout
from headwise.text.sampling.unigram import UnigramSampler
from headwise.text.stored import Parts
from headwise.text.tokenizer import Ids, Keys, Tokenizer, TrainingSet
from headwise.text.trained.sentencepiece_training import train_model

MOST_CANDIDATES = 512
"""The most segmentations that SentencePiece lists."""


class Subwords(Tokenizer):
    """A SentencePiece tokenizer; unigram and bpe differ in how they draw a segmentation."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=parts.model)
            first = list(self._processor.id_to_piece(list(range(len(self._names)))))
        except (RuntimeError, IndexError, OSError, TypeError, ValueError):
            raise CheckpointError("the SentencePiece model of this tokenizer is damaged") from None
        if first != list(self._names.values()):
            raise CheckpointError("the SentencePiece model of this tokenizer has special tokens that do not match")

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        return cls(Parts(given.languages, model=train_model(cls.kind, given), settings={"mask": given.mask}))

    @property
    def size(self) -> int:
        return int(self._processor.get_piece_size())

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) == 1:  # threads take longer to start
            return [self.encode(texts[0])]
        batch = [escape(text) for text in normalise_all(texts)]
        ids: list[list[int]] = self._processor.encode(batch, out_type=int, num_threads=-1)
        return ids

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(escape(text), out_type=int)
        return ids

    def _decode(self, ids: list[int]) -> str:
        # Every ▁ that is left represents a space, also one that a model generated as bytes.
        return unescape(self._processor.decode(ids).replace(SPACE, " "))

    def _piece(self, i: int) -> str:
        return str(self._processor.id_to_piece(i))

    def save_published(self, folder: Path, framed: bool = True) -> None:
        """Write Marian's files: one SentencePiece model for both sides, and a table of ids with tags such as >>de<<."""
        if not framed or self.mask is not None:  # a language model, whose framing is not Marian's
            super().save_published(folder, framed)
        written = {self.eos: "</s>"} | {self.tag(language): f">>{language}<<" for language in self.languages}
        pieces = self._processor.id_to_piece(list(range(self.size)))
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("source.spm", "target.spm"):
            write_bytes(folder / name, self.parts.model)
        write_json(folder / "vocab.json", {written.get(i, piece): i for i, piece in enumerate(pieces)})
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer"})

    @cached_property
    def _begins_word(self) -> NDArray[np.bool_]:
        """Whether each id begins a word."""
        return np.array([piece.startswith(SPACE) for piece in self._processor.id_to_piece(list(range(self.size)))])

    def _escaped(self, ids: list[int]) -> str:
        """The text of the ids in the form that SentencePiece segments."""
        return escape(normalise(self._decode(ids)))


class Unigram(Subwords):
    """The unigram tokenizer of Kudo (2018): a text has many segmentations, each with a probability."""

    kind = "unigram"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._samplers: dict[int, UnigramSampler] = {}

    def sample_batch(self, ids: Ids, lengths: Ids, alpha: float, candidates: int, keys: Keys) -> tuple[Ids, Ids]:
        """Draw one of the best `candidates` of each text, in proportion to probability to the power of alpha."""
        count = max(1, min(candidates, MOST_CANDIDATES))
        if count not in self._samplers:
            sampler = UnigramSampler(
                self._begins_word, lambda words: [self._best(word, count) for word in words], count
            )
            self._samplers.setdefault(count, sampler)  # another thread may have been faster
        return self._samplers[count](ids, lengths, alpha, keys)

    def _best(self, word: list[int], count: int) -> list[tuple[list[int], float]]:
        """The best segmentations of a word and their log probabilities, best first.

        A character that no piece contains has the same cost in all segmentations: it is left out.
        """
        text = self._escaped(word)
        best: list[list[int]] = self._processor.nbest_encode(text, nbest_size=count, out_type=int) if text else [[]]
        scores = self._scores
        scored = [(ids, sum([scores[i] for i in ids])) for ids in best]
        return sorted(scored, key=lambda each: -each[1])

    @cached_property
    def _scores(self) -> list[float]:
        """The log probability of each piece."""
        scores: list[float] = self._processor.get_score(list(range(self.size)))
        return scores


class Bpe(Subwords):
    """The BPE tokenizer: applies merges in the order of their frequency in training."""

    kind = "bpe"

    def sample_batch(self, ids: Ids, lengths: Ids, alpha: float, candidates: int, keys: Keys) -> tuple[Ids, Ids]:
        """Segment each text with BPE dropout at rate alpha."""
        return self._dropout(ids, lengths, alpha, keys)

    @cached_property
    def _dropout(self) -> BpeDropout:
        def text_of(word: list[int]) -> str:
            text = self._escaped(word).replace(" ", SPACE)
            return SPACE + text if text else ""

        return BpeDropout(self._begins_word, text_of, self._scores, self._ids_of)

    def _ids_of(self, piece: str) -> list[int]:
        if piece in self._scores:
            return [self._processor.piece_to_id(piece)]
        ids: list[int] = self._processor.piece_to_id([f"<0x{byte:02X}>" for byte in piece.encode()])
        return ids

    @cached_property
    def _scores(self) -> dict[str, float]:
        """The score of each piece that merges can make; specials and bytes are left out."""
        model = self._processor
        spelt = [i for i in range(self.size) if not (model.is_control(i) or model.is_unknown(i) or model.is_byte(i))]
        return dict(zip(model.id_to_piece(spelt), model.get_score(spelt), strict=True))
