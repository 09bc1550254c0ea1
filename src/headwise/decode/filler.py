"""Filler: a masked language model that fills in blanks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import torch

from headwise.decode.batching import by_length, padded
from headwise.decode.open import OpenedModel, check_finite, open_as
from headwise.errors import CheckpointError, DataError
from headwise.models.folder.description import LoadedModel
from headwise.models.masked_lm import MaskedLM
from headwise.text.given_texts import check_texts

BLANK = "___"
"""A blank in a text, for every model; its own mask token is accepted too."""


@dataclass(frozen=True)
class Candidate:
    """A token that could fill a blank. `str(candidate)` is the whole text."""

    text: str
    """The whole text with this token in its blank; other blanks stay."""
    token: str
    probability: float

    def __str__(self) -> str:
        return self.text


class Filler:
    """A model that fills in blanks."""

    def __init__(self, model: str | Path | LoadedModel, *, device: str = "auto") -> None:
        self.served: OpenedModel[MaskedLM] = open_as(model, device, MaskedLM, "fills in blanks")
        self.tokenizer = self.served.tokenizer
        if self.served.model.head is None or self.tokenizer.mask is None:
            raise CheckpointError("this model represents texts but does not fill in blanks: use `headwise embed`")
        self.mask: int = self.tokenizer.mask
        self.mask_text = self.tokenizer.pieces([self.mask])[0]
        self._blank = re.compile(f"{re.escape(BLANK)}|{re.escape(self.mask_text)}")

    @overload
    def fill(self, texts: str, top: int = 5) -> list[list[Candidate]]: ...  # type: ignore[overload-overlap]

    @overload
    def fill(self, texts: Iterable[str], top: int = 5) -> list[list[list[Candidate]]]: ...

    def fill(self, texts: str | Iterable[str], top: int = 5) -> list[list[Candidate]] | list[list[list[Candidate]]]:
        """The most probable tokens for each blank (`___`, or the model's own mask) of one text, best first.

        Several texts give a list of such lists.
        """
        found = self._fill(check_texts(texts), top)
        return found[0] if isinstance(texts, str) else found

    @torch.inference_mode()
    def _fill(self, texts: list[str], top: int) -> list[list[list[Candidate]]]:
        rows = [self.ids(text) for text in texts]
        results: list[list[list[Candidate]]] = [[] for _ in texts]
        for batch in by_length([len(row) for row in rows]):
            logits = self.served.model(padded([rows[i] for i in batch], self.tokenizer.pad, self.served.device))
            check_finite(logits)
            for i, row_logits in zip(batch, logits, strict=True):
                blanks = [position for position, token in enumerate(rows[i]) if token == self.mask]
                for number, position in enumerate(blanks):
                    likeliest = row_logits[position].float().softmax(-1).topk(min(top, row_logits.size(-1)))
                    found = zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
                    results[i].append([self._candidate(texts[i], number, *each) for each in found])
        return results

    def ids(self, text: str) -> list[int]:
        """Input ids for a text with blanks."""
        blanks = self._blank.sub(lambda _: self.mask_text, text)
        wanted = blanks.count(self.mask_text)
        if not wanted:
            raise DataError(f"there is no blank ({BLANK}) in {text!r}")
        ids = self.tokenizer.encode(blanks)
        if ids.count(self.mask) != wanted:  # this tokenizer does not recognise its mask token in a text
            parts = [self.tokenizer.encode(part) for part in blanks.split(self.mask_text)]
            ids = parts[0]
            for part in parts[1:]:
                ids = [*ids, self.mask, *part]
        framed, _ = self.tokenizer.frame(ids)
        longest = self.served.config.position_limit
        if len(framed) > longest:
            raise DataError(f"a text of {len(framed)} tokens is too long: this model has {longest} positions")
        return framed

    def has_unknown(self, text: str) -> bool:
        """Whether a text with blanks has a part that the vocabulary does not cover (`<unk>`)."""
        unknown = self.tokenizer.unk
        return unknown not in (self.tokenizer.sos, self.tokenizer.eos) and unknown in self.ids(text)

    def _candidate(self, text: str, number: int, token: int, probability: float) -> Candidate:
        word = self.tokenizer.alone(token)
        parts = self._blank.split(text)
        filled = BLANK.join(parts[: number + 1]) + word + BLANK.join(parts[number + 1 :])
        return Candidate(filled, word, probability)
