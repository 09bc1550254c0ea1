"""The decoder in C++: int8 products, attention and the choice of tokens in one call a step.

It holds what `headwise.decode.engines.cpu` computes with the same int8 weights. Its caches grow by blocks that never
move, sentences share nothing, and rows are reordered by index: a row comes out the same, bit for bit, whatever is
computed with it and by however many threads.

Shapes: N sentences, S source length, R rows (live hypotheses of all sentences), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from headwise.decode.engines.native.description import describe, fits
from headwise.decode.engines.native.library import Engine, Placing, Search, supported, why_not
from headwise.errors import HeadwiseError
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.positions import Learned, PositionEncoding, Rotary, Sinusoidal

__all__ = ["NativeDecoder", "State", "fits", "supported", "why_not"]

FIRST_POSITIONS = 64
"""For which rows are made at once; more are made as they are needed."""


@dataclass(frozen=True)
class State:
    """Where a search stands. The caches are written in place, so a state is used once."""

    search: Search
    changes: int
    """Of the search, when this state was made."""
    length: int
    """Tokens so far."""

    def current(self) -> Search:
        if self.changes != self.search.changes:
            raise ValueError("this state was used already: a search goes on from the state that came back")
        return self.search


class NativeDecoder:
    """A `Stepper` over a copy of a model; the model itself may go."""

    def __init__(self, model: EncoderDecoder, threads: int | None = None) -> None:
        """In int8, whose weights are taken as they are, or in float32; `threads`: as many as PyTorch uses."""
        if not fits(model):
            raise HeadwiseError("the native engine does not know all parts of this model")
        self._engine = Engine(threads or torch.get_num_threads())
        describe(model, self._engine)
        self._pad = model.pad
        self._source = _Positions(model.source_positions, model.source_embedding.weight.shape[1])
        self._target = _Positions(model.target_positions, model.target_embedding.weight.shape[1])
        self._vocabulary = model.output_projection.weight.shape[0]
        self._banned: tuple[tuple[int, ...], Tensor | None] = ((), None)

    def start(self, source: Tensor) -> State:
        """The state before the first token of sources [N, S]. What is padding in them costs nothing."""
        real = source != self._pad
        places = real.nonzero()[:, 1].contiguous()
        search = Search(self._engine, source[real], places, real.sum(1), self._source.first(source.shape[1]))
        return State(search, search.changes, 0)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Tokens [R] -> log-probabilities [R, V] of the next, and the new state."""
        table = torch.empty(state.search.rows, self._vocabulary)
        return table, self._step(tokens, state, (), None, table)

    def best(
        self, tokens: Tensor, state: State, count: int, banned: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        """Tokens [R] -> the `count` likeliest next tokens that are not `banned`: their log-probabilities [R, count],
        themselves [R, count], likeliest first, of equals the first of the vocabulary; and the new state.

        Where fewer are left, the rest have a log-probability of minus infinity.
        """
        if count < 1:
            raise ValueError(f"at least one token must be asked for, not {count}")
        rows, count = state.search.rows, min(count, self._vocabulary)
        values, chosen = torch.empty(rows, count), torch.empty(rows, count, dtype=torch.int64)
        return values, chosen, self._step(tokens, state, banned, (values, chosen), None)

    def select(self, state: State, rows: Tensor) -> State:
        """The rows that each of the next rows goes on from: in any order, repeated or left out."""
        search = state.current()
        search.select(rows.to(torch.int64).contiguous())
        return replace(state, changes=search.changes)

    def _step(
        self,
        tokens: Tensor,
        state: State,
        banned: Sequence[int],
        best: tuple[Tensor, Tensor] | None,
        table: Tensor | None,
    ) -> State:
        search = state.current()
        if tokens.shape != (search.rows,):
            raise ValueError(f"a step takes a token for each of {search.rows} rows, not {tuple(tokens.shape)}")
        if tuple(banned) != self._banned[0]:
            self._banned = tuple(banned), torch.tensor(list(banned), dtype=torch.int64) if banned else None
        tokens = tokens.to(torch.int64).contiguous()
        search.step(tokens, self._target.single(state.length), self._banned[1], best, table)
        return replace(state, changes=search.changes, length=state.length + 1)


class _Positions:
    """What an encoding adds to embeddings, and by what it turns heads."""

    def __init__(self, encoding: PositionEncoding, width: int) -> None:
        self._encoding = encoding
        self._adds = isinstance(encoding, Sinusoidal | Learned)
        self._width = width
        self._rows = torch.empty(0, width)

    def first(self, count: int) -> Placing:
        """Of positions from 0 on."""
        return self._placing(self._up_to(count) if self._adds else None, range(count))

    def single(self, position: int) -> Placing:
        return self._placing(self._up_to(position + 1)[position] if self._adds else None, range(position, position + 1))

    def _up_to(self, count: int) -> Tensor:
        """At least so many rows: they are kept, and made in ever larger numbers."""
        if count > len(self._rows):
            wanted = max(count, 2 * len(self._rows), FIRST_POSITIONS)
            if isinstance(self._encoding, Learned):  # which says itself when there are no more
                wanted = max(count, min(wanted, self._encoding.weight.shape[0] - self._encoding.offset))
            with torch.no_grad():
                made = self._encoding.embed(torch.zeros(1, wanted, self._width), torch.arange(wanted))
            self._rows = made[0].float().contiguous()
        return self._rows

    def _placing(self, rows: Tensor | None, positions: range) -> Placing:
        if not isinstance(self._encoding, Rotary):
            return Placing(rows, None, None)
        rotation = self._encoding.rotation(torch.tensor(positions))
        return Placing(rows, rotation.cosine.float().contiguous(), rotation.sine.float().contiguous())
