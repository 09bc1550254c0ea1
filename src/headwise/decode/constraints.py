"""What is asked of a search, and the small rules that rule tokens out before it ranks them.

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

from headwise.errors import ConfigError

Prefixes = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Step:
    """What a rule may look at."""

    log_probabilities: Tensor  # [R, V], the model's own
    history: Tensor  # [R, T], the tokens so far, without <sos>
    sentences: Tensor  # [R], the sentence of each row


class Constraint(Protocol):
    """Edits `scores` [R, V] in place; they begin as a copy of the log-probabilities."""

    def __call__(self, scores: Tensor, step: Step) -> None: ...


def constrain(constraints: Sequence[Constraint], step: Step) -> Tensor:
    """The log-probabilities [R, V] with -inf where a rule forbids; later rules override earlier ones."""
    if not constraints:
        return step.log_probabilities
    scores = step.log_probabilities.clone()
    for constraint in constraints:
        constraint(scores, step)
    return scores


@dataclass(frozen=True, eq=False)
class Forbid:
    """Never these tokens: padding, `<sos>`, `<unk>`, language tags."""

    tokens: Tensor  # [F]

    def __call__(self, scores: Tensor, step: Step) -> None:
        scores.index_fill_(1, self.tokens, -math.inf)


@dataclass(frozen=True)
class MinLength:
    """No `<eos>` before this many other tokens."""

    length: int
    eos: int

    def __call__(self, scores: Tensor, step: Step) -> None:
        if step.history.shape[1] < self.length:
            scores[:, self.eos] = -math.inf


@dataclass(frozen=True)
class NoRepeat:
    """No n-gram of this size twice: rules out the tokens that would complete one already said."""

    size: int

    def __call__(self, scores: Tensor, step: Step) -> None:
        said = step.history.shape[1]
        if said < self.size:
            return
        grams = step.history.unfold(1, self.size, 1)  # [R, W, size]
        opening = step.history[:, said - self.size + 1 :]  # [R, size - 1], what the next token would complete
        repeats = (grams[..., :-1] == opening.unsqueeze(1)).all(dim=-1)  # [R, W]
        # A minimum leaves a column alone under +inf, whatever other windows end in the same token.
        values = torch.full_like(repeats, math.inf, dtype=scores.dtype).masked_fill_(repeats, -math.inf)
        scores.scatter_reduce_(1, grams[..., -1], values, reduce="amin")


@dataclass(frozen=True)
class NeverStuck:
    """Where everything is ruled out, `<eos>` is allowed again: a search must be able to end."""

    eos: int

    def __call__(self, scores: Tensor, step: Step) -> None:
        stuck = scores.amax(dim=-1) == -math.inf
        scores[:, self.eos] = torch.where(stuck, step.log_probabilities[:, self.eos], scores[:, self.eos])


class ForcedPrefix:
    """The first tokens of each sentence are given. Asked for by a person, so it overrides all other rules."""

    def __init__(self, prefixes: Prefixes, device: torch.device) -> None:
        longest = max((len(prefix) for prefix in prefixes), default=0)
        padded = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
        self.forced = torch.tensor(padded, dtype=torch.long, device=device).reshape(len(padded), longest)
        self.highest = max((token for prefix in prefixes for token in prefix), default=-1)

    def __call__(self, scores: Tensor, step: Step) -> None:
        position = step.history.shape[1]
        if position >= self.forced.shape[1]:
            return
        if self.highest >= scores.shape[1]:  # here, because on a GPU the gather below would fail unreadably
            raise ConfigError(f"prefix token {self.highest} is not in a vocabulary of {scores.shape[1]}")
        tokens = self.forced[step.sentences, position].unsqueeze(1)  # [R, 1], -1 past the prefix's end
        forcing = tokens >= 0
        tokens = tokens.clamp_min(0)
        scores.masked_fill_(forcing, -math.inf)
        own = torch.where(forcing, step.log_probabilities.gather(1, tokens), scores.gather(1, tokens))
        scores.scatter_(1, tokens, own)


@dataclass(frozen=True)
class SearchOptions:
    """What is asked of a search, whatever the sentences. Lengths per sentence and prefixes are arguments."""

    sos: int
    eos: int
    beam: int = 1
    nbest: int = 1
    length_penalty: float = 0.0  # alpha of score = log-probability / length**alpha
    min_length: int = 0  # tokens before <eos> may come
    no_repeat: int = 0  # n-gram size that may not occur twice; 0 is off
    forbidden: tuple[int, ...] = ()  # tokens never generated (a prefix may still hold them)
    exact: bool = True
    """Search until no live hypothesis can become one of the n-best at any length. Otherwise, as is usual, at most
    until `beam` have ended and the best live one is not better than the worst of them at its present length."""
    other_ends: tuple[int, ...] = ()
    """Tokens that end a hypothesis as eos does."""

    @property
    def ends(self) -> tuple[int, ...]:
        """All tokens that end a hypothesis."""
        return (self.eos, *self.other_ends)

    @property
    def kept(self) -> int:
        """How many finished hypotheses decide when to stop."""
        return self.nbest if self.exact else max(self.beam, self.nbest)

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam must be at least 1, not {self.beam}")
        if not 1 <= self.nbest <= self.beam:
            raise ConfigError(f"nbest must be between 1 and the beam ({self.beam}), not {self.nbest}")
        if self.min_length < 0 or self.no_repeat < 0:
            raise ConfigError("min_length and no_repeat must not be negative")
        if self.eos in self.forbidden:
            raise ConfigError("<eos> must not be among the forbidden tokens: no sentence could end")

    def free_from(self, prefixes: Prefixes | None) -> float:
        """The length from which on all that counts is which tokens are `banned`."""
        return math.inf if self.no_repeat else max((len(prefix) for prefix in prefixes or ()), default=0)

    def banned(self, length: int) -> tuple[int, ...]:
        """What may not follow a hypothesis of this length."""
        return (*self.forbidden, *self.ends) if length < self.min_length else self.forbidden

    def constraints(self, prefixes: Prefixes | None, device: torch.device) -> list[Constraint]:
        """The rules these options ask for, in the order in which they apply."""
        rules: list[Constraint] = []
        if self.forbidden:
            rules.append(Forbid(torch.tensor(self.forbidden, device=device)))
        if self.min_length:
            rules.extend(MinLength(self.min_length, end) for end in self.ends)
        if self.no_repeat:
            rules.append(NoRepeat(self.no_repeat))
        if rules:
            rules.append(NeverStuck(self.eos))
        if prefixes is not None:
            rules.append(ForcedPrefix(prefixes, device))
        return rules


def checked_limits(max_lengths: Tensor, options: SearchOptions, prefixes: Prefixes | None) -> list[int]:
    """The length limit of each sentence, after checking that a search can be held to it."""
    limits: list[int] = max_lengths.tolist()
    check_limits(limits, options, prefixes)
    return limits


def check_limits(limits: Sequence[int], options: SearchOptions, prefixes: Prefixes | None) -> None:
    """An error if a search cannot be held to these lengths and prefixes."""
    if any(limit < 1 for limit in limits):
        raise ConfigError(f"the length limit must be at least 1, not {min(limits)}")
    if prefixes is None:
        return
    if len(prefixes) != len(limits):
        raise ConfigError(f"{len(prefixes)} prefixes for {len(limits)} sentences")
    for prefix, limit in zip(prefixes, limits, strict=True):
        if len(prefix) > limit:
            raise ConfigError(f"a prefix of {len(prefix)} tokens does not fit into the length limit of {limit}")
        if any(end in prefix for end in options.ends) or any(token < 0 for token in prefix):
            raise ConfigError("a prefix must hold token ids other than <eos>")
