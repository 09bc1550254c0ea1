"""The trace of a translation as JSON: tokens, probabilities, attention of every head, logit lens, alignment, roles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from headwise.inspect.inside.as_json import number, numbers
from headwise.inspect.inside.code_lines import code_lines
from headwise.inspect.inside.logit_lens import lens
from headwise.inspect.inside.model_facts import model_facts
from headwise.inspect.inside.one_translation import OneTranslation, listed_tokens
from headwise.inspect.inside.open_inside import InsideModel
from headwise.inspect.inside.recording import KINDS, Recording
from headwise.inspect.inside.roles import (
    Sentence,
    head_roles,
    measure,
    opening,
    predicting_head,
    word_alignment,
    words_of,
)
from headwise.inspect.inside.tour_numbers import tour_numbers

Json = dict[str, Any]

CANDIDATES, LENS = 10, 5
"""How many of the likeliest tokens are listed for each position, and for each layer of the logit lens."""
MOST_WEIGHTS = 1_500_000
"""The most attention weights in an answer; of a longer sentence, only the layer that is asked for is listed."""
ALL, BRIEF = "all", "brief"
"""Details: with the numbers of the tour, or without the large tables."""
NOTHING = ("", -1)
LARGE = ("attention", "value_norms", "lens", "roles")


@torch.inference_mode()
def trace_json(one: OneTranslation, detail: str = "", only: tuple[str, int] | None = None) -> Json:
    """Everything about a translation. `only` limits the attention to a kind and a layer; the others are null."""
    inside, recording = one.inside, one.recording
    sentence = sentence_of(one)
    task = inside.translator.task
    roles = head_roles([measure(recording.attention, sentence)])
    first = opening(roles, predicting_head(task))
    if detail == BRIEF:
        only = NOTHING
    if only is None and weights_in(recording) > MOST_WEIGHTS:
        only = first.kind, first.layer
    log_probabilities = recording.log_probabilities
    trained = bool(task.alignment_head)
    answer = {
        "model": model_facts(inside, recording.model),
        "text": one.question.text,
        "source": one.frame.direction[0],
        "target": one.frame.direction[1],
        "translation": one.text,
        "translation_given": one.question.translation is not None,
        "score": number(one.score),
        **_tokens(one, sentence),
        "log_probability": numbers(one.chosen),
        "candidates": candidates(inside, log_probabilities, CANDIDATES),
        "attention": _by_kind(recording, only, lambda kind, layer: numbers(recording.attention[kind][layer])),
        "value_norms": _by_kind(recording, only, lambda kind, layer: numbers(value_norms(recording, kind, layer))),
        "lens": [candidates(inside, each, LENS, ids=False) for each in lens(recording)],
        "alignment": [list(pair) for pair in sentence.alignment],
        "alignment_head": dict(zip(("layer", "head"), task.alignment_head, strict=True)) if trained else None,
        "roles": [each.as_dict() for each in roles],
        "opening": first._asdict(),
        "changed_by": one.question.switches.as_dict(),
    }
    if detail == BRIEF:
        return {name: value for name, value in answer.items() if name not in LARGE}
    if detail == ALL:
        config = inside.translator.config
        code = code_lines(config.norm.order, config.feed_forward.kind, config.positions.kind)
        answer |= {"code": code, "steps": tour_numbers(one)}
    return answer


def sentence_of(one: OneTranslation) -> Sentence:
    """The tokens and words of a translation, with the alignment of the words."""
    tokenizer, task = one.inside.tokenizer, one.inside.translator.task
    trained = bool(task.alignment_head)
    read, shown = tokenizer.pieces(one.source_ids), tokenizer.pieces(one.shown_ids)
    sentence = Sentence(
        read,
        shown,
        words_of(tokenizer.word_ids(one.source_ids), read, trained),
        words_of(tokenizer.word_ids(one.target_ids), tokenizer.pieces(one.target_ids), trained),
        [],
    )
    cross = one.recording.attention["cross"]
    return sentence._replace(alignment=word_alignment(cross, task.alignment_head, sentence, task.aligns_given))


def roles_json(found: Sequence[OneTranslation]) -> Json:
    """The roles of all heads, measured over several translations, and the head that a view opens on."""
    measured = [measure(one.recording.attention, sentence_of(one)) for one in found]
    roles = head_roles(measured)
    first = opening(roles, predicting_head(found[0].inside.translator.task) if found else ())
    return {"sentences": len(found), "roles": [each.as_dict() for each in roles], "opening": first._asdict()}


def weights_in(recording: Recording) -> int:
    """How many attention weights a pass has."""
    return sum(each.numel() for layers in recording.attention.values() for each in layers)


def value_norms(recording: Recording, kind: str, layer: int) -> Tensor:
    """The length of the value of every position that a head looks at, [H, S]."""
    return recording.values(kind, layer).square().sum(-1).sqrt()


def candidates(inside: InsideModel, log_probabilities: Tensor, count: int, *, ids: bool = True) -> list[list[Json]]:
    """The likeliest tokens of each position with their probabilities, from [T, V]."""
    best = log_probabilities.topk(min(count, log_probabilities.size(-1)), dim=-1)
    found = []
    for tokens, values in zip(best.indices.tolist(), best.values.exp().tolist(), strict=True):
        listed = zip(inside.tokenizer.pieces(tokens), tokens, values, strict=True)
        found.append(
            [
                {"piece": piece, **({"id": token} if ids else {}), "probability": number(value)}
                for piece, token, value in listed
            ]
        )
    return found


def _tokens(one: OneTranslation, sentence: Sentence) -> Json:
    return {
        "source_tokens": listed_tokens(one.inside, one.source_ids),
        "target_tokens": listed_tokens(one.inside, one.target_ids),
        "shown_tokens": [{"piece": each} for each in sentence.shown_pieces],
        "source_words": _words(one, one.question.text, one.source_ids),
        "target_words": _words(one, one.text, one.shown_ids),
    }


def _words(one: OneTranslation, text: str, ids: list[int]) -> list[str]:
    """The space-separated words of a text, as the tokenizer counts them."""
    count = max(one.inside.tokenizer.word_ids(ids), default=-1) + 1
    words = text.split()
    return words if len(words) == count else one.inside.tokenizer.decode(ids).split()


def _by_kind(
    recording: Recording, only: tuple[str, int] | None, made: Callable[[str, int], Any]
) -> dict[str, list[Any]]:
    """What is made of every layer of every kind of attention, or of only one of them."""
    return {
        kind: [
            made(kind, layer) if only in (None, (kind, layer)) else None
            for layer in range(len(recording.attention[kind]))
        ]
        for kind in KINDS
    }
