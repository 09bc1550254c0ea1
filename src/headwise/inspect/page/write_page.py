"""The page about one translation, written as a single file."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headwise.errors import DataError
from headwise.files.atomic import write_text
from headwise.inspect.inside.one_translation import OneTranslation
from headwise.inspect.inside.open_inside import InsideModel
from headwise.inspect.inside.recording import CROSS
from headwise.inspect.page.inlined_page import as_bytes, inlined
from headwise.inspect.page.page_answers import PageAnswer, page_answers
from headwise.text.language.codes import Direction

LARGEST = 3_000_000
"""Largest size of the file, in bytes."""
LARGEST_SHARE = 0.75
"""The largest share of the file for the numbers of the sentence itself; searches and comparisons need some, too."""
SLACK = 2_000
"""Extra bytes allowed for numbers that are compressed together with other text."""

Json = dict[str, Any]


def write_page(
    path: Path,
    one: OneTranslation,
    models: Sequence[InsideModel] = (),
    run: Path | None = None,
    progress: Callable[[int], None] = lambda answers: None,
) -> None:
    """Write the page of a translation, with as many answers as fit into `LARGEST` bytes.

    `progress` is called with the number of answers that are there.
    """

    def answers() -> Iterator[PageAnswer]:
        for count, answer in enumerate(page_answers(one, models, run), 1):
            yield answer
            progress(count)

    write_text(path, page_text(one, answers()))


def page_text(one: OneTranslation, answers: Iterable[PageAnswer], largest: int = LARGEST) -> str:
    """The page of a translation as HTML."""
    data = _about(one)
    room = largest - len(inlined({**data, "answers": {}}).encode()) - SLACK
    kept: list[PageAnswer] = []
    for each in answers:
        fitting = each if kept else _reduced(each, room)
        room -= packed_size(fitting.as_dict())
        if room < 0:
            break
        kept.append(fitting)
    while len((page := inlined({**data, "answers": _by_method(kept)})).encode()) > largest and len(kept) > 1:
        kept.pop()
    return page


def _by_method(answers: Iterable[PageAnswer]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for each in answers:
        found.setdefault(each.method, []).append(each.as_dict())
    return found


def packed_size(value: Any) -> int:
    """How many bytes of the file a value needs: compressed by itself, in base64."""
    return len(gzip.compress(as_bytes(value), 9)) * 4 // 3


def _about(one: OneTranslation) -> Json:
    source, target = one.frame.direction
    direction: Direction = source or "", target or ""
    languages = [
        {"code": code, "name": code, "targets": [direction[1]] if code == direction[0] else []} for code in direction
    ]
    state = {"text": one.question.text, "source": direction[0], "target": direction[1]}
    if one.question.translation is not None:
        state["translation"] = one.question.translation
    return {
        "opening": "heads",
        "state": state,
        "languages": languages,
        "models": [{"name": one.inside.name, "kind": "translation", "directions": [list(direction)]}],
        "settings": {},
    }


def _reduced(trace: PageAnswer, room: int) -> PageAnswer:
    """The trace with as many of its numbers as fit."""
    for reduced in _reductions(trace.answer):
        found = trace._replace(answer=reduced)
        size = packed_size(found.as_dict())
        if size <= LARGEST_SHARE * room:
            return found
    if size <= room:
        return found
    raise DataError("this sentence is too long for a page: write .json, or inspect a shorter one")


def _reductions(answer: Json) -> Iterator[Json]:
    """The trace with fewer and fewer numbers: all, those of one head per layer, those of one head of each kind of
    attention, no tour, and only one layer."""
    yield answer
    answer = {**answer, "attention": _rounded(answer["attention"])}
    yield few_heads(answer)
    yield few_heads(answer, per_layer=False)
    yield without_tour(answer)
    yield _one_layer(answer)


def _rounded(weights: Any) -> Any:
    """Attention weights with seven decimals, whose rows still sum to 1."""
    if isinstance(weights, dict):
        return {kind: _rounded(layers) for kind, layers in weights.items()}
    return [_rounded(each) for each in weights] if isinstance(weights, list) else round(weights, 7)


def few_heads(answer: Json, *, per_layer: bool = True) -> Json:
    """The trace with queries, keys and values of few heads: those that the page and its tour open on, the clearest of
    each other kind of attention, and one of each other layer."""
    opening, trained = answer["opening"], answer["alignment_head"]
    opened = {(opening["kind"], opening["layer"], opening["head"])}
    if trained:
        opened.add((CROSS, trained["layer"], trained["head"]))
    for kind in answer["attention"].keys() - {kind for kind, *_ in opened}:
        best = max((role for role in answer["roles"] if role["kind"] == kind), key=lambda role: role["strength"])
        opened.add((kind, best["layer"], best["head"]))
    layers_opened = {(kind, layer) for kind, layer, _ in opened}

    def kept(kind: str, layer: int, head: int) -> bool:
        return (kind, layer, head) in opened or (per_layer and head == 0 and (kind, layer) not in layers_opened)

    steps = dict(answer["steps"])
    steps["query_key_value"] = {
        kind: [
            [each if kept(kind, layer, head) else None for head, each in enumerate(heads)]
            for layer, heads in enumerate(layers)
        ]
        for kind, layers in steps["query_key_value"].items()
    }
    steps["concatenated"] = {kind: [None] * len(layers) for kind, layers in steps["concatenated"].items()}
    return {**answer, "steps": steps}


def without_tour(answer: Json) -> Json:
    """The trace without the numbers of the tour."""
    return {name: value for name, value in answer.items() if name not in ("steps", "code")}


def _one_layer(answer: Json) -> Json:
    """The trace with only the layer that the page opens on."""
    opening = answer["opening"]
    small = without_tour(answer)
    for name in ("attention", "value_norms"):
        small[name] = {
            kind: [
                each if (kind, layer) == (opening["kind"], opening["layer"]) else None
                for layer, each in enumerate(layers)
            ]
            for kind, layers in answer[name].items()
        }
    return small
