"""The importance of attention heads: what a test set's BLEU loses without each of them (Michel et al., 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headwise.decode.engines.plain import PLAIN
from headwise.decode.translator import Translator
from headwise.errors import DataError
from headwise.extras import require
from headwise.inspect.inside.as_json import number
from headwise.inspect.inside.open_inside import InsideModel
from headwise.inspect.inside.recording import CROSS, ENCODER, KINDS
from headwise.inspect.inside.switches import Head, Switches, switched
from headwise.models.folder.description import LoadedModel
from headwise.nn.stack import Layer, Stack

Pairs = Sequence[Sequence[str]]

MOST_PAIRS = 200


def heads_in(inside: InsideModel) -> list[Head]:
    """Every attention head of a model."""
    model = inside.model
    found = []
    for kind in KINDS:
        stack = model.encoder if kind == ENCODER else model.decoder
        for number_, layer in enumerate(stack.in_order if isinstance(stack, Stack) else []):
            assert isinstance(layer, Layer)
            attention = layer.cross_attention if kind == CROSS else layer.self_attention
            if attention is not None:
                found += [Head(kind, number_, head) for head in range(attention.heads)]
    return found


def bleu_without(
    inside: InsideModel, pairs: Pairs, source: str | None, target: str | None, heads: Sequence[Head] = ()
) -> float:
    """BLEU of greedy translations of a test set by the model without some of its heads."""
    require("sacrebleu", "BLEU")
    from sacrebleu.metrics.bleu import BLEU

    if not 0 < len(pairs) <= MOST_PAIRS:
        raise DataError(f"give between 1 and {MOST_PAIRS} pairs, not {len(pairs)}")
    changed = switched(inside.model, Switches(heads_off=tuple(heads)))
    described = inside.translator._served.loaded.description
    translator = Translator(LoadedModel(changed, described), device="cpu", engine=PLAIN)
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = translator.translate(sources, source=source, target=target, beam=1, repair=False)
    return float(BLEU().corpus_score([each.text for each in found], [references]).score)


def head_importance(
    inside: InsideModel, pairs: Pairs, source: str | None = None, target: str | None = None
) -> Iterator[dict[str, Any]]:
    """Progress after each head, and the result as the last value: BLEU of the model, and what it loses without each."""
    whole = bleu_without(inside, pairs, source, target)
    heads, found = heads_in(inside), []
    for head in heads:
        found.append(lost(head, whole, bleu_without(inside, pairs, source, target, [head])))
        yield {"done": len(found), "of": len(heads), "head": found[-1]}
    yield {"bleu": number(whole), "heads": found}


def lost(head: Head, whole: float, without: float) -> dict[str, Any]:
    """What BLEU loses without a head."""
    return {**head._asdict(), "bleu": number(without), "lost": number(whole - without)}
