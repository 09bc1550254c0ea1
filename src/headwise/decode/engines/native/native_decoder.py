"""The native decoder as a stepper: int8 products, attention and the choice of tokens in one call per step.

It agrees with the int8 model in PyTorch (`headwise.decode.engines.plain`). Its caches grow by blocks that never move,
sentences share nothing, and rows are reordered by index: the result of a row is the same, bit for bit, whatever else is
computed with it and by however many threads.

Shapes: N sentences, S source length, R rows (live hypotheses of all sentences), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headwise.decode.engines.native.library import NativeSearch
from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.shortlist.shortlists import Allowed


@dataclass(frozen=True)
class NativeState:
    """The state of a running search. The caches are written in place, so a state is used once."""

    search: NativeSearch
    changes: int
    """The change count of the search when this state was returned."""
    length: int
    """Tokens so far."""

    def current(self) -> NativeSearch:
        if self.changes != self.search.changes:
            raise ValueError("this state was used already: a search goes on from the state that came back")
        return self.search


class NativeDecoder:
    """A `Stepper` over a native model, for searches that the native engine does not know itself."""

    def __init__(self, model: NativeModel) -> None:
        self.model = model
        self._banned: tuple[tuple[int, ...], Tensor | None] = ((), None)

    def start(self, source: Tensor) -> NativeState:
        """The state before the first token of sources [N, S]. Their padding costs nothing."""
        search = self.model.start(source.tolist())
        return NativeState(search, search.changes, 0)

    def restrict(self, state: NativeState, allowed: Sequence[Allowed]) -> NativeState:
        """Allow each sentence these tokens alone, in a state before the first token."""
        self.model.restrict(state.current(), allowed)
        return state

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        """Tokens [R] -> log-probabilities [R, V] of the next, and the new state."""
        table = torch.empty(state.search.rows, self.model.vocabulary)
        return table, self._step(tokens, state, (), None, table)

    def best(
        self, tokens: Tensor, state: NativeState, count: int, banned: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, NativeState]:
        """The `count` likeliest tokens after tokens [R] that are not `banned`: log-probabilities [R, count], ids
        [R, count], likeliest first, of equals the lower id first; and the new state.

        Where fewer are left, the rest have a log-probability of minus infinity.
        """
        if count < 1:
            raise ValueError(f"at least one token must be asked for, not {count}")
        rows, count = state.search.rows, min(count, self.model.vocabulary)
        values, chosen = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.int64)
        return values, chosen, self._step(tokens, state, banned, (values, chosen), None)

    def select(self, state: NativeState, rows: Tensor) -> NativeState:
        """The state of these rows, in any order, repeated or left out."""
        search = state.current()
        search.select(rows.to(torch.int64).contiguous().numpy())
        return replace(state, changes=search.changes)

    def _step(
        self,
        tokens: Tensor,
        state: NativeState,
        banned: Sequence[int],
        best: tuple[Tensor, Tensor] | None,
        table: Tensor | None,
    ) -> NativeState:
        search = state.current()
        if tokens.shape != (search.rows,):
            raise ValueError(f"a step takes a token for each of {search.rows} rows, not {tuple(tokens.shape)}")
        if tuple(banned) != self._banned[0]:
            self._banned = tuple(banned), torch.tensor(list(banned), dtype=torch.int64) if banned else None
        search.step(
            tokens.to(torch.int64).contiguous().numpy(),
            self.model.target_positions.single(state.length),
            None if self._banned[1] is None else self._banned[1].numpy(),
            None if best is None else (best[0].numpy(), best[1].numpy()),
            None if table is None else table.numpy(),
        )
        return replace(state, changes=search.changes, length=state.length + 1)
