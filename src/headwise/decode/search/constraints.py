"""Constraints of a search: rules that exclude tokens before the search ranks them.

A rule only ever writes -inf, or puts back the model's own value: nothing is renormalised, so the scores of a
constrained search are still the model's log-probabilities of what it chose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from headwise.decode.search.options import Prefixes, SearchOptions, check_limits
from headwise.errors import ConfigError


@dataclass(frozen=True, eq=False)
class SearchStep:
    """The input of a constraint: one step of a search."""

    log_probabilities: Tensor  # [R, V], the model's own
    history: Tensor  # [R, T], the tokens so far, without <sos>
    sentences: Tensor  # [R], the sentence of each row


class Constraint(Protocol):
    """A rule that edits `scores` [R, V] in place; they begin as a copy of the log-probabilities."""

    def __call__(self, scores: Tensor, step: SearchStep) -> None: ...


def constrain(constraints: Sequence[Constraint], step: SearchStep) -> Tensor:
    """The log-probabilities [R, V] with -inf where a rule forbids; later rules override earlier ones."""
    if not constraints:
        return step.log_probabilities
    scores = step.log_probabilities.clone()
    for constraint in constraints:
        constraint(scores, step)
    return scores


@dataclass(frozen=True, eq=False)
class Forbid:
    """Excludes these tokens always: padding, `<sos>`, `<unk>`, language tags."""

    tokens: Tensor  # [F]

    def __call__(self, scores: Tensor, step: SearchStep) -> None:
        scores.index_fill_(1, self.tokens, -math.inf)


@dataclass(frozen=True)
class MinLength:
    """Excludes `<eos>` before this many other tokens."""

    length: int
    eos: int

    def __call__(self, scores: Tensor, step: SearchStep) -> None:
        if step.history.shape[1] < self.length:
            scores[:, self.eos] = -math.inf


@dataclass(frozen=True)
class NoRepeat:
    """Excludes the tokens that would complete an n-gram of this size for a second time."""

    size: int

    def __call__(self, scores: Tensor, step: SearchStep) -> None:
        length = step.history.shape[1]
        if length < self.size:
            return
        grams = step.history.unfold(1, self.size, 1)  # [R, W, size]
        opening = step.history[:, length - self.size + 1 :]  # [R, size - 1], what the next token would complete
        repeats = (grams[..., :-1] == opening.unsqueeze(1)).all(dim=-1)  # [R, W]
        # The minimum with +inf changes nothing; -inf wins where several n-grams end in the same token.
        values = torch.full_like(repeats, math.inf, dtype=scores.dtype).masked_fill_(repeats, -math.inf)
        scores.scatter_reduce_(1, grams[..., -1], values, reduce="amin")


@dataclass(frozen=True)
class NeverStuck:
    """Allows `<eos>` again where everything is excluded: a search must be able to end."""

    eos: int

    def __call__(self, scores: Tensor, step: SearchStep) -> None:
        stuck = scores.amax(dim=-1) == -math.inf
        scores[:, self.eos] = torch.where(stuck, step.log_probabilities[:, self.eos], scores[:, self.eos])


class ForcedPrefix:
    """Forces the first tokens of each sentence. The caller requires them, so this overrides all other rules."""

    def __init__(self, prefixes: Prefixes, device: torch.device, unscored: int = 0) -> None:
        self.unscored = unscored
        longest = max((len(prefix) for prefix in prefixes), default=0)
        padded = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
        self.forced = torch.tensor(padded, dtype=torch.long, device=device).reshape(len(padded), longest)
        self.highest = max((token for prefix in prefixes for token in prefix), default=-1)

    def __call__(self, scores: Tensor, step: SearchStep) -> None:
        position = step.history.shape[1]
        if position >= self.forced.shape[1]:
            return
        if self.highest >= scores.shape[1]:  # here, because on a GPU the gather below would fail unreadably
            raise ConfigError(f"prefix token {self.highest} is not in a vocabulary of {scores.shape[1]}")
        tokens = self.forced[step.sentences, position].unsqueeze(1)  # [R, 1], -1 past the prefix's end
        forcing = tokens >= 0
        tokens = tokens.clamp_min(0)
        scores.masked_fill_(forcing, -math.inf)
        given = step.log_probabilities.gather(1, tokens)
        if position < self.unscored:
            given = torch.zeros_like(given)
        own = torch.where(forcing, given, scores.gather(1, tokens))
        scores.scatter_(1, tokens, own)


def constraints(options: SearchOptions, prefixes: Prefixes | None, device: torch.device) -> list[Constraint]:
    """The constraints of these options, in the order in which they apply."""
    rules: list[Constraint] = []
    if options.forbidden:
        rules.append(Forbid(torch.tensor(options.forbidden, device=device)))
    if options.min_length:
        rules.extend(MinLength(options.min_length, end) for end in options.ends)
    if options.no_repeat:
        rules.append(NoRepeat(options.no_repeat))
    if rules:
        rules.append(NeverStuck(options.eos))
    if prefixes is not None:
        rules.append(ForcedPrefix(prefixes, device, options.unscored))
    return rules


def checked_limits(max_lengths: Tensor, options: SearchOptions, prefixes: Prefixes | None) -> list[int]:
    """The length limit of each sentence as a list; one that a search cannot satisfy is an error."""
    limits: list[int] = max_lengths.tolist()
    check_limits(limits, options, prefixes)
    return limits
