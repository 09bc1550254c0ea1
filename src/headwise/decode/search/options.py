"""Options and requests of a search, without tensors, so that the native engine does not load PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headwise.decode.search.hypothesis import length_penalty
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Prefixes = Sequence[Sequence[int]]

WIDEST = 1024
"""Largest beam: far wider than has ever been useful, and small enough for every engine's counters and memory."""


TINY = 1e-30
"""Smallest temperature and top_p: below, float32 would underflow and leave no token to sample."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search for all its sentences. Length limits and prefixes per sentence are arguments."""

    sos: int
    eos: int
    beam: int = 1
    nbest: int = 1
    length_penalty: float = 0.0  # alpha of score = log-probability / length**alpha
    min_length: int = 0  # tokens that must come before <eos>
    no_repeat: int = 0  # size of an n-gram that must not occur twice; 0 is off
    forbidden: tuple[int, ...] = ()  # tokens never generated (a prefix may still hold them)
    exact: bool = True
    """Search until no live hypothesis can become one of the n-best at any length. Otherwise, as is usual, at most
    until `beam` have ended and the best live one is not better than the worst of them at its present length."""
    other_ends: tuple[int, ...] = ()
    """Tokens that end a hypothesis as eos does."""
    unscored: int = 0
    """Leading tokens of each prefix that count neither in log-probability nor in length: a target language's code."""

    @property
    def ends(self) -> tuple[int, ...]:
        """All tokens that end a hypothesis."""
        return (self.eos, *self.other_ends)

    @property
    def kept(self) -> int:
        """How many finished hypotheses decide when to stop."""
        return self.nbest if self.exact else max(self.beam, self.nbest)

    def __post_init__(self) -> None:
        if not 1 <= self.beam <= WIDEST:
            raise ConfigError(f"beam must be between 1 and {WIDEST:,}, not {self.beam:,}")
        if not 1 <= self.nbest <= self.beam:
            raise ConfigError(f"nbest must be between 1 and the beam ({self.beam}), not {self.nbest}")
        if min(self.min_length, self.no_repeat, self.unscored) < 0:
            raise ConfigError("min_length, no_repeat and unscored must not be negative")
        if self.eos in self.forbidden:
            raise ConfigError("<eos> must not be among the forbidden tokens: no sentence could end")

    def score(self, log_probability: float, length: int) -> float:
        """Score of a hypothesis of `length` tokens, `<eos>` and unscored ones included."""
        return length_penalty(log_probability, length - self.unscored, self.length_penalty)


@dataclass(frozen=True)
class SamplingOptions:
    """How tokens are sampled. The defaults sample from the model's distribution as it is."""

    temperature: float = 1.0
    top_k: int = 0  # only from the k likeliest tokens; 0 is off
    top_p: float = 1.0  # only from the fewest likeliest tokens that hold this much probability; 1 is off
    samples: int = 1  # per sentence

    def __post_init__(self) -> None:
        if not TINY <= self.temperature < math.inf:
            raise ConfigError(
                f"temperature must be at least {TINY:g}, not {self.temperature}; "
                "for the likeliest tokens, leave out --sample"
            )
        if self.top_k < 0:
            raise ConfigError(f"top_k must not be negative, not {self.top_k}")
        if not TINY <= self.top_p <= 1:
            raise ConfigError(f"top_p must be between {TINY:g} and 1, not {self.top_p}")
        if self.samples < 1:
            raise ConfigError(f"samples must be at least 1, not {self.samples}")


Options = TypeVar("Options", bound="DataclassInstance")


def options_from(kind: type[Options], options: Options | None, keywords: Mapping[str, Any]) -> Options:
    """Options of this kind, given as one value or as keywords; both together are refused."""
    known = [field.name for field in fields(kind)]
    unknown = [name for name in keywords if name not in known]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; the search options are {', '.join(known)}")
    if options is None:
        return kind(**keywords)
    if keywords:
        raise ConfigError(f"give {', '.join(keywords)} as part of `options`, or leave `options` out")
    return options


def check_limits(limits: Sequence[int], options: SearchOptions, prefixes: Prefixes | None) -> None:
    """Refuse length limits and prefixes that a search cannot satisfy."""
    if limits and min(limits) < 1:
        raise ConfigError(f"the length limit must be at least 1, not {min(limits)}")
    if options.unscored and any(len(prefix) < options.unscored for prefix in prefixes or [()]):
        raise ConfigError(f"a prefix must hold the {options.unscored} unscored tokens")
    if prefixes is None:
        return
    if len(prefixes) != len(limits):
        raise ConfigError(f"{len(prefixes)} prefixes for {len(limits)} sentences")
    for prefix, limit in zip(prefixes, limits, strict=True):
        if len(prefix) > limit:
            raise ConfigError(f"a prefix of {len(prefix)} tokens does not fit into the length limit of {limit}")
        if any(token < 0 or token in options.ends for token in prefix):
            raise ConfigError("a prefix must hold token ids other than <eos>")


class SearchRequest(NamedTuple):
    """The input of an engine: some sentences, limits and prefixes for each of them, and options for all."""

    sources: Sequence[Sequence[int]]  # ids
    limits: Sequence[int]  # most tokens of each one's hypotheses
    options: SearchOptions
    prefixes: Prefixes  # tokens that they begin with

    def check(self) -> None:
        """Refuse limits and prefixes that a search cannot satisfy."""
        check_limits(self.limits, self.options, self.prefixes)

    def between(self, first: int, last: int) -> SearchRequest:
        """A request for the sentences from `first` to before `last`."""
        return SearchRequest(self.sources[first:last], self.limits[first:last], self.options, self.prefixes[first:last])

    def select(self, sentences: Sequence[int]) -> SearchRequest:
        """A request for these sentences alone, by index."""
        return SearchRequest(
            sources=[self.sources[i] for i in sentences],
            limits=[self.limits[i] for i in sentences],
            options=self.options,
            prefixes=[self.prefixes[i] for i in sentences],
        )
