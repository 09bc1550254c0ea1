"""The roles of attention heads, measured: which one aligns words, which looks at a neighbour, which looks everywhere.

A head's strength in a role is the share of its attention that the role explains, averaged over the tokens that look.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.decode.alignment import Alignment, align, alignment_layer, lettered
from headwise.inspect.inside.as_json import number
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER
from headwise.inspect.inside.switches import Head
from headwise.models.folder.description import Task

ALIGNS, PREVIOUS, NEXT, SAME, FIRST, PUNCTUATION = "aligns", "previous", "next", "same", "first", "punctuation"
BROAD, OTHER = "broad", "other"
CLEAR = 0.4
"""A share of the attention from which on a head has a role."""
WIDE = 0.75
"""The entropy, as a share of its maximum, from which on a head looks broadly."""


class HeadRole(NamedTuple):
    """What a head does, and how clearly."""

    place: Head
    role: str
    strength: float

    def as_dict(self) -> dict[str, Any]:
        kind, layer, head = self.place
        return {"kind": kind, "layer": layer, "head": head, "role": self.role, "strength": number(self.strength)}


Shares = dict[Head, dict[str, float]]
"""For each head, the share of its attention that each role explains."""


class Sentence(NamedTuple):
    """What the roles of a sentence pair's heads depend on, beside their attention."""

    source_pieces: list[str]
    shown_pieces: list[str]
    source_words: list[int]
    target_words: list[int]
    alignment: Alignment


def measure(attention: dict[str, list[Tensor]], sentence: Sentence) -> Shares:
    """What each role explains of each head's attention in one sentence pair; weights [H, rows, columns] per layer."""
    return {
        Head(kind, layer, head): {**_shares(kind, each, sentence), BROAD: _breadth(each, kind)}
        for kind, layers in attention.items()
        for layer, weights in enumerate(layers)
        for head, each in enumerate(weights)
    }


def head_roles(measured: Sequence[Shares]) -> list[HeadRole]:
    """The role of every head, from what was measured in some sentences."""
    return [_role(head, _mean([each[head] for each in measured])) for head in (measured[0] if measured else ())]


def _role(head: Head, shares: dict[str, float]) -> HeadRole:
    breadth = shares.pop(BROAD)
    role = max(shares, key=lambda name: shares[name], default=OTHER)
    share = shares.get(role, 0.0)
    if share >= CLEAR:
        return HeadRole(head, role, share)
    return HeadRole(head, BROAD, breadth) if breadth >= WIDE else HeadRole(head, OTHER, share)


def _mean(found: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each share over the sentences that are long enough to have it."""
    names = dict.fromkeys(name for each in found for name in each)
    return {
        name: sum(given) / len(given) for name in names if (given := [each[name] for each in found if name in each])
    }


def predicting_head(task: Task) -> tuple[int, ...]:
    """The head that was trained to align the predicted token, by which pictures name their rows; empty: there is none.

    A head that aligns the token that the decoder is given looks where the row before it should: it would mislead.
    """
    return () if task.aligns_given else task.alignment_head


def opening(roles: Sequence[HeadRole], head: tuple[int, ...] = ()) -> Head:
    """The head that a view opens on: `head` if there is one, the best aligning one, or the clearest."""
    if head:
        return Head(CROSS, head[0], head[1])
    aligning = [each for each in roles if each.role == ALIGNS]
    positional = [each for each in roles if each.role in (PREVIOUS, NEXT)]
    for group in (aligning, positional, roles):
        if group:
            return max(group, key=lambda each: each.strength).place
    return Head(CROSS, 0, 0)


def word_alignment(cross: list[Tensor], head: tuple[int, ...], sentence: Sentence, aligns_given: bool) -> Alignment:
    """The alignment of words as the translator makes it: of the trained head, or the mean of a layer's heads."""
    if not cross:
        return []
    weights = cross[head[0]][head[1]] if head else cross[alignment_layer(len(cross))].mean(0)
    source, target = sentence.source_words, sentence.target_words
    if head and aligns_given:  # a row later than the one that predicts the token
        weights, target = weights[1:], target[:-1]
    return align(weights.numpy(), source, target)


def words_of(words: list[int], pieces: list[str], trained: bool) -> list[int]:
    """The word of each piece; a head that was trained to align words links punctuation marks by themselves."""
    return lettered(words, pieces) if trained else words


def _shares(kind: str, weights: Tensor, sentence: Sentence) -> dict[str, float]:
    """The share of a head's attention that each role explains; weights [rows, columns]."""
    columns = sentence.shown_pieces if kind == DECODER else sentence.source_pieces
    marks = torch.tensor([_is_mark(piece) for piece in columns])
    marks[0] &= kind != ENCODER or len(weights) <= 2  # else it has a role of its own: the first token
    found = {PUNCTUATION: float(weights[:, marks].sum(-1).mean())} if kind != DECODER else {}
    if kind == CROSS:
        return found | {ALIGNS: _aligned_share(weights, sentence)}
    looking = len(weights)
    if looking > 2:  # the second token sees at most two: its attention tells little
        found[PREVIOUS] = float(weights.diagonal(-1)[1:].mean())
        found[FIRST] = float(weights[2:, 0].mean())
    if looking > 1:
        found[SAME] = float(weights.diagonal()[1:].mean())
    if looking > 1 and kind == ENCODER:
        found[NEXT] = float(weights.diagonal(1).mean())
    return found


def _aligned_share(weights: Tensor, sentence: Sentence) -> float:
    """How much of the attention of a translation's words goes to the words that they are aligned with."""
    linked = {target: source for source, target in sentence.alignment}
    source = torch.tensor(sentence.source_words)
    shares = [
        float(weights[row, source == linked[word]].sum())
        for row, word in enumerate(sentence.target_words)
        if word in linked
    ]
    return sum(shares) / len(shares) if shares else 0.0


def _breadth(weights: Tensor, kind: str) -> float:
    """The mean entropy of the rows as a share of that of equal weights."""
    seen = torch.arange(1, len(weights) + 1) if kind == DECODER else torch.full((len(weights),), weights.size(1))
    rows = seen > 1
    if not bool(rows.any()):
        return 0.0
    entropy = torch.special.entr(weights.double()).sum(-1)[rows]
    return float((entropy / seen[rows].double().log()).mean())


def _is_mark(piece: str) -> bool:
    """Whether a piece has no letter and no digit: punctuation, or a special token such as the end of the sentence."""
    if piece.startswith("<") and piece.endswith(">") and len(piece) > 2:
        return True
    return not any(unicodedata.category(each)[0] in "LMN" for each in piece)
