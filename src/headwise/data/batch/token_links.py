"""Token alignments of training pairs: the source token that each target token is linked to, for guided alignment.

They are computed as batches are made, from translation probabilities of tokens in both directions. So they fit pairs
with noise and sampled segmentations, too, and depend on the tokens of a pair alone: a resumed run has the same ones.
"""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.data.prepare.encoded_corpus import Flat, run_indices
from headwise.data.prepare.workers import Workers
from headwise.text.tokenizer import Ids

SURE = 0.25
"""The least posterior of a link, as the geometric mean of both directions. Other tokens are not linked: most
links below it are wrong."""
DIAGONAL = 4.0
"""How fast a link becomes less likely with its distance from the diagonal, as in fast_align (Dyer et al., 2013)."""
CELLS = 1 << 19
"""Pairs of a source and a target token that are compared at a time, unless a single sentence pair has more."""
NONE = -1
"""The link of a token that has none."""


class LinkTable(NamedTuple):
    """Translation probabilities of tokens, in both directions."""

    cells: NDArray[np.int64]
    """target * vocabulary + source of each entry, ascending."""
    chances: NDArray[np.float32]
    """[2, entries]: p(target | source) and p(source | target)."""
    vocabulary: int

    def swapped(self) -> "LinkTable":
        """The table of the opposite direction."""
        cells = self.cells % self.vocabulary * self.vocabulary + self.cells // self.vocabulary
        order = np.argsort(cells)
        return LinkTable(cells[order], self.chances[::-1, order], self.vocabulary)


@dataclass(frozen=True)
class PairTask:
    """Sentence pairs of one direction, as ids without special tokens."""

    direction: tuple[str, str]
    source: Flat
    target: Flat


def link_tokens(tables: Mapping[tuple[str, str], LinkTable], task: PairTask) -> Ids:
    """The position in its source of the token that each target token is linked to, or `NONE`; targets end to end."""
    parts = [_linked(tables[task.direction], source, target) for source, target in _chunks(task.source, task.target)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _chunks(source: Flat, target: Flat) -> Iterator[tuple[Flat, Flat]]:
    """The pairs in chunks of at most `CELLS` cells, or of one pair."""
    sums = np.cumsum(source.lengths * target.lengths)
    ends = [np.append(0, np.cumsum(side.lengths)) for side in (source, target)]
    first = 0
    while first < len(sums):
        spent = int(sums[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sums, spent + CELLS, "right")))
        left, right = (
            Flat(side.ids[starts[first] : starts[last]], side.lengths[first:last])
            for side, starts in zip((source, target), ends, strict=True)
        )
        yield left, right
        first = last


def _linked(table: LinkTable, source: Flat, target: Flat) -> Ids:
    """`link_tokens` for some pairs at once."""
    linked = np.full(len(target.ids), NONE, np.int64)
    starts = np.repeat(np.cumsum(source.lengths) - source.lengths, target.lengths)  # of each target token's source
    widths = np.repeat(source.lengths, target.lengths)
    rows, columns = np.repeat(np.arange(len(widths)), widths), run_indices(starts, widths)
    cells = np.repeat(target.ids.astype(np.int64) * table.vocabulary, widths) + source.ids[columns]
    places = np.searchsorted(table.cells, cells)
    places[places == len(table.cells)] = 0
    known = np.flatnonzero(table.cells[places] == cells) if len(table.cells) else np.zeros(0, np.int64)
    if not len(known):
        return linked
    rows, columns, places = rows[known], columns[known], places[known]  # all others have the probability 0
    near = np.exp(-DIAGONAL * np.abs(_relative(target)[rows] - _relative(source)[columns]))
    onward, back = table.chances[:, places] * near
    onward /= np.bincount(rows, onward)[rows]
    back /= np.bincount(columns, back)[columns]
    posterior = np.sqrt(onward * back)
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    best = np.maximum.reduceat(posterior, firsts)
    hits = np.flatnonzero(posterior == np.repeat(best, np.diff(firsts, append=len(rows))))
    hits = hits[np.flatnonzero(np.diff(rows[hits], prepend=-1))]  # the first of equal ones
    hits = hits[best > SURE]
    linked[rows[hits]] = (columns - starts[rows])[hits]
    return linked


def _relative(side: Flat) -> NDArray[np.float64]:
    """The place of each token in its sentence, from 0 to 1."""
    lengths = np.repeat(side.lengths, side.lengths)
    places = np.arange(len(side.ids)) - np.repeat(np.cumsum(side.lengths) - side.lengths, side.lengths)
    relative: NDArray[np.float64] = (places + 0.5) / lengths
    return relative


class PairLinks:
    """The links of a run's training pairs, made by child processes where a GPU would wait for them."""

    def __init__(
        self,
        tables: Mapping[tuple[str, str], LinkTable],
        directions: Sequence[tuple[str, str]],
        workers: int = 0,
    ) -> None:
        """`directions`: that of each corpus; `workers`: the number of child processes."""
        self._directions = directions
        self._workers = Workers(workers)
        self._job = self._workers.job(link_tokens, dict(tables))
        if workers:
            weakref.finalize(self, self._workers.close)

    @property
    def makers(self) -> int:
        """Batches to make at the same time, so that the child processes have work while a batch is put together."""
        return self._workers.callers

    def of(self, groups: Sequence[tuple[int, Flat, Flat]]) -> list[Ids]:
        """The links of pairs, as `link_tokens` returns them; `groups`: the number of a corpus, and pairs of it."""
        tasks = [PairTask(self._directions[number], source, target) for number, source, target in groups]
        return [links for _, links in self._workers.run(self._job, tasks)]
