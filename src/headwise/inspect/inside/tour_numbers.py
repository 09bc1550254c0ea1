"""The numbers of the guided tour: what every station of a translation's way through the model computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headwise.inspect.inside.as_json import number, numbers
from headwise.inspect.inside.logit_lens import residual_states
from headwise.inspect.inside.one_translation import OneTranslation
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER, KINDS, Recording, position_table
from headwise.nn.int8 import Int8Embedding
from headwise.nn.positions import Relative, Rotary

Json = dict[str, Any]

SIDES = (ENCODER, DECODER)
BLOCKS = {ENCODER: ("self", "feed_forward"), DECODER: ("self", "cross", "feed_forward")}
"""The sublayers of a layer of each stack."""
SHOWN = 8
"""Dimensions of a vector that are shown."""
STRONGEST, LIKELIEST = 5, 10


@torch.inference_mode()
def tour_numbers(one: OneTranslation) -> Json:
    """Every station's numbers, for all positions of the sentence."""
    recording = one.recording
    layers = {kind: range(len(recording.attentions(kind))) for kind in KINDS}
    return {
        "embedding": _embedding(recording),
        "positions": _positions(recording),
        "query_key_value": {kind: [_projections(recording, kind, each) for each in layers[kind]] for kind in KINDS},
        "concatenated": {kind: [_outputs(recording, kind, each) for each in layers[kind]] for kind in KINDS},
        "residual": {side: _residual(recording, side) for side in SIDES},
        "added": {side: _by_block(recording, side, _added) for side in SIDES},
        "norm": {side: _by_block(recording, side, _normed) for side in SIDES},
        "feed_forward": {side: _feed_forward(recording, side) for side in SIDES},
        "memory": _first(recording.memory),
        "final": _first(recording.final),
        "logits": _logits(one),
    }


def _embedding(recording: Recording) -> Json:
    """The rows of the embedding matrix, before they are scaled."""
    model = recording.model
    found, scale = {}, 1.0
    for name, ids, embedding in (
        ("source", recording.source, model.source_embedding),
        ("target", recording.shown, model.target_embedding),
    ):
        scale = embedding.factor if isinstance(embedding, Int8Embedding) else embedding.scale
        found[name] = embedding(ids) / scale
    norm = {"norm": numbers(found["source"].norm(dim=-1))}
    return {name: _first(rows) for name, rows in found.items()} | {"scale": number(scale)} | norm


def _positions(recording: Recording) -> Json:
    """What the positions add to the embeddings; the angles that they turn queries and keys by; the bias by distance."""
    model = recording.model
    source, target = model.source_positions, model.target_positions
    lengths = len(recording.source), len(recording.shown)
    answer: Json = {
        "source": _first(position_table(source, lengths[0], _width(model.source_embedding))),
        "target": _first(position_table(target, lengths[1], _width(model.target_embedding))),
    }
    if isinstance(source, Rotary):
        positions = torch.arange(max(lengths))
        answer["angles"] = numbers(positions[:, None] * source.frequencies.turns(positions))
    if isinstance(source, Relative):
        answer["bias"] = numbers(source.bias(lengths[0], lengths[0])[0, :, 0])
    return answer


def _width(embedding: nn.Module) -> int:
    weight = embedding.weight
    assert isinstance(weight, Tensor)
    return weight.size(1)


def _logits(one: OneTranslation) -> Json:
    logits, pieces = one.recording.logits, one.inside.tokenizer.pieces
    best = logits.topk(min(LIKELIEST, logits.size(-1)), dim=-1)
    return {
        "top": [
            [{"piece": piece, "logit": number(value)} for piece, value in zip(pieces(tokens), values, strict=True)]
            for tokens, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
        "mean": numbers(logits.mean(-1)),
        "deviation": numbers(logits.std(-1)),
        "log_sum_exp": numbers(logits.logsumexp(-1)),
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
    scores = query * attention.score_scale @ key.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    return query[0], key[0], value[0], scores[0]


def _projections(recording: Recording, kind: str, layer: int) -> list[Json]:
    names = ("query", "key", "value", "scores")
    heads = zip(*(numbers(each) for each in heads_of(recording, kind, layer)), strict=True)
    return [dict(zip(names, each, strict=True)) for each in heads]


def _outputs(recording: Recording, kind: str, layer: int) -> Any:
    """What each head found, before the output projection, [T, H, K]."""
    attention = recording.attentions(kind)[layer]
    joined = recording.contexts(kind, layer)
    return numbers(joined.view(len(joined), attention.heads, attention.head_width))


def _residual(recording: Recording, side: str) -> list[Json]:
    """The residual path of each layer, and how large it is: the root mean square over the width."""
    found = []
    for index, entering in enumerate(residual_states(recording, side)[:-1]):
        states = {"in": entering}
        for block in BLOCKS[side]:
            states[f"after_{block}"] = recording.seen[f"{side}.layers.{index}.{block}_norm"].made
        rms = {name: numbers(each.square().mean(-1).sqrt()) for name, each in states.items()}
        found.append({name: _first(each) for name, each in states.items()} | {"rms": rms})
    return found


def _by_block(recording: Recording, side: str, made: Callable[[Recording, str, str], Any]) -> list[Json]:
    """What is made of each sublayer of each layer, from the names of the layer and the sublayer."""
    return [
        {block: made(recording, f"{side}.layers.{index}", block) for block in BLOCKS[side]}
        for index in range(len(recording.layers(side)))
    ]


def _added(recording: Recording, layer: str, block: str) -> Any:
    """What a sublayer adds to the residual path."""
    name = "feed_forward" if block == "feed_forward" else f"{block}_attention.output"
    return _first(recording.seen[f"{layer}.{name}"].made)


def _normed(recording: Recording, layer: str, block: str) -> Json:
    """Mean and deviation of the vectors that a norm is given, and the norm's gain and bias."""
    name = f"{layer}.{block}_norm.norm"
    norm, given = recording.model.get_submodule(name), recording.seen[name].given
    parts = {key: value for key in ("weight", "bias") if isinstance(value := getattr(norm, key, None), Tensor)}
    return {
        "mean": numbers(given.mean(-1)),
        "deviation": numbers(given.std(-1, correction=0)),
        "rms": numbers(given.square().mean(-1).sqrt()),
        "epsilon": getattr(norm, "eps", None),
        "gain": _first(parts["weight"]) if "weight" in parts else None,
        "bias": _first(parts["bias"]) if "bias" in parts else None,
    }


def _feed_forward(recording: Recording, side: str) -> list[Json]:
    """How many hidden units of each layer are above 0, and which are the strongest, by position."""
    found = []
    for index in range(len(recording.layers(side))):
        hidden = recording.seen[f"{side}.layers.{index}.feed_forward.contract"].given
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
