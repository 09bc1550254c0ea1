"""The native decoder as a stepper: one step of the decoder in one call of the library.

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

from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.engines.native.native_search import NativeSearch
from headwise.decode.engines.plain import SteppingEngine
from headwise.decode.search.beam import beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest
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
            raise ValueError("this state was used already: a search continues from the state that was returned last")
        return self.search


class NativeDecoder:
    """A `Stepper` over a native model, for options that the search in C++ does not support."""

    def __init__(self, model: NativeModel) -> None:
        self.model = model

    def start(self, source: Tensor) -> NativeState:
        """The state before the first token of sources [N, S]. Their padding costs nothing."""
        search = self.model.start(source.tolist())
        return NativeState(search, search.changes, 0)

    def step(self, tokens: Tensor, state: NativeState) -> tuple[Tensor, NativeState]:
        """Tokens [R] -> log-probabilities [R, V] of the next, and the new state."""
        search = state.current()
        if tokens.shape != (search.rows,):
            raise ValueError(f"a step takes a token for each of {search.rows} rows, not {tuple(tokens.shape)}")
        table = torch.empty(search.rows, self.model.vocabulary)
        positions = self.model.target_positions.single(state.length)
        search.step(tokens.to(torch.int64).contiguous().numpy(), positions, table=table.numpy())
        return table, replace(state, changes=search.changes, length=state.length + 1)

    def select(self, state: NativeState, rows: Tensor) -> NativeState:
        """The state of these rows, in any order, repeated or left out."""
        search = state.current()
        search.select(rows.to(torch.int64).contiguous().numpy())
        return replace(state, changes=search.changes)


class NativeSteppingEngine(SteppingEngine[NativeState]):
    """The native decoder under the search of `headwise.decode.search`, with or without a shortlist."""

    def __init__(self, name: str, model: NativeModel) -> None:
        super().__init__(name, NativeDecoder(model), model.pad, torch.device("cpu"))
        self._model = model

    @torch.inference_mode()
    def search_within(self, request: SearchRequest, allowed: Sequence[Allowed]) -> list[list[Hypothesis]]:
        """`search` with the allowed tokens of each sentence alone."""
        state, limits = self.start(request)
        self._model.restrict(state.current(), allowed)
        return beam_search(self.stepper, state, limits, request.options, request.prefixes)
