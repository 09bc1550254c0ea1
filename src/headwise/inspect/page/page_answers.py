"""What a page without a server is asked for: the answers about one translation, the most important ones first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headwise.inspect.inside.decoding import decode_json
from headwise.inspect.inside.divergence import compare_json
from headwise.inspect.inside.importance import heads_in
from headwise.inspect.inside.one_translation import BEAM, OneTranslation, Question, translate_inside
from headwise.inspect.inside.open_inside import InsideModel
from headwise.inspect.inside.recording import CROSS
from headwise.inspect.inside.run_history import history_json
from headwise.inspect.inside.switches import Head, Switches
from headwise.inspect.inside.translation_trace import ALL, BRIEF, trace_json

Json = dict[str, Any]

SHORT = 24
"""Tokens of a sentence for which every head is switched off in turn, and other beams are shown."""
BEAMS = (2, 3, 6, 8)


class PageAnswer(NamedTuple):
    """An answer of a method of the page's data source, and the request that it answers."""

    method: str
    body: Json
    answer: Json

    def as_dict(self) -> Json:
        return {"body": self.body, "answer": self.answer}


def page_answers(
    one: OneTranslation, models: Sequence[InsideModel] = (), run: Path | None = None, beam: int = BEAM
) -> Iterator[PageAnswer]:
    """The answers about a translation. `models` are compared with it, `run` is the training run whose checkpoints are
    shown."""
    question = one.question
    asked = {"text": question.text, "source": one.frame.direction[0], "target": one.frame.direction[1]}
    asked = {name: value for name, value in asked.items() if value}
    yield PageAnswer("trace", {**asked, "detail": ALL}, trace_json(one, ALL))
    free = dataclasses.replace(question, translation=None)
    yield PageAnswer("decode", {**asked, "beam": beam}, decode_json(one.inside, dataclasses.replace(free, beam=beam)))
    yield PageAnswer("translate", {"texts": [question.text]}, _translations(one))
    if run is not None:
        yield PageAnswer("checkpoints", asked, history_json(run, question))
    yield PageAnswer("compare", asked, _comparison(one, free, models))
    for switches in _parts(one):
        yield from _without(one, asked, switches)
    short = max(len(one.source_ids), len(one.shown_ids)) <= SHORT
    for head in heads_in(one.inside) if short else ():
        yield from _without(one, asked, Switches(heads_off=(head,)))
    for width in BEAMS if short else ():
        if width != beam:
            yield PageAnswer(
                "decode", {**asked, "beam": width}, decode_json(one.inside, dataclasses.replace(free, beam=width))
            )
    for switches in (*_parts(one), Switches(heads_off=(_toured(one),))):
        yield from _broken(one, asked, switches)


def _translations(one: OneTranslation) -> Json:
    source, target = one.frame.direction
    found = {"text": one.text, "source": source, "target": target, "score": one.score, "models": [one.inside.name]}
    return {"translations": [found]}


def _comparison(one: OneTranslation, question: Question, models: Sequence[InsideModel]) -> Json:
    """The model beside another one, or greedy search beside beam search."""
    if models:
        sides = one, translate_inside(models[0], question)
    else:
        sides = (
            translate_inside(one.inside, dataclasses.replace(question, beam=1)),
            translate_inside(one.inside, question),
        )
    opening = _opening(sides[0])
    return compare_json(*sides, only=(opening.kind, opening.layer))


def _opening(one: OneTranslation) -> Head:
    """The head that a view opens on."""
    return Head(**trace_json(one, BRIEF)["opening"])


def _toured(one: OneTranslation) -> Head:
    """The head that the tour switches off first: of cross-attention, whose rows it names by the token that is given."""
    trained = one.inside.translator.task.alignment_head
    return Head(CROSS, *trained) if trained else _opening(one)


def _parts(one: OneTranslation) -> list[Switches]:
    """A switch for each larger part of the model."""
    layers = one.inside.model.encoder.depth
    return [
        Switches(positions=False),
        Switches(mask=False),
        Switches(scaling=False),
        *(Switches(memory_layer=layer) for layer in range(1, layers)),
    ]


def _without(one: OneTranslation, asked: Json, switches: Switches) -> Iterator[PageAnswer]:
    """What a switch does to the model's own translation, and to the probability of the usual one."""
    for translation in (None, one.text):
        given = {"translation": translation} if translation is not None else {}
        question = dataclasses.replace(one.question, translation=translation, switches=switches)
        answer = trace_json(translate_inside(one.inside, question), BRIEF)
        del answer["candidates"]
        yield PageAnswer("trace", {**asked, **given, "switches": switches.as_dict(), "detail": BRIEF}, answer)


def _broken(one: OneTranslation, asked: Json, switches: Switches) -> Iterator[PageAnswer]:
    """What a switch does, with everything that the tour shows."""
    for translation in (one.text, None):
        given = {"translation": translation} if translation is not None else {}
        question = dataclasses.replace(one.question, translation=translation, switches=switches)
        answer = trace_json(translate_inside(one.inside, question), ALL)
        yield PageAnswer("trace", {**asked, **given, "switches": switches.as_dict(), "detail": ALL}, answer)
