"""Two models, or two settings of one, side by side: where their translations part, and what each held likely there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from headwise.inspect.inside.as_json import number
from headwise.inspect.inside.one_translation import OneTranslation
from headwise.inspect.inside.translation_trace import trace_json

Json = dict[str, Any]

REASONS = 5
"""How many of the likeliest tokens of each side are compared where they part."""


@torch.inference_mode()
def compare_json(left: OneTranslation, right: OneTranslation, only: tuple[str, int] | None = None) -> Json:
    """The traces of two translations of a sentence, and the first token where they differ."""
    return {
        "left": trace_json(left, only=only),
        "right": trace_json(right, only=only),
        "diverges": _divergence(left, right),
    }


def _divergence(left: OneTranslation, right: OneTranslation) -> Json | None:
    """The first position at which the pieces differ; up to there both models have read the same translation."""
    pieces = [each.inside.tokenizer.pieces(each.target_ids) for each in (left, right)]
    position = next((at for at, (one, other) in enumerate(zip(*pieces, strict=False)) if one != other), None)
    if position is None:
        return None
    rows = [each.recording.log_probabilities[position].exp() for each in (left, right)]
    compared = dict.fromkeys([pieces[0][position], pieces[1][position]])
    for one, row in zip((left, right), rows, strict=True):
        compared |= dict.fromkeys(one.inside.tokenizer.pieces(row.topk(REASONS).indices.tolist()))
    return {
        "position": position,
        "left": pieces[0][position],
        "right": pieces[1][position],
        "reason": [
            {"piece": piece, "left": _probability(left, rows[0], piece), "right": _probability(right, rows[1], piece)}
            for piece in compared
        ],
    }


def _probability(one: OneTranslation, row: Tensor, piece: str) -> float | None:
    """The probability of a piece; None where the model's tokenizer does not have it."""
    known = one.inside.tokenizer._by_piece
    return number(row[known[piece]]) if piece in known else None
