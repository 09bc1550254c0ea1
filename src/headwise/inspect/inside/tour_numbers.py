"""The numbers of the guided tour: what every station of a translation's way through the model computes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headwise.inspect.inside.as_json import number, numbers
from headwise.inspect.inside.logit_lens import residual_states
from headwise.inspect.inside.one_translation import OneTranslation
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER, KINDS, Recording, position_table
from headwise.nn.attention import MultiHeadAttention

Json = dict[str, Any]

SHOWN = 8
"""Dimensions of a vector that are shown."""
STRONGEST, LIKELIEST = 5, 10


@torch.inference_mode()
def tour_numbers(one: OneTranslation) -> Json:
    """Every station's numbers, for all positions of the sentence."""
    recording, model = one.recording, one.recording.model
    source, shown = recording.source[None], recording.shown[None]
    embedded = model.source_embedding(source)[0], model.target_embedding(shown)[0]
    tables = [
        position_table(encoding, len(each), each.size(-1))
        for encoding, each in zip((model.source_positions, model.target_positions), embedded, strict=True)
    ]
    logits = recording.logits
    best = logits.topk(min(LIKELIEST, logits.size(-1)), dim=-1)
    pieces = one.inside.tokenizer.pieces
    return {
        "embedding": {
            "source": _first(embedded[0]),
            "target": _first(embedded[1]),
            "scale": number(one.inside.model.source_embedding.scale)
            if hasattr(model.source_embedding, "scale")
            else 1.0,
            "norm": numbers(embedded[0].norm(dim=-1)),
        },
        "positions": {"source": _first(tables[0]), "target": _first(tables[1])},
        "query_key_value": {
            kind: [_projections(recording, kind, layer) for layer in range(len(recording.attentions(kind)))]
            for kind in KINDS
        },
        "concatenated": {
            kind: [_first(recording.contexts(kind, layer)) for layer in range(len(recording.attentions(kind)))]
            for kind in KINDS
        },
        "residual": {side: _residual(recording, side) for side in (ENCODER, DECODER)},
        "feed_forward": {side: _feed_forward(recording, side) for side in (ENCODER, DECODER)},
        "memory": _first(recording.memory),
        "final": _first(recording.final),
        "logits": {
            "top": [
                [
                    {"piece": piece, "logit": number(value)}
                    for piece, value in zip(pieces(tokens), values, strict=True)
                ]
                for tokens, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ],
            "mean": numbers(logits.mean(-1)),
            "deviation": numbers(logits.std(-1)),
        },
    }


def heads_of(recording: Recording, kind: str, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, keys and values of every head, [H, positions, K], and the scores before the mask, [H, T, S].

    Queries and keys are rotated where positions rotate them; the scores are scaled, and have the bias of relative
    positions.
    """
    model, attention = recording.model, recording.attentions(kind)[layer]
    read, looking = recording.part(kind, layer, "key").given, recording.part(kind, layer, "query").given
    encoding = model.source_positions if kind == ENCODER else model.target_positions
    rotation = bias = None
    if kind != CROSS:
        rotation = encoding.rotation(torch.arange(len(read)))
        bias = encoding.bias(len(looking), len(read))
    query = attention.queries(looking[None], rotation)
    key, value = attention.shared(attention.keys_values(read[None], rotation))
    scores = query * _scale(attention) @ key.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    return query[0], key[0], value[0], scores[0]


def _scale(attention: MultiHeadAttention) -> float:
    return attention.score_scale


def _projections(recording: Recording, kind: str, layer: int) -> list[Json]:
    names = ("query", "key", "value", "scores")
    heads = zip(*(numbers(each) for each in heads_of(recording, kind, layer)), strict=True)
    return [dict(zip(names, each, strict=True)) for each in heads]


def _residual(recording: Recording, side: str) -> list[Json]:
    """The residual path of each layer, and how large it is: the root mean square over the width."""
    found = []
    blocks = ["self", *(["cross"] if side == DECODER else []), "feed_forward"]
    for number_, entering in enumerate(residual_states(recording, side)[:-1]):
        states = {"in": entering}
        for block in blocks:
            states[f"after_{block}"] = recording.seen[f"{side}.layers.{number_}.{block}_norm"].made
        found.append(
            {name: _first(each) for name, each in states.items()}
            | {"rms": {name: numbers(each.square().mean(-1).sqrt()) for name, each in states.items()}}
        )
    return found


def _feed_forward(recording: Recording, side: str) -> list[Json]:
    """How many hidden units of each layer are above 0, and which are the strongest, by position."""
    found = []
    for number_ in range(len(recording.layers(side))):
        hidden = recording.seen[f"{side}.layers.{number_}.feed_forward.contract"].given
        best = hidden.abs().topk(min(STRONGEST, hidden.size(-1)), dim=-1).indices
        values = hidden.gather(-1, best)
        found.append(
            {
                "active": numbers((hidden > 0).float().mean(-1)),
                "strongest": [
                    [{"unit": unit, "value": number(value)} for unit, value in zip(units, each, strict=True)]
                    for units, each in zip(best.tolist(), values.tolist(), strict=True)
                ],
            }
        )
    return found


def _first(states: Tensor) -> Any:
    """The first dimensions of some vectors."""
    return numbers(states[..., :SHOWN])
