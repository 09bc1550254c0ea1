"""Sentence pairs as padded tensors, in batches of nearly equal lengths."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.plan import POOL, Indices, Mixture, Widths, by_length, cut, epoch_batches
from headwise.data.batch.stream import Planned, to_device
from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedSide
from headwise.data.prepare.result import TrainCorpus
from headwise.text.random_bits import bits_at
from headwise.text.tokenizer import Ids, Keys

Sampler = Callable[[Ids, Ids, Keys], tuple[Ids, Ids]]
"""Draws other segmentations of texts: from their ids end to end, the length of each, and a random number for each,
which alone decides what is drawn for it."""


class SpecialTokens(Protocol):
    """The part of a tokenizer that batches need."""

    @property
    def pad(self) -> int: ...
    @property
    def eos(self) -> int: ...
    def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
        """The ids before and after a source: language tags, EOS."""

    def decoder_start(self, target: str) -> int: ...
    def target_start(self, target: str) -> list[int]:
        """The ids that a target begins with, after `decoder_start`."""


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """Sentence pairs, one per row."""

    source: torch.Tensor
    """[B, S] int64: the source ids with tags and EOS; then padding."""
    target: torch.Tensor
    """[B, T+1] int64: the decoder's start token, the target ids, EOS; then padding. [:, :-1] goes in, [:, 1:] is
    predicted."""
    examples: list[tuple[int, int]]
    """The corpus of each row and its index there: `corpus.where(index)` is its file and line."""
    source_tokens: int
    """Source tokens without padding."""
    target_tokens: int
    """Tokens to predict: the target ids and EOS of each row."""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def count(self) -> int:
        return self.target_tokens

    def part(self, rows: slice) -> "PaddedBatch":
        """Some of its rows. The token counts stay those of the whole batch: no loss depends on them."""
        return replace(self, source=self.source[rows], target=self.target[rows], examples=self.examples[rows])

    def to(self, device: torch.device) -> "PaddedBatch":
        return to_device(self, device)


class PairRows:
    """Makes tensors of sentence pairs, which are numbered through several corpora."""

    def __init__(
        self, corpora: Sequence[TrainCorpus], tokens: SpecialTokens, seed: int, sampler: Sampler | None
    ) -> None:
        self.corpora = [each.corpus for each in corpora]
        self.pad = tokens.pad
        self.source_frames = [tokens.source_frame(each.source_language, each.target_language) for each in corpora]
        targets = [each.target_language for each in corpora]
        starts = [[tokens.decoder_start(target), *tokens.target_start(target)] for target in targets]
        self.target_frames = [(start, [tokens.eos]) for start in starts]
        self.seed = seed
        self.sampler = sampler
        self.ends = np.cumsum([len(corpus) for corpus in self.corpora], dtype=np.int64)
        self.source_widths = _widths([corpus.source for corpus in self.corpora], self.source_frames)
        self.target_widths = _widths([corpus.target for corpus in self.corpora], self.target_frames)

    def batch(self, members: Indices, epoch: int) -> PaddedBatch:
        corpora = np.searchsorted(self.ends, members, side="right")
        sizes = np.array([len(corpus) for corpus in self.corpora], np.int64)
        indices = members - (self.ends - sizes)[corpora]
        source, target, source_tokens, target_tokens = [], [], 0, 0
        for number in np.unique(corpora).tolist():
            corpus, rows = self.corpora[number], np.flatnonzero(corpora == number)
            left = self._sequences(corpus.source, indices[rows], (epoch, number, 0))
            right = self._sequences(corpus.target, indices[rows], (epoch, number, 1))
            source.append(_CorpusRows(rows, self.source_frames[number], *left))
            target.append(_CorpusRows(rows, self.target_frames[number], *right))
            source_tokens += len(left[0]) + len(rows) * source[-1].framing
            target_tokens += len(right[0]) + len(rows) * (target[-1].framing - 1)  # the start token is given
        return PaddedBatch(
            torch.from_numpy(self._padded(source, len(members))),
            torch.from_numpy(self._padded(target, len(members))),
            list(zip(corpora.tolist(), indices.tolist(), strict=True)),
            source_tokens,
            target_tokens,
        )

    def longest(self, batch_tokens: int) -> PaddedBatch:
        """The batch of this budget that takes the most memory: the longest pair, repeated."""
        widths = np.maximum(self.source_widths, self.target_widths)
        member = int(widths.argmax())
        return self.batch(np.full(max(1, batch_tokens // int(widths[member])), member), 0)

    def lines(self, examples: Sequence[tuple[int, int]]) -> list[str]:
        """Where pairs come from: file and line."""
        return [self.corpora[corpus].where(index) for corpus, index in examples]

    def _sequences(self, side: EncodedSide, indices: Ids, key: tuple[int, int, int]) -> tuple[Ids, Ids]:
        """The ids of examples end to end, and the length of each. `key`: epoch, corpus, side."""
        starts = side.offsets[indices].astype(np.int64)
        lengths = side.offsets[indices + 1].astype(np.int64) - starts
        ids = gather(side.ids, starts, lengths)
        return (
            (ids, lengths) if self.sampler is None else self.sampler(ids, lengths, bits_at((self.seed, *key), indices))
        )

    def _padded(self, groups: list["_CorpusRows"], count: int) -> NDArray[np.int64]:
        """[count, width]: in each row the ids in their frame, then padding."""
        width = max(int(group.lengths.max()) + group.framing for group in groups)
        block = np.full((count, width), self.pad, np.int64)
        for group in groups:
            before, after = group.frame
            shift = len(before)
            block[group.rows, :shift] = before
            block.reshape(-1)[run_indices(group.rows * width + shift, group.lengths)] = group.ids
            for offset, token in enumerate(after):
                block[group.rows, group.lengths + shift + offset] = token
        return block


class _CorpusRows(NamedTuple):
    """The rows of a batch that come from one corpus: sequences end to end, and the ids around each."""

    rows: NDArray[np.int64]
    frame: tuple[list[int], list[int]]
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def framing(self) -> int:
        """Tokens that the frame adds to a row."""
        return len(self.frame[0]) + len(self.frame[1])


def _widths(sides: Sequence[EncodedSide], frames: Sequence[tuple[list[int], list[int]]]) -> Widths:
    """The width of every row as a tensor, its frame included."""
    widths = [side.lengths + np.int32(len(b) + len(a)) for side, (b, a) in zip(sides, frames, strict=True)]
    return np.concatenate([np.zeros(0, np.int32), *widths])


class PaddedPairStream:
    """Shuffled batches of several corpora within a budget of tokens.

    `batch_tokens` limits rows times the width of the wider side, padding included. A longer pair makes a batch of its
    own. A `sampler` is called after a batch is planned: where it draws longer segmentations, rows exceed the limit.
    """

    uniform = False

    def __init__(
        self,
        corpora: Sequence[TrainCorpus],
        tokens: SpecialTokens,
        batch_tokens: int,
        seed: int,
        sampler: Sampler | None = None,
        pool: int = POOL,
    ) -> None:
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.pool = pool
        self._rows = PairRows(corpora, tokens, seed, sampler)
        self._mixture = Mixture([len(each.corpus) for each in corpora], [each.weight for each in corpora], seed)

    def epoch(self, epoch: int) -> Iterator[Planned[PaddedBatch]]:
        source, target = self._rows.source_widths, self._rows.target_widths
        order = self._mixture.order(epoch)
        for pool in epoch_batches(order, source, target, self.batch_tokens, self.seed, epoch, self.pool):
            for members in pool:
                yield self._plan(members, epoch)

    def _plan(self, members: Indices, epoch: int) -> Planned[PaddedBatch]:
        return Planned(len(members), lambda rows: self._rows.batch(members[rows], epoch))

    def longest(self, batch_tokens: int) -> PaddedBatch:
        return self._rows.longest(batch_tokens)

    def lines(self, batch: PaddedBatch) -> list[str]:
        return self._rows.lines(batch.examples)


def ordered_pairs(
    corpus: EncodedCorpus,
    tokens: SpecialTokens,
    batch_tokens: int,
    target_language: str = "",
    limit: int = 0,
    source_language: str = "",
) -> Iterator[PaddedBatch]:
    """Every pair (or the first `limit`) exactly once, sorted by length: their order does not matter."""
    rows = PairRows([TrainCorpus(corpus, 1.0, source_language, target_language)], tokens, 0, None)
    count = min(limit, len(corpus)) if limit else len(corpus)
    source, target = rows.source_widths[:count], rows.target_widths[:count]
    order = by_length(source, target)
    for members in cut(order, np.maximum(source, target)[order], batch_tokens):
        yield rows.batch(members, 0)


def gather(ids: NDArray[Any], starts: Ids, lengths: Ids) -> Ids:
    """[sum of lengths] int64: `ids[starts[i] : starts[i] + lengths[i]]` for each i, end to end."""
    return np.asarray(ids).take(run_indices(starts, lengths)).astype(np.int64)


def run_indices(starts: Ids, lengths: Ids) -> Ids:
    """The indices `starts[i]`, `starts[i] + 1`, ... of each run, end to end.

    They name where runs come from, or where they go: in a padded block, row i begins at i * width.
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
