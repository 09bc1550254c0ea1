"""IBM Model 1: translation probabilities of tokens, learnt from pairs of token sequences.

A pair is taken as two sets of tokens. Each target token t stems from one of the source tokens s, or from none; the
probability p(t | s) is estimated by expectation maximisation, starting from co-occurrence counts. Rare co-occurrences
are dropped at the start, so that the table fits into memory.

Pairs are processed by target token. Each block of target tokens has a small table of its own for its lookups: the cost
is some nanoseconds per co-occurring source and target token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwise.data.prepare.encoded_corpus import Flat

Numbers = NDArray[np.int64]

ITERATIONS = 2
SELDOM = 0.0003
"""Share of the pairs with a source token below which a co-occurring target token is taken for chance."""
UNLIKELY = 1e-5
"""Probability below which an entry is dropped between two iterations."""
BLOCK_CELLS = 1 << 23
"""Size of a block's table: target tokens of the block times source tokens."""
BLOCK_ENTRIES = 1 << 21
"""Approximate number of co-occurrences per block."""


@dataclass(frozen=True)
class LexicalTable:
    """The target tokens of each source token, likeliest first; those of s are `targets[offsets[s]:offsets[s + 1]]`."""

    offsets: Numbers
    """[vocabulary + 1]."""
    targets: NDArray[np.int32]
    probabilities: NDArray[np.float32]

    def of(self, source: int) -> NDArray[np.int32]:
        return self.targets[self.offsets[source] : self.offsets[source + 1]]


@dataclass(frozen=True)
class _Sets:
    """Sets of tokens, one after the other in one array."""

    tokens: NDArray[np.int32]
    starts: Numbers
    lengths: Numbers

    @classmethod
    def of(cls, sequences: Flat, vocabulary: int) -> _Sets:
        count = len(sequences.lengths)
        cells = np.repeat(np.arange(count) * vocabulary, sequences.lengths)
        cells += sequences.ids
        cells.sort()
        cells = cells[np.concatenate(([True], cells[1:] != cells[:-1]))]
        lengths = np.bincount(cells // vocabulary, minlength=count)
        return cls((cells % vocabulary).astype(np.int32), np.cumsum(lengths) - lengths, lengths)


@dataclass
class _Block:
    """A range of target tokens, the pairs that contain them, and the current estimate of p(t | s) for them."""

    first: int
    """The first target token of the range."""
    targets: NDArray[np.int32]
    pairs: NDArray[np.int32]
    """The pair of each entry of `targets`, sorted by token."""
    cells: NDArray[np.int32]
    """(t - first) * source tokens + s, ascending."""
    weights: NDArray[np.float32]
    """The expected count of each cell."""


def lexical_table(
    sources: Flat,
    targets: Flat,
    vocabulary: int,
    *,
    best: int,
    skip: Numbers | None = None,
    iterations: int = ITERATIONS,
    least: float = UNLIKELY,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> LexicalTable:
    """The `best` likeliest target tokens of each source token, of at least the probability `least`; none of `skip`.

    There are as many sources as targets, at least one, none of them empty; both sides use one `vocabulary`.
    `progress` receives how many blocks are done, and of how many.
    """
    learner = _Learner(_Sets.of(sources, vocabulary), _Sets.of(targets, vocabulary), vocabulary)
    total = (iterations + 1) * len(learner.bounds)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    learner.count(step)
    for _ in range(iterations):
        learner.improve(step)
    return learner.table(best, np.zeros(0, np.int64) if skip is None else skip, least)


class _Learner:
    def __init__(self, sources: _Sets, targets: _Sets, vocabulary: int) -> None:
        self._sources, self._vocabulary = sources, vocabulary
        self._none = vocabulary  # stands for no source token
        self._columns = vocabulary + 1
        pairs = np.repeat(np.arange(len(targets.lengths), dtype=np.int32), targets.lengths)
        order = np.argsort(targets.tokens, kind="stable")
        self._targets, self._pairs = targets.tokens[order], pairs[order]
        self.bounds = list(self._blocks())
        self._known: list[_Block] = []
        self._totals = np.zeros(self._columns)
        self._indices = np.zeros(BLOCK_CELLS + self._columns, np.int32)  # of cells in a block's table; 0: not there

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """The bounds of each block in the sorted target tokens."""
        costs = np.cumsum(self._sources.lengths[self._pairs] + 1)
        most = max(1, BLOCK_CELLS // self._columns)
        begin, end = 0, len(self._targets)
        while begin < end:
            spent = costs[begin - 1] if begin else 0
            by_cost = int(np.searchsorted(costs, spent + BLOCK_ENTRIES, "right"))
            last = self._targets[min(max(by_cost, begin), end - 1)]  # the token in which the block would end
            last = min(last, self._targets[begin] + most - 1)
            stop = int(np.searchsorted(self._targets, last, "left"))
            if stop <= begin:  # a token that is a block by itself
                stop = int(np.searchsorted(self._targets, self._targets[begin], "right"))
            yield begin, stop
            begin = stop

    def _entries(self, targets: NDArray[np.int32], pairs: NDArray[np.int32]) -> tuple[NDArray[np.int32], Numbers]:
        """The cells of every target token with every source token of its pairs, and with none; and where those of
        each (target token, pair) begin."""
        lengths = self._sources.lengths[pairs] + 1
        ends = np.cumsum(lengths)
        starts = ends - lengths
        indices = np.arange(ends[-1]) - np.repeat(starts - self._sources.starts[pairs], lengths)
        last = ends - 1
        indices[last] = 0
        tokens = self._sources.tokens[indices]
        tokens[last] = self._none
        rows = (targets - targets[0]) * np.int32(self._columns)
        return tokens + np.repeat(rows, lengths), starts

    def count(self, step: Callable[[], None]) -> None:
        """Count co-occurrences and drop the rare ones."""
        occurrences = np.bincount(self._sources.tokens, minlength=self._columns)
        occurrences[self._none] = len(self._sources.lengths)
        for begin, end in self.bounds:
            targets, pairs = self._targets[begin:end], self._pairs[begin:end]
            cells, _ = self._entries(targets, pairs)
            cells.sort()
            firsts = np.flatnonzero(np.concatenate(([True], cells[1:] != cells[:-1])))
            counts = np.diff(np.append(firsts, len(cells)))
            cells = cells[firsts]
            kept = counts > SELDOM * occurrences[cells % self._columns]
            block = _Block(int(targets[0]), targets, pairs, cells[kept], counts[kept].astype(np.float32))
            self._known.append(block)
            step()
        self._add_up()

    def _add_up(self) -> None:
        self._totals[:] = 0
        for block in self._known:
            self._totals += np.bincount(block.cells % self._columns, block.weights, self._columns)

    def improve(self, step: Callable[[], None]) -> None:
        """One iteration of expectation maximisation."""
        for block in self._known:
            chances = self._chances(block)
            cells, starts = self._entries(block.targets, block.pairs)
            self._indices[block.cells] = np.arange(1, len(block.cells) + 1, dtype=np.int32)
            indices = self._indices[cells]
            self._indices[block.cells] = 0
            shares = np.concatenate((np.zeros(1, np.float32), chances))[indices]
            sums = np.add.reduceat(shares, starts)
            lengths = np.diff(np.append(starts, len(cells)))
            shares *= np.repeat(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0), lengths)
            weights = np.bincount(indices, shares, len(block.cells) + 1)[1:]
            kept = chances > UNLIKELY
            block.cells, block.weights = block.cells[kept], weights[kept].astype(np.float32)
            step()
        self._add_up()

    def _chances(self, block: _Block) -> NDArray[np.float32]:
        """The probabilities p(t | s) of a block's cells."""
        totals = self._totals[block.cells % self._columns]
        chances: NDArray[np.float32] = (block.weights / np.maximum(totals, 1e-30)).astype(np.float32)
        return chances

    def table(self, best: int, skip: Numbers, least: float) -> LexicalTable:
        skipped = np.zeros(self._vocabulary, bool)
        skipped[skip] = True
        parts: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]] = []
        for block in self._known:
            chances = self._chances(block)
            sources, targets = block.cells % self._columns, block.cells // self._columns + block.first
            kept = (sources != self._none) & ~skipped[targets] & (chances >= least)
            parts.append((sources[kept], targets[kept].astype(np.int32), chances[kept]))
        sources, targets, chances = (np.concatenate([part[i] for part in parts]) for i in range(3))
        order = np.lexsort((targets, -chances, sources))
        sources, targets, chances = sources[order], targets[order], chances[order]
        offsets = np.searchsorted(sources, np.arange(self._vocabulary + 1))
        ranks = np.arange(len(sources)) - offsets[sources]
        kept = ranks < best
        counts = np.bincount(sources[kept], minlength=self._vocabulary)
        ends = np.concatenate(([0], np.cumsum(counts)))
        return LexicalTable(ends, targets[kept], chances[kept])
