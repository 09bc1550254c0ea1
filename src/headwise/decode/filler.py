"""An encoder alone at work: it fills in blanks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from headwise.decode.batching import by_length, padded
from headwise.decode.open import OpenedModel, open_as
from headwise.errors import CheckpointError, DataError, HeadwiseError
from headwise.models.folder.description import LoadedModel
from headwise.models.masked_lm import MaskedLM

BLANK = "___"
"""Marks a blank in a text, whatever the model's own mask token is called."""


@dataclass(frozen=True)
class Candidate:
    """A token that could fill a blank."""

    text: str
    """The whole text with it, as it was given; other blanks are still there."""
    token: str
    probability: float


class Filler:
    """A model ready to fill in blanks."""

    def __init__(self, model: str | Path | LoadedModel, device: str = "auto") -> None:
        self.served: OpenedModel[MaskedLM] = open_as(model, device, MaskedLM, "fills in blanks")
        self.tokenizer = self.served.tokenizer
        if self.served.model.head is None or self.tokenizer.mask is None:
            raise CheckpointError("this model represents texts but does not fill in blanks: use `headwise embed`")
        self.mask: int = self.tokenizer.mask
        self.mask_text = self.tokenizer.pieces([self.mask])[0]
        self._blank = re.compile(f"{re.escape(BLANK)}|{re.escape(self.mask_text)}")

    @torch.inference_mode()
    def fill(self, texts: Sequence[str] | str, top: int = 5) -> list[list[list[Candidate]]]:
        """For each text, for each of its blanks (`___`, or the model's own mask), the likeliest tokens, best first."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        rows = [self.ids(text) for text in texts]
        results: list[list[list[Candidate]]] = [[] for _ in texts]
        for batch in by_length([len(row) for row in rows]):
            logits = self.served.model(padded([rows[i] for i in batch], self.tokenizer.pad, self.served.device))
            if not bool(logits.isfinite().all()):
                raise HeadwiseError("the model's outputs are NaN or infinite: its weights are damaged")
            for i, row_logits in zip(batch, logits, strict=True):
                for number, place in enumerate([at for at, token in enumerate(rows[i]) if token == self.mask]):
                    likeliest = row_logits[place].float().softmax(-1).topk(min(top, row_logits.size(-1)))
                    results[i].append(
                        [
                            self._candidate(texts[i], number, token, probability)
                            for probability, token in zip(
                                likeliest.values.tolist(), likeliest.indices.tolist(), strict=True
                            )
                        ]
                    )
        return results

    def ids(self, text: str) -> list[int]:
        """Ids that the model is given for a text with blanks."""
        blanks = self._blank.sub(lambda _: self.mask_text, text)
        wanted = blanks.count(self.mask_text)
        if not wanted:
            raise DataError(f"there is no blank ({BLANK}) in {text!r}")
        ids = self.tokenizer.encode(blanks)
        if ids.count(self.mask) != wanted:  # a tokenizer that takes what looks like a mask for text
            parts = [self.tokenizer.encode(part) for part in blanks.split(self.mask_text)]
            ids = parts[0]
            for part in parts[1:]:
                ids = [*ids, self.mask, *part]
        framed, _ = self.tokenizer.frame(ids)
        longest = self.served.config.position_limit
        if len(framed) > longest:
            raise DataError(f"a text of {len(framed)} tokens is too long: this model knows {longest} positions")
        return framed

    def has_unknown(self, text: str) -> bool:
        """Whether a part of a text with blanks is nothing that the model knows."""
        unknown = self.tokenizer.unk
        return unknown not in (self.tokenizer.sos, self.tokenizer.eos) and unknown in self.ids(text)

    def _candidate(self, text: str, number: int, token: int, probability: float) -> Candidate:
        word = self.tokenizer.alone(token)
        parts = self._blank.split(text)
        filled = BLANK.join(parts[: number + 1]) + word + BLANK.join(parts[number + 1 :])
        return Candidate(filled, word, probability)
