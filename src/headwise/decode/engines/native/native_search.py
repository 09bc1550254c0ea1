"""Searches in the native library: decoder steps one by one, or a whole greedy or beam search."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import c_int, c_int64, c_void_p

import numpy as np

from headwise.decode.engines.native.library import Floats, NativeHandle, Numbers, SearchSettings, address
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest

SLOTS = 16
"""Entries per block of a cache, as in cache.h."""


class PositionRows:
    """A table of positions: rows [T, D] to add to embeddings, and cosines and sines [T, R/2] to rotate heads."""

    def __init__(self, rows: Floats | None, cosine: Floats | None, sine: Floats | None) -> None:
        self.arrays = (rows, cosine, sine)  # holds their memory until it is read
        self.arguments = (
            *(address(each, np.float32) for each in self.arrays),
            0 if cosine is None else cosine.shape[-1],
        )


class Selection:
    """Tokens that all sentences of a search may use, ascending; freed with this object."""

    def __init__(self, engine: NativeHandle, tokens: Numbers) -> None:
        self.tokens = tokens
        self.handle = c_void_p()
        engine.library.call(
            "selection_new", engine.handle, address(tokens, np.int64), len(tokens), ctypes.byref(self.handle)
        )
        self.close = weakref.finalize(self, engine.library.selection_free, self.handle)


class NativeSearch:
    """A running search with its entries in an engine's caches; freed with this object."""

    def __init__(
        self, engine: NativeHandle, tokens: Numbers, positions: Numbers, lengths: Numbers, table: PositionRows
    ) -> None:
        """The tokens of all sentences one after the other, their positions, and the sentences' lengths."""
        if not len(tokens) == len(positions) == int(lengths.sum()):
            raise ValueError("the lengths of the sentences must add up to the tokens")
        self.engine = engine
        self.changes = 0
        """Number of changes so far: a state of an earlier change is no longer valid."""
        self.sentences = self.rows = len(lengths)
        made = c_void_p()
        given = [address(each, np.int64) for each in (tokens, positions, lengths)]
        engine.library.call("search_new", engine.handle, *given, len(lengths), *table.arguments, ctypes.byref(made))
        self.handle = made
        self.close = weakref.finalize(self, engine.library.search_free, made)

    def restrict(self, common: Selection, own: Sequence[Numbers], sure: float) -> None:
        """Allow each sentence the common tokens and its own, ascending, none in both; before the first step.

        At a step where no allowed token has at least the log-probability `sure`, all tokens are allowed.
        """
        if len(own) != self.sentences:
            raise ValueError(f"{self.sentences} sentences need a list of tokens each, not {len(own)}")
        tokens, counts = np.concatenate(own), _numbers([*map(len, own)])
        given = address(tokens, np.int64), address(counts, np.int64)
        self.engine.library.call("search_restrict", self.handle, common.handle, *given, sure)

    def select(self, rows: Numbers) -> None:
        self.engine.library.call("search_select", self.handle, address(rows, np.int64), len(rows))
        self.rows = len(rows)
        self.changes += 1

    def step(
        self,
        tokens: Numbers,
        positions: PositionRows,
        *,
        table: Floats | None = None,
        attention: tuple[Floats, int] | None = None,
    ) -> None:
        """Decode tokens [R]. Writes log-probabilities to the `table` [R, V], and to `attention` the cross-attention
        [R, H, S] of the layer that is given with it, S padded to a multiple of `SLOTS`."""
        weights, layer = attention or (None, 0)
        self.engine.library.call(
            "search_step",
            self.handle,
            address(tokens, np.int64),
            len(tokens),
            *positions.arguments,
            address(table, np.float32),
            address(weights, np.float32),
            0 if weights is None else weights.shape[-1],
            layer,
        )
        self.changes += 1


class NativeBeamSearch:
    """A whole greedy or beam search, which continues a `NativeSearch` before its first step."""

    def __init__(self, search: NativeSearch, request: SearchRequest) -> None:
        _, limits, options, prefixes = request
        if not len(limits) == len(prefixes) == search.rows:
            raise ValueError(f"{search.rows} sentences need a limit and a prefix each")
        self._search = search
        settings = SearchSettings(
            sos=options.sos,
            beam=options.beam,
            nbest=options.nbest,
            kept=options.kept,
            min_length=options.min_length,
            unscored=options.unscored,
            exact=int(options.exact),
            length_penalty=options.length_penalty,
        )
        ends, forbidden = _numbers(options.ends), _numbers(options.forbidden)
        given, lengths = _numbers([token for prefix in prefixes for token in prefix]), _numbers([*map(len, prefixes)])
        longest = _numbers(limits)
        made = c_void_p()
        search.engine.library.call(
            "beam_new",
            search.handle,
            ctypes.byref(settings),
            *(address(ends, np.int64), len(ends), address(forbidden, np.int64), len(forbidden)),
            *(address(each, np.int64) for each in (longest, given, lengths)),
            ctypes.byref(made),
        )
        self._handle = made
        self.close = weakref.finalize(self, search.engine.library.beam_free, made)

    def run(self, table: PositionRows, length: int) -> bool:
        """Search on to this length, for which `table` has positions; True if all sentences are done."""
        done = c_int()
        self._search.engine.library.call(
            "beam_run", self._handle, self._search.handle, *table.arguments, length, ctypes.byref(done)
        )
        return bool(done.value)

    def results(self) -> list[list[Hypothesis]]:
        """The n-best of each sentence, best first."""
        call, total = self._search.engine.library.call, c_int64()
        counts = np.empty(self._search.sentences, np.int64)
        call("beam_sizes", self._handle, address(counts, np.int64), ctypes.byref(total))
        found = int(counts.sum())
        lengths, finished, scores = np.empty(found, np.int64), np.empty(found, np.int64), np.empty(found, np.float64)
        sums, tokens = np.empty(found, np.float32), np.empty(total.value, np.int64)
        where = [each.ctypes.data for each in (lengths, finished, sums, scores, tokens)]
        call("beam_results", self._handle, *where)
        ends = np.cumsum(lengths)
        hypotheses = iter(
            Hypothesis(
                tokens=tokens[end - length : end - over].tolist(),
                score=score,
                log_probability=log_probability,
                finished=bool(over),
            )
            for end, length, over, score, log_probability in zip(
                *(each.tolist() for each in (ends, lengths, finished, scores, sums)), strict=True
            )
        )
        return [[next(hypotheses) for _ in range(count)] for count in counts.tolist()]


def _numbers(values: Sequence[int]) -> Numbers:
    return np.array(values, np.int64)
