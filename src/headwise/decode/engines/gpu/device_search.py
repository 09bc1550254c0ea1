"""The search of `search/beam.py` in tensors of fixed shape, for a device that must not wait for Python.

Sentences have slots, and each slot has its own age: a finished slot is refilled while the others go on. A step changes
the tensors in place, so that a CUDA graph can hold it.

Shapes: N slots, B hypotheses of each, L tokens at most, C candidates, E finished hypotheses that are kept.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.decode.search.hypothesis import Hypothesis, length_divisor
from headwise.decode.search.options import SearchOptions
from headwise.nn.kernels import usable
from headwise.nn.kernels.likeliest import likeliest


class DeviceSearch:
    """Greedy or beam search in N slots."""

    def __init__(
        self, slots: int, length: int, options: SearchOptions, vocabulary: int, prefixed: bool, device: torch.device
    ) -> None:
        """`length`: the largest length limit. `prefixed`: whether translations may have a forced prefix."""
        B, E = options.beam, options.kept
        self.options, self.slots, self.length, self.device = options, slots, length, device
        self.done = torch.ones(slots, dtype=torch.bool, device=device)
        self.age = torch.zeros(slots, dtype=torch.long, device=device)
        self.limit = torch.zeros(slots, dtype=torch.long, device=device)
        self.tokens = torch.full((slots, B), options.sos, device=device)
        self.totals = torch.zeros(slots, B, device=device)
        self.history = torch.zeros(slots, B, length + 1, dtype=torch.long, device=device)
        self.forced = torch.full((slots, length + 1), -1, device=device) if prefixed else None
        self.parents = torch.arange(B, device=device).repeat(slots, 1)
        """The hypothesis that each one continues, after a step: [N, B]."""
        self._first_rows = torch.arange(slots, device=device)[:, None] * B
        self.ended_rank = torch.full((slots, E), -math.inf, device=device)
        self.ended_total = torch.zeros(slots, E, device=device)
        self.ended_length = torch.zeros(slots, E, dtype=torch.long, device=device)
        self.ended = torch.zeros(slots, E, length + 1, dtype=torch.long, device=device)
        self._banned = torch.zeros(vocabulary, dtype=torch.bool, device=device)
        self._banned[list(options.forbidden)] = True
        self.ends = torch.tensor(options.ends, device=device)
        self._candidates = min(B + len(options.ends), vocabulary) if B > 1 else 1
        """Candidates per row: at most B of its continuations live on, besides one for each end token."""

    def enter(self, slots: NDArray[np.int64], limits: Sequence[int], prefixes: Sequence[Sequence[int]]) -> None:
        """Begin a sentence in each of these slots."""
        given = sent(torch.from_numpy(np.stack((slots, np.array(limits)))), self.device)
        if usable(given):
            _kernels().enter(self, given)
        else:
            self._enter(given)
        if self.forced is not None:
            width = self.length + 1
            forced = torch.tensor([[*prefix, *[-1] * (width - len(prefix))] for prefix in prefixes])
            self.forced[given[0]] = sent(forced, self.device)

    def _enter(self, given: Tensor) -> None:
        """`enter` without a kernel; `given`: slots and limits, [2, n]."""
        chosen, limit = given
        self.done[chosen] = False
        self.age[chosen] = 0
        self.limit[chosen] = limit
        self.tokens[chosen] = self.options.sos
        self.totals[chosen] = -math.inf
        self.totals[chosen, 0] = 0.0
        self.ended_rank[chosen] = -math.inf

    def advance(self, logits: Tensor) -> None:
        """Advance all slots by one token, given logits [N * B, V]."""
        values, tokens, normaliser = likeliest(logits, self._candidates, self._banned)
        N, B = self.tokens.shape
        if B == 1 and self.forced is None and usable(logits):
            _kernels().advance_greedy(self, values, tokens, normaliser)
            return
        values, tokens = values.view(N, B, -1), tokens.view(N, B, -1)
        if self.forced is not None:
            # A forced token is a row's only candidate, with the model's own value, even if the search bans it.
            forced = self.forced.gather(1, self.age[:, None]).unsqueeze(1).expand(N, B, 1)  # -1: free
            own = logits.gather(1, forced.clamp_min(0).reshape(N * B, 1)).view(N, B, 1).float()
            only = torch.nn.functional.pad(own, (0, values.shape[2] - 1), value=-math.inf)
            values = torch.where(forced >= 0, only, values)
            tokens = torch.where(forced >= 0, forced, tokens)
        gained = (values - normaliser.view(N, B, 1)).clamp_max_(0.0)
        if self.options.unscored:
            scored = (self.age >= self.options.unscored)[:, None, None]
            gained[..., :1] = torch.where(scored, gained[..., :1], 0.0)  # a forced token is the first candidate
        if B == 1:
            self._advance_greedy(gained[:, 0], tokens[:, 0])
        else:
            self._advance_beam(gained, tokens)

    def _advance_greedy(self, gained: Tensor, token: Tensor) -> None:
        """Advance greedily by the log-probability and token [N, 1] of each slot."""
        going = ~self.done
        self.totals += gained * going[:, None]
        self.history.scatter_(2, self.age[:, None, None], token[:, None])  # beyond its end if it is done
        self.age += going
        self.tokens.copy_(token)
        self.done |= self._is_end(token.squeeze(1)) | (self.age >= self.limit)

    def _is_end(self, tokens: Tensor) -> Tensor:
        if len(self.ends) == 1:
            return tokens == self.ends
        return torch.isin(tokens, self.ends)

    def parent_rows(self) -> Tensor:
        """The row that each row continues, after a step: [N * B]."""
        return (self._first_rows + self.parents).flatten()

    def _advance_beam(self, gained: Tensor, tokens: Tensor) -> None:
        """Advance the beams by the log-probabilities and tokens [N, B, K] of their candidates."""
        options, (N, B, K) = self.options, tokens.shape
        going, age, alpha = ~self.done, self.age + 1, options.length_penalty
        count = (1 + len(options.ends)) * B
        totals, order = (self.totals.unsqueeze(2) + gained).view(N, B * K).sort(dim=-1, descending=True, stable=True)
        totals, order = totals[:, :count], order[:, :count]  # [N, C]
        parents, tokens = order // K, tokens.reshape(N, B * K).gather(1, order)
        ends = self._is_end(tokens)
        ranks_here = torch.arange(totals.shape[1], device=self.device)

        # The first B candidates that do not end live on.
        living = torch.where(ends, -math.inf, totals)
        totals_on, chosen = living.topk(B, -1)
        at_limit = age >= self.limit
        best = totals_on[:, 0]

        # Merge the candidates that end here with those that ended before.
        counted = (age - options.unscored).clamp_min(1).float()
        penalty = counted.pow(alpha).unsqueeze(1)
        here = torch.where(ends & (ranks_here < B) & going.unsqueeze(1), totals / penalty, -math.inf)
        ranks, kept = torch.cat((self.ended_rank, here), 1).topk(self.ended_rank.shape[1], -1)
        histories = self.history.gather(1, parents.unsqueeze(2).expand(-1, -1, self.length + 1))
        histories = histories.scatter(2, self.age[:, None, None].expand(-1, len(ranks_here), 1), tokens.unsqueeze(2))
        wide = kept.unsqueeze(2).expand(-1, -1, self.length + 1)
        self.ended.copy_(torch.cat((self.ended, histories), 1).gather(1, wide))
        self.ended_total.copy_(torch.cat((self.ended_total, totals), 1).gather(1, kept))
        lengths = torch.cat((self.ended_length, age.unsqueeze(1).expand(-1, len(ranks_here))), 1)
        self.ended_length.copy_(lengths.gather(1, kept))
        self.ended_rank.copy_(ranks)

        # Whether a sentence goes on: see `best_attainable` and `_Sentence.goes_on` in search/beam.py.
        furthest = (self.limit - options.unscored).clamp_min(1).float() if alpha >= 0 else counted + 1
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

    def results(self, slots: NDArray[np.int64]) -> Callable[[], list[list[Hypothesis]]]:
        """The n-best hypotheses of these finished slots; unfinished hypotheses come last.

        The tensors are copied to the host immediately; the returned function creates the hypotheses, while the device
        goes on.
        """
        chosen = sent(torch.from_numpy(slots), self.device)
        totals, ages = self.totals[chosen], self.age[chosen, None].expand(-1, self.options.beam)
        at_end = (self.age >= self.limit)[chosen, None] | (self.options.beam == 1)
        found = _Found(self.history[chosen], totals, ages, torch.where(at_end, totals, -math.inf))
        if self.options.beam > 1:
            ended = self.ended, self.ended_total, self.ended_length, self.ended_rank
            found = _Found(*(torch.cat((one[chosen], two), 1) for one, two in zip(ended, found, strict=True)))
            # Copy only the n-best.
            best = (~(found.ranks > -math.inf)).int().sort(dim=-1, stable=True).indices[:, : self.options.nbest]
            tokens = found.tokens.gather(1, best.unsqueeze(2).expand(-1, -1, self.length + 1))
            found = _Found(tokens, *(each.gather(1, best) for each in found[1:]))
        brought = _Found(*(each.cpu() for each in found))
        return lambda: self._hypotheses(brought)

    def _hypotheses(self, found: _Found) -> list[list[Hypothesis]]:
        """The hypotheses of all slots, computed in whole tensors where possible: a batch waits for this."""
        n, there = found.ranks.shape[1], found.ranks > -math.inf
        totals, lengths = found.totals.flatten(), found.lengths.flatten().clamp_min(1)  # 0 where there is none
        longest = int(lengths.max())
        tokens = found.tokens[:, :, :longest].flatten(0, 1)
        last = tokens.gather(1, lengths[:, None] - 1).squeeze(1)
        finished = torch.isin(last, torch.tensor(self.options.ends))
        divisors = [
            length_divisor(length - self.options.unscored, self.options.length_penalty) for length in range(longest + 1)
        ]
        scores = totals.double() / torch.tensor(divisors, dtype=torch.float64)[lengths]
        columns = tokens, lengths - finished.long(), scores, totals, finished
        with _garbage_collector_paused():
            created = [
                Hypothesis(ids if length == longest else ids[:length], score, total, over)
                for ids, length, score, total, over in zip(*(each.tolist() for each in columns), strict=True)
            ]
            lists = [created[i : i + n] for i in range(0, len(created), n)]
        if there.all():
            return lists
        return [list(itertools.compress(each, kept)) for each, kept in zip(lists, there.tolist(), strict=True)]


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device, or being copied there: PyTorch keeps the pinned memory until the copy is done."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


_PAUSING = threading.Lock()


@contextlib.contextmanager
def _garbage_collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: thousands of new lists would trigger it for milliseconds, to find nothing."""
    with _PAUSING:  # otherwise the second of two threads could find it off, and leave it off
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def _kernels() -> Any:
    from headwise.decode.engines.gpu import device_search_triton

    return device_search_triton


class _Found(NamedTuple):
    tokens: Tensor  # [n, hypotheses, L + 1]
    totals: Tensor  # [n, hypotheses]
    lengths: Tensor  # [n, hypotheses]
    ranks: Tensor  # [n, hypotheses], minus infinity where there is none
