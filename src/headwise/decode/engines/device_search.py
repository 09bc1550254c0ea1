"""The search of `search.py` for a device that must not wait for Python: all of it in tensors whose shapes never change.

Sentences have slots, and each slot its own age: one that is done is emptied and filled again while the others go on.
A step changes the tensors in place, so that it can be recorded once and played back.

Shapes: N slots, B hypotheses of each, L tokens at most, C candidates, E ended hypotheses that are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from headwise.decode.constraints import SearchOptions
from headwise.decode.hypothesis import Hypothesis, length_penalty
from headwise.decode.search import largest


class DeviceSearch:
    """Greedy or beam search in N slots."""

    def __init__(self, slots: int, length: int, options: SearchOptions, device: torch.device) -> None:
        """`length`: the largest limit there will be."""
        B, E = options.beam, options.kept
        self.options, self.slots, self.length, self.device = options, slots, length, device
        self.done = torch.ones(slots, dtype=torch.bool, device=device)
        self.age = torch.zeros(slots, dtype=torch.long, device=device)
        self.limit = torch.zeros(slots, dtype=torch.long, device=device)
        self.tokens = torch.full((slots, B), options.sos, device=device)
        self.totals = torch.zeros(slots, B, device=device)
        self.history = torch.zeros(slots, B, length + 1, dtype=torch.long, device=device)
        self.forced = torch.full((slots, length + 1), -1, device=device)
        self.parents = torch.arange(B, device=device).repeat(slots, 1)
        """[N, B]: the hypothesis that each goes on from, after a step."""
        self.ended_rank = torch.full((slots, E), -math.inf, device=device)
        self.ended_total = torch.zeros(slots, E, device=device)
        self.ended_length = torch.zeros(slots, E, dtype=torch.long, device=device)
        self.ended = torch.zeros(slots, E, length + 1, dtype=torch.long, device=device)
        self._banned = torch.tensor(options.forbidden, dtype=torch.long, device=device)
        self._ends = torch.tensor(options.ends, device=device)

    def enter(self, slots: Tensor, limits: Sequence[int], prefixes: Sequence[Sequence[int]]) -> None:
        """Begin a sentence in each of these slots."""
        options, n = self.options, len(slots)
        first = torch.full((n, options.beam), -math.inf, device=self.device)
        first[:, 0] = 0.0
        forced = torch.tensor(
            [[*prefix, *[-1] * (self.length + 1 - len(prefix))] for prefix in prefixes], device=self.device
        )
        self.done[slots] = False
        self.age[slots] = 0
        self.limit[slots] = torch.tensor(limits, device=self.device)
        self.tokens[slots] = options.sos
        self.totals[slots] = first
        self.forced[slots] = forced
        self.ended_rank[slots] = -math.inf

    def advance(self, logits: Tensor) -> None:
        """One token more, given logits [N * B, V]."""
        logits = logits.float()
        normaliser = logits.logsumexp(-1)  # of all: what is banned keeps its share, as in the model's own scores
        forced = self.forced.gather(1, self.age[:, None])  # [N, 1], -1: free
        # Of what a person asks for, the model's own value, though the search itself may be banned from saying it.
        own = logits.gather(1, forced.clamp_min(0).repeat_interleave(self.options.beam, 0))
        if len(self._banned):
            logits = logits.index_fill(1, self._banned, -math.inf)
        if self.options.beam == 1:
            self._advance_greedy(logits, normaliser, forced, own)
        else:
            self._advance_beam(logits, normaliser, forced, own)

    def _advance_greedy(self, logits: Tensor, normaliser: Tensor, forced: Tensor, own: Tensor) -> None:
        value, token = largest(logits, 1)
        value, token = torch.where(forced >= 0, own, value), torch.where(forced >= 0, forced, token)
        gained = (value.squeeze(1) - normaliser).clamp_max(0.0)
        going = ~self.done
        self.totals += torch.where(going, gained, 0.0).unsqueeze(1)
        self.history.scatter_(2, self.age[:, None, None], token[:, None])  # behind its end if it is done
        self.age += going
        self.tokens.copy_(token)
        ends = torch.isin(token.squeeze(1), self._ends)
        self.done |= ends | (self.age >= self.limit)

    def _advance_beam(self, logits: Tensor, normaliser: Tensor, forced: Tensor, own: Tensor) -> None:
        options, (N, B) = self.options, self.tokens.shape
        going, age, alpha = ~self.done, self.age + 1, options.length_penalty
        count = (1 + len(options.ends)) * B
        values, tokens = largest(logits, min(count, logits.shape[1]))
        K = values.shape[1]
        values, tokens = values.view(N, B, K), tokens.view(N, B, K)
        # A token that is forced is a row's only candidate.
        alone = forced.unsqueeze(1).expand(N, B, 1)
        only = torch.nn.functional.pad(own.view(N, B, 1), (0, K - 1), value=-math.inf)
        values = torch.where(alone >= 0, only, values)
        tokens = torch.where(alone >= 0, alone, tokens)
        gained = (values - normaliser.view(N, B, 1)).clamp_max(0.0)
        totals, order = (self.totals.unsqueeze(2) + gained).view(N, B * K).sort(dim=-1, descending=True, stable=True)
        totals, order = totals[:, :count], order[:, :count]  # [N, C]
        parents, tokens = order // K, tokens.reshape(N, B * K).gather(1, order)
        ends = torch.isin(tokens, self._ends)
        places = torch.arange(totals.shape[1], device=self.device)

        # What lives on: the first B that do not end.
        living = torch.where(ends, -math.inf, totals)
        totals_on, chosen = living.topk(B, -1)
        at_limit = age >= self.limit
        best = totals_on[:, 0]

        # What ended here beside what ended before.
        penalty = age.float().pow(alpha).unsqueeze(1)
        here = torch.where(ends & (places < B) & going.unsqueeze(1), totals / penalty, -math.inf)
        ranks, kept = torch.cat((self.ended_rank, here), 1).topk(self.ended_rank.shape[1], -1)
        histories = self.history.gather(1, parents.unsqueeze(2).expand(-1, -1, self.length + 1))
        histories = histories.scatter(2, self.age[:, None, None].expand(-1, len(places), 1), tokens.unsqueeze(2))
        wide = kept.unsqueeze(2).expand(-1, -1, self.length + 1)
        self.ended.copy_(torch.cat((self.ended, histories), 1).gather(1, wide))
        self.ended_total.copy_(torch.cat((self.ended_total, totals), 1).gather(1, kept))
        lengths = torch.cat((self.ended_length, age.unsqueeze(1).expand(-1, len(places))), 1)
        self.ended_length.copy_(lengths.gather(1, kept))
        self.ended_rank.copy_(ranks)

        # Whether a sentence goes on: see `best_attainable` and `_Sentence.goes_on` in search.py.
        furthest = self.limit.float() if alpha >= 0 else (age + 1).float()
        open_end = best / furthest.pow(alpha) > ranks[:, options.nbest - 1]
        if not options.exact:
            open_end &= best / penalty.squeeze(1) > ranks[:, options.kept - 1]
        goes_on = (best > -math.inf) & ~at_limit & open_end

        row = chosen.unsqueeze(2).expand(-1, -1, self.length + 1)
        still = self.done[:, None]
        self.history.copy_(torch.where(still.unsqueeze(2), self.history, histories.gather(1, row)))
        self.tokens.copy_(torch.where(still, self.tokens, tokens.gather(1, chosen)))
        self.totals.copy_(torch.where(still, self.totals, totals_on))
        self.parents.copy_(torch.where(still, torch.arange(B, device=self.device), parents.gather(1, chosen)))
        self.age += going
        self.done |= ~goes_on

    def results(self, slots: Sequence[int]) -> list[list[Hypothesis]]:
        """The n-best of these slots, whose sentences are done. What the limit cut off comes last."""
        chosen = torch.tensor(slots, dtype=torch.long, device=self.device)
        ended = _Found(self.ended[chosen], self.ended_total[chosen], self.ended_length[chosen], self.ended_rank[chosen])
        at_end = (self.age >= self.limit)[chosen, None] | (self.options.beam == 1)
        ages = self.age[chosen, None].expand(-1, self.options.beam)
        totals = self.totals[chosen]
        live = _Found(self.history[chosen], totals, ages, torch.where(at_end, totals, -math.inf))
        columns = [torch.cat(parts, 1).tolist() for parts in zip(ended, live, strict=True)]
        return [self._hypotheses(*each) for each in zip(*columns, strict=True)]

    def _hypotheses(
        self, tokens: list[list[int]], totals: list[float], lengths: list[int], ranks: list[float]
    ) -> list[Hypothesis]:
        found: list[Hypothesis] = []
        for ids, total, length, rank in zip(tokens, totals, lengths, ranks, strict=True):
            if rank > -math.inf and len(found) < self.options.nbest:
                finished = ids[length - 1] in self.options.ends
                score = length_penalty(total, length, self.options.length_penalty)
                found.append(Hypothesis(ids[: length - finished], score, total, [], finished))
        return found


class _Found(NamedTuple):
    tokens: Tensor  # [n, hypotheses, L + 1]
    totals: Tensor  # [n, hypotheses]
    lengths: Tensor  # [n, hypotheses]
    ranks: Tensor  # [n, hypotheses], minus infinity where there is none
