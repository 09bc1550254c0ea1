"""Greedy and beam search over a step function: the search knows no model.

A model is a `Stepper`: tokens and a state in, log-probabilities and a new state out. All sentences of a batch
start together, so all rows have the same length at any time; a finished sentence leaves the batch.

Shapes: N sentences, R rows (live hypotheses of all sentences), V vocabulary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from headwise.decode.search.constraints import SearchStep, checked_limits, constrain, constraints
from headwise.decode.search.hypothesis import Hypothesis, length_penalty, no_next_token
from headwise.decode.search.options import Prefixes, SearchOptions
from headwise.decode.search.top_k import largest, likeliest
from headwise.decode.search.trace import Trace

State = TypeVar("State")


class Stepper(Protocol[State]):
    """A model, as far as a search needs one. The state is a value: passed in, passed out, never hidden."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Tokens [R] -> log-probabilities [R, V] of the next (float32, none above 0), and the new state."""
        ...

    def select(self, state: State, rows: Tensor) -> State:
        """The state of these rows, in this order; rows may repeat (beams) or be left out (finished)."""
        ...


def greedy(
    stepper: Stepper[State],
    state: State,
    max_lengths: Tensor,
    options: SearchOptions,
    prefixes: Prefixes | None = None,
) -> list[list[Hypothesis]]:
    """Greedy search, the likeliest token at each step: one hypothesis per sentence, of at most max_lengths [N] tokens.

    A length counts `<eos>`. `max_lengths` is on the model's device; `state` has one row per sentence.
    """
    return [[one] for one in walk(stepper, state, max_lengths, options, prefixes, likeliest)]


def beam_search(
    stepper: Stepper[State],
    state: State,
    max_lengths: Tensor,
    options: SearchOptions,
    prefixes: Prefixes | None = None,
) -> list[list[Hypothesis]]:
    """Up to nbest hypotheses per sentence, best first; arguments as for `greedy`.

    Hypotheses that never reached `<eos>` come last, and only where fewer than nbest did. A beam of one is
    greedy search: it has nothing to compare, so a length penalty must not make it continue past an `<eos>`.
    """
    if options.beam == 1:
        return greedy(stepper, state, max_lengths, options, prefixes)
    return _beam_search(stepper, state, max_lengths, options, prefixes)


@torch.no_grad()
def walk(
    stepper: Stepper[State],
    state: State,
    max_lengths: Tensor,
    options: SearchOptions,
    prefixes: Prefixes | None,
    pick: Callable[[Tensor], Tensor],
) -> list[Hypothesis]:
    """One hypothesis per row, its tokens picked by `pick`: constrained scores [R, V] -> tokens [R]."""
    limits = checked_limits(max_lengths, options, prefixes)
    rules = constraints(options, prefixes, max_lengths.device)
    active = list(range(len(limits)))
    found: dict[int, Hypothesis] = {}
    sentences = torch.arange(len(limits), device=max_lengths.device)
    tokens = torch.full_like(sentences, options.sos)
    trace = Trace.empty(len(limits), max_lengths.device)
    while active:
        log_probabilities, state = stepper.step(tokens, state)
        scores = constrain(rules, SearchStep(log_probabilities, trace.tokens, sentences))
        tokens = pick(scores)
        chosen = scores.gather(1, tokens.unsqueeze(1)).squeeze(1)
        if not bool((chosen > -math.inf).all()):
            raise no_next_token()
        trace = trace.extend(tokens, chosen)
        length = trace.tokens.shape[1]
        over = [
            token in options.ends or length == limits[sentence]
            for token, sentence in zip(tokens.tolist(), active, strict=True)
        ]
        if any(over):
            done = torch.tensor(over, device=tokens.device)
            ended = trace.select(done.nonzero().squeeze(1)).hypotheses(options)
            found.update(zip(itertools.compress(active, over), ended, strict=True))
            active = [sentence for sentence, gone in zip(active, over, strict=True) if not gone]
            rows = (~done).nonzero().squeeze(1)
            if active:
                trace, state = trace.select(rows), stepper.select(state, rows)
                tokens, sentences = tokens[rows], sentences[rows]
    return [found[sentence] for sentence in range(len(limits))]


def best_attainable(log_probability: float, length: int, limit: int, alpha: float) -> float:
    """The highest score that a live hypothesis of `length` tokens can still end with.

    Proof that no continuation scores higher. Let L <= 0 be its log-probability. Each further token adds a
    log-probability <= 0 (in floating point too: rounding is monotone), so it ends with some L' <= L and with
    a length l, where length + 1 <= l <= limit.
    - alpha >= 0: l**alpha <= limit**alpha, and dividing a number <= 0 by more brings it nearer to 0, so
      L' / l**alpha <= L / l**alpha <= L / limit**alpha.
    - alpha < 0: l**alpha falls as l grows, so the smallest l divides by most:
      L' / l**alpha <= L / l**alpha <= L / (length + 1)**alpha.
    The bound rises with L, and all live hypotheses of a sentence are equally long, so the likeliest of them
    bounds them all: once it cannot enter a full n-best list, none can, and none of those already in the list
    can be pushed out. To stop there returns what searching on to the length limit would.
    """
    return length_penalty(log_probability, limit if alpha >= 0 else length + 1, alpha)


class _Candidate(NamedTuple):
    """The part of a candidate that Python has to look at."""

    number: int  # its index in the flattened tables
    total: float


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The likeliest continuations of each active sentence, likeliest first; tables [A, C], C = twice the beam."""

    rows: Tensor  # the row each continues
    tokens: Tensor
    log_probabilities: Tensor  # of the tokens
    totals: Tensor  # of the whole hypotheses

    @classmethod
    def rank(cls, totals: Tensor, values: Tensor, tokens: Tensor, sentences: int, count: int) -> _Candidates:
        """The first `count` of each sentence, from the totals [R] of the live rows and their likeliest next tokens
        [R, at most count]."""
        width = totals.shape[0] // sentences
        sums = (totals.unsqueeze(1) + values).view(sentences, -1)
        sums, order = (part[:, :count] for part in sums.sort(dim=-1, descending=True, stable=True))
        first_rows = torch.arange(sentences, device=order.device).unsqueeze(1) * width
        return cls(
            rows=first_rows + order // values.shape[1],
            tokens=tokens.view(sentences, -1).gather(1, order),
            log_probabilities=values.view(sentences, -1).gather(1, order),
            totals=sums,
        )

    def sort_out(self, ends: Collection[int], beam: int) -> tuple[list[list[_Candidate]], list[list[_Candidate]]]:
        """For each sentence the candidates that end and those that live on, likeliest first.

        An `<eos>` ends a hypothesis only at one of the first `beam` ranks, where it would have been followed;
        further down it is no better than what a beam prunes.
        """
        ending: list[list[_Candidate]] = []
        living: list[list[_Candidate]] = []
        for totals, tokens in zip(self.totals.tolist(), self.tokens.tolist(), strict=True):
            first = len(ending) * self.totals.shape[1]
            possible = [  # the comparison is false for NaN too
                (rank, _Candidate(first + rank, total), token in ends)
                for rank, (total, token) in enumerate(zip(totals, tokens, strict=True))
                if total > -math.inf
            ]
            ending.append([candidate for rank, candidate, over in possible if over and rank < beam])
            living.append([candidate for _, candidate, over in possible if not over][:beam])
        return ending, living

    def extend(self, trace: Trace, chosen: Sequence[_Candidate]) -> tuple[Trace, Tensor]:
        """The hypotheses of these candidates, and the rows they continue."""
        index = torch.tensor([candidate.number for candidate in chosen], device=self.rows.device)
        rows = self.rows.flatten()[index]
        tokens, log_probabilities = self.tokens.flatten()[index], self.log_probabilities.flatten()[index]
        return trace.select(rows).extend(tokens, log_probabilities), rows

    def survive(self, trace: Trace, living: Sequence[list[_Candidate]]) -> tuple[Trace, Tensor]:
        """The rows of the next step from the candidates of each sentence that live on, and the rows they continue.

        A sentence with fewer than another fills its rows with copies of total -inf.
        """
        width = max(map(len, living))
        filled = [[*alive, *[alive[0]._replace(total=-math.inf)] * (width - len(alive))] for alive in living]
        chosen = [candidate for alive in filled for candidate in alive]
        trace, rows = self.extend(trace, chosen)
        if any(len(alive) < width for alive in living):
            trace = replace(trace, totals=torch.tensor([total for _, total in chosen], device=rows.device))
        return trace, rows


@dataclass
class _Sentence:
    """One sentence of a beam search: its length limit, and its n-best hypotheses so far, best first."""

    index: int
    limit: int
    best: list[Hypothesis] = field(default_factory=list)

    def admits(self, score: float, nbest: int) -> bool:
        """Whether a hypothesis of this score would enter the n-best; of equals, the first found stays."""
        return len(self.best) < nbest or score > self.best[nbest - 1].score

    def add(self, hypothesis: Hypothesis, nbest: int) -> None:
        """Add a hypothesis and keep the n-best; unfinished ones come after all finished ones."""
        found = [*self.best, hypothesis]
        self.best = sorted(found, key=lambda one: (not one.finished, -one.score))[:nbest]

    def goes_on(self, living: list[_Candidate], length: int, options: SearchOptions) -> bool:
        """Whether a live hypothesis may still enter the n-best."""
        if not living and not self.best:
            raise no_next_token()
        if not living or length == self.limit:
            return False
        best, counted = living[0].total, length - options.unscored
        attainable = best_attainable(best, counted, self.limit - options.unscored, options.length_penalty)
        if not self.admits(attainable, options.nbest):
            return False
        return options.exact or self.admits(options.score(best, length), options.kept)


@torch.no_grad()
def _beam_search(
    stepper: Stepper[State],
    state: State,
    max_lengths: Tensor,
    options: SearchOptions,
    prefixes: Prefixes | None,
) -> list[list[Hypothesis]]:
    """Beam search of any width; of width 1 and without a length penalty it agrees with `greedy`.

    One step, for all active sentences together:

    1. Score. Each live hypothesis is a row. The model computes the log-probability of every next token of every row,
       the constraints exclude some, and the likeliest `count` of each row remain (`largest`).
    2. Rank. A candidate is a row and a next token; its total is the row's total plus the token's log-probability. The
       candidates of all rows of a sentence are sorted together, and the first `count` remain (`_Candidates.rank`).
    3. Sort out. Candidates that end with `<eos>` among the first `beam` are finished; the first `beam` of the others
       live on. This is where the beam is pruned (`_Candidates.sort_out`).
    4. Collect. Finished candidates that are good enough enter the n-best list of their sentence, ranked by
       log-probability / length**alpha; at the length limit live ones fill the gaps (`_picks`, `_collect`).
    5. Stop. A sentence is over at its length limit, or once its best live hypothesis can no longer enter the n-best
       list (`_Sentence.goes_on`, proof in `best_attainable`); it leaves the batch.
    6. Reorder. Each surviving candidate becomes a row: the trace, the decoder's state and the last tokens are gathered
       from the rows that the candidates continue (`_Candidates.survive`, `stepper.select`).

    Before the first step a sentence has one row, afterwards up to `beam`. All rows have the same length, so one tensor
    holds them, and totals of different sentences are never compared.
    """
    device = max_lengths.device
    limits = checked_limits(max_lengths, options, prefixes)
    rules = constraints(options, prefixes, device)
    # At most `beam` candidates are `<eos>` (one per row), so `beam` others are left to live on. They are among the
    # likeliest 2 * beam of their row, so only those are added up and sorted. Every other end token adds `beam` more.
    count = (1 + len(options.ends)) * options.beam
    batch = [_Sentence(index, limit) for index, limit in enumerate(limits)]
    active = batch
    sentences = torch.arange(len(batch), device=device)
    tokens = torch.full_like(sentences, options.sos)
    trace = Trace.empty(len(batch), device)  # one row per sentence until there is something to choose from
    while active:
        log_probabilities, state = stepper.step(tokens, state)
        scores = constrain(rules, SearchStep(log_probabilities, trace.tokens, sentences))
        values, likely = largest(scores, min(count, scores.shape[1]))
        candidates = _Candidates.rank(trace.totals, values, likely, len(active), count)
        ending, living = candidates.sort_out(options.ends, options.beam)
        length = trace.tokens.shape[1] + 1
        _collect(candidates, trace, _picks(active, ending, living, length, options), options)
        going = [
            (sentence, alive)
            for sentence, alive in zip(active, living, strict=True)
            if sentence.goes_on(alive, length, options)
        ]
        active = [sentence for sentence, _ in going]
        if active:
            trace, rows = candidates.survive(trace, [alive for _, alive in going])
            state = stepper.select(state, rows)
            tokens = trace.tokens[:, -1]
            owners = torch.tensor([sentence.index for sentence in active], device=device)
            sentences = owners.repeat_interleave(len(tokens) // len(active))
    return [sentence.best[: options.nbest] for sentence in batch]


def _picks(
    active: list[_Sentence],
    ending: list[list[_Candidate]],
    living: list[list[_Candidate]],
    length: int,
    options: SearchOptions,
) -> list[tuple[_Sentence, _Candidate]]:
    """The candidates that become results: finished ones that are good enough, and at the length limit live ones that
    fill gaps in the n-best list."""
    picks: list[tuple[_Sentence, _Candidate]] = []
    for sentence, ended, alive in zip(active, ending, living, strict=True):
        for candidate in ended:
            score = options.score(candidate.total, length)
            if sentence.admits(score, options.kept):
                picks.append((sentence, candidate))
        if length == sentence.limit:
            gaps = max(0, options.nbest - len(sentence.best) - len(ended))
            picks.extend((sentence, candidate) for candidate in alive[:gaps])
    return picks


def _collect(
    candidates: _Candidates, trace: Trace, picks: list[tuple[_Sentence, _Candidate]], options: SearchOptions
) -> None:
    """Add the picked candidates to the n-best lists of their sentences."""
    if picks:
        done, _ = candidates.extend(trace, [candidate for _, candidate in picks])
        for (sentence, _), ended in zip(picks, done.hypotheses(options), strict=True):
            sentence.add(ended, options.kept)
