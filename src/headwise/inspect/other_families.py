"""The inside of models that do not translate: GPT and Llama, BERT and its kin, Vision Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headwise.decode.filler import BLANK, Filler
from headwise.decode.open import the_tokenizer
from headwise.errors import ConfigError
from headwise.inspect.attention_capture import capture_text
from headwise.inspect.image_attention import capture_image
from headwise.inspect.inside.as_json import number, numbers
from headwise.inspect.maps import AttentionMaps
from headwise.models.causal_lm import CausalLM
from headwise.models.folder.description import LoadedModel
from headwise.models.masked_lm import MaskedLM
from headwise.text.tokenizer import Tokenizer

Json = dict[str, Any]

CANDIDATES = 10
MOST_GENERATED = 64
BRANCHES, DEPTH = 3, 3
"""The next-token tree: how many continuations each of its nodes has, and over how many steps."""


@torch.inference_mode()
def family_json(loaded: LoadedModel, text: str, generate: int = 0) -> Json:
    """The inside of a text model: tokens, the attention of every head, and what it predicts."""
    if not 0 <= generate <= MOST_GENERATED:
        raise ConfigError(f"'generate' must be between 0 and {MOST_GENERATED}")
    maps = capture_text(loaded, text, generate=generate, device="cpu")
    [attention] = maps.maps.values()
    answer: Json = {"text": maps.text, "tokens": attention.rows, "attention": numbers(attention.weights)}
    if isinstance(loaded.model, CausalLM):
        return {"kind": "causal_lm", **answer, **_next_tokens(loaded, loaded.model, maps)}
    blanks: list[list[Json]] = []
    if isinstance(loaded.model, MaskedLM) and loaded.model.head is not None and BLANK in text:
        blanks = [
            [{"piece": each.token, "probability": number(each.probability)} for each in found]
            for found in Filler(loaded, device="cpu").fill(text, top=CANDIDATES)
        ]
    places = [place for place, piece in enumerate(attention.rows) if piece == _mask_piece(loaded)]
    return {"kind": "masked_lm", **answer, "blanks": blanks, "blank_places": places if blanks else []}


def image_json(loaded: LoadedModel, image: Path) -> Json:
    """The inside of an image classifier: what every head looks at, the rollout through all layers, and the pixels."""
    maps = capture_image(loaded, image, "cpu")
    return {
        "kind": "vision",
        "grid": [maps.grid, maps.grid],
        "looks": numbers(maps.looks),
        "rollout": numbers(maps.rollout),
        "looker": maps.looker,
        "label": maps.text,
        "pixels": maps.pixels.permute(1, 2, 0).tolist(),
    }


def _mask_piece(loaded: LoadedModel) -> str | None:
    tokenizer = the_tokenizer(loaded, "this model")
    return None if tokenizer.mask is None else tokenizer.pieces([tokenizer.mask])[0]


def _next_tokens(loaded: LoadedModel, model: CausalLM, maps: AttentionMaps) -> Json:
    """What the model predicts after each token, the probability of the one that follows, and a tree of what next."""
    tokenizer = the_tokenizer(loaded, "this model")
    ids = tokenizer.piece_ids(maps.labels["tokens"])
    rows = _log_probabilities(model, [ids])[0]  # [T, V]
    following = rows[:-1].gather(1, torch.tensor(ids[1:], dtype=torch.long)[:, None])[:, 0]
    return {
        "log_probability": numbers(following),
        "candidates": [_listed(tokenizer, row) for row in rows],
        "tree": _tree(model, tokenizer, ids, rows[-1]),
    }


def _tree(model: CausalLM, tokenizer: Tokenizer, ids: list[int], first: Tensor) -> list[Json]:
    """The likeliest continuations, and those of each of them: nodes, each with the id of its parent."""
    nodes: list[Json] = []
    live: list[tuple[int | None, list[int], Tensor, float]] = [(None, [], first, 0.0)]
    for step in range(DEPTH):
        grown = []
        for parent, written, row, total in live:
            best = row.topk(min(BRANCHES, len(row)))
            for token, value in zip(best.indices.tolist(), best.values.tolist(), strict=True):
                [piece] = tokenizer.pieces([token])
                node = {"id": len(nodes), "parent": parent, "piece": piece, "token": token, "step": step}
                nodes.append({**node, "log_probability": number(value), "total": number(total + value)})
                grown.append((len(nodes) - 1, [*written, token], total + value))
        if step + 1 == DEPTH or len(ids) + step + 1 >= _positions(model):
            break
        rows = _log_probabilities(model, [[*ids, *written] for _, written, _ in grown])[:, -1]
        live = [(node, written, row, total) for (node, written, total), row in zip(grown, rows, strict=True)]
    return nodes


def _positions(model: CausalLM) -> int:
    weight = getattr(model.positions, "weight", None)
    offset = getattr(model.positions, "offset", 0)
    return 10**6 if weight is None or not isinstance(offset, int) else len(weight) - offset


def _log_probabilities(model: CausalLM, rows: list[list[int]]) -> Tensor:
    logits: Tensor = model.output_projection(model.decode(torch.tensor(rows)).hidden)
    return logits.float().log_softmax(-1)


def _listed(tokenizer: Tokenizer, row: Tensor) -> list[Json]:
    best = row.topk(min(CANDIDATES, len(row)))
    pieces = tokenizer.pieces(best.indices.tolist())
    return [
        {"piece": piece, "probability": number(value)}
        for piece, value in zip(pieces, best.values.exp().tolist(), strict=True)
    ]
