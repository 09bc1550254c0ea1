"""One translation of one sentence by a model, with switches or without, and the pass that shows its inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from headwise.decode.framing import DirectionFrame
from headwise.errors import ConfigError
from headwise.inspect.inside.free_search import search_one, stepper_of
from headwise.inspect.inside.open_inside import InsideModel, copy_parts
from headwise.inspect.inside.recording import Recording, record
from headwise.inspect.inside.switches import Switches, read_switches, switched
from headwise.models.encoder_decoder import EncoderDecoder

BEAM = 4


@dataclass(frozen=True)
class Question:
    """What is to be translated, and how."""

    text: str
    source: str | None = None
    target: str | None = None
    translation: str | None = None
    """None: the model's own."""
    beam: int = BEAM
    prefix: str = ""
    """What the model's own translation begins with."""
    switches: Switches = field(default_factory=Switches)


def read_question(given: Mapping[str, Any]) -> Question:
    """The question in the fields of a request."""
    return Question(
        text=given["text"],
        source=given.get("source"),
        target=given.get("target"),
        translation=given.get("translation"),
        beam=given.get("beam") or BEAM,
        prefix=given.get("prefix") or "",
        switches=read_switches(given.get("switches")),
    )


@dataclass(frozen=True, eq=False)
class OneTranslation:
    """A translation and its pass through the model."""

    inside: InsideModel
    question: Question
    frame: DirectionFrame
    text: str
    """The translation."""
    recording: Recording

    @property
    def source_ids(self) -> list[int]:
        ids: list[int] = self.recording.source.tolist()
        return ids

    @property
    def shown_ids(self) -> list[int]:
        """The decoder's input: the start token and the translation."""
        ids: list[int] = self.recording.shown.tolist()
        return ids

    @property
    def target_ids(self) -> list[int]:
        """What each position of the decoder is to predict: the translation and the end."""
        return [*self.shown_ids[1:], self.inside.tokenizer.eos]

    @cached_property
    def chosen(self) -> Tensor:
        """The log-probability of each token of the translation, [T]."""
        return self.recording.log_probabilities.gather(1, torch.tensor(self.target_ids)[:, None])[:, 0]

    @property
    def score(self) -> float:
        """The mean log-probability of the tokens, without those that every translation begins with."""
        return float(self.chosen[len(self.frame.start) :].mean())


def translate_inside(inside: InsideModel, question: Question) -> OneTranslation:
    """Translate a sentence, unless its translation is given, and record the pass of the pair through the model."""
    frame = inside.framer.frame(question.source, question.target)
    source = inside.source_ids(question.text, frame)
    model = changed_model(inside, question, frame)
    text = question.translation
    if text is None:
        text = _own_translation(inside, question, model, source, frame)
    shown = [frame.sos, *frame.start, *inside.tokenizer.encode_target(text)]
    inside.framer.check_length(shown)
    return OneTranslation(inside, question, frame, text, record(model, source, shown))


def changed_model(inside: InsideModel, question: Question, frame: DirectionFrame) -> EncoderDecoder:
    """A copy of the model with the switches of a question."""
    switches = question.switches
    if not switches.any:
        return copy_parts(inside.model)
    other = None
    if switches.patched:
        if not switches.patch_text.strip():
            raise ConfigError("'switches.patch.text' must be a sentence")
        plain = Question(switches.patch_text, question.source, question.target, beam=question.beam)
        other = translate_inside(inside, plain).recording
    return switched(inside.model, switches, other)


def _own_translation(
    inside: InsideModel, question: Question, model: EncoderDecoder, source: list[int], frame: DirectionFrame
) -> str:
    """The model's own translation with its switches; without any, with the translator's repairs and recasing too."""
    if not question.switches.any:
        found = inside.translator.translate(
            question.text, source=question.source, target=question.target, prefix=question.prefix, beam=question.beam
        )
        return found.text
    stepper = stepper_of(model, question.switches.looks_at_whole_target)
    best = search_one(stepper, inside.request(source, frame, question.beam, question.prefix))
    return inside.tokenizer.decode(best.tokens)


def listed_tokens(inside: InsideModel, ids: list[int]) -> list[dict[str, Any]]:
    """Tokens with their pieces and the words that they are part of; -1 for special tokens."""
    rows = zip(inside.tokenizer.pieces(ids), ids, inside.tokenizer.word_ids(ids), strict=True)
    return [{"piece": piece, "id": token, "word": word} for piece, token, word in rows]
