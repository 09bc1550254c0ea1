"""Sentence pairs as padded tensors, in batches of nearly equal lengths."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.plan import POOL, Indices, Mixture, Widths, by_length, cut, epoch_batches
from headwise.data.batch.stream import Planned, to_device
from headwise.data.batch.token_links import NONE, PairLinks
from headwise.data.noise.pair_noise import PairNoise
from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedSide, Flat, gather, run_indices
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
    links: torch.Tensor | None = None
    """[B, T] int64: the position in the source that each token of target[:, :-1] is linked to, or -1; for guided
    alignment."""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def count(self) -> int:
        return self.target_tokens

    def part(self, rows: slice) -> "PaddedBatch":
        """Some of its rows. The token counts stay those of the whole batch: no loss depends on them."""
        links = None if self.links is None else self.links[rows]
        return replace(
            self, source=self.source[rows], target=self.target[rows], examples=self.examples[rows], links=links
        )

    def to(self, device: torch.device) -> "PaddedBatch":
        return to_device(self, device)


class PairRows:
    """Makes tensors of sentence pairs, which are numbered through several corpora."""

    def __init__(
        self,
        corpora: Sequence[TrainCorpus],
        tokens: SpecialTokens,
        seed: int,
        sampler: Sampler | None = None,
        noise: PairNoise | None = None,
        links: PairLinks | None = None,
    ) -> None:
        self.corpora = [each.corpus for each in corpora]
        self.pad = tokens.pad
        self.source_frames = [tokens.source_frame(each.source_language, each.target_language) for each in corpora]
        targets = [each.target_language for each in corpora]
        starts = [[tokens.decoder_start(target), *tokens.target_start(target)] for target in targets]
        self.target_frames = [(start, [tokens.eos]) for start in starts]
        self.seed = seed
        self.sampler = sampler
        self.noise = noise
        self.links = links
        self.makers = max([1, *(each.makers for each in (noise, links) if each is not None)])
        """Batches to make at the same time."""
        self.ends = np.cumsum([len(corpus) for corpus in self.corpora], dtype=np.int64)
        self.source_widths = _widths([corpus.source for corpus in self.corpora], self.source_frames)
        self.target_widths = _widths([corpus.target for corpus in self.corpora], self.target_frames)

    def widths(self, epoch: int) -> tuple[Widths, Widths]:
        """The widths of all rows in an epoch, source and target; those of noisy rows are estimates."""
        if self.noise is None:
            return self.source_widths, self.target_widths
        source, target = self.source_widths.copy(), self.target_widths.copy()
        for number, (corpus, end) in enumerate(zip(self.corpora, self.ends.tolist(), strict=True)):
            rows = slice(end - len(corpus), end)
            source[rows], target[rows] = self.noise.widths(epoch, number, source[rows], target[rows])
        return source, target

    def exact_widths(self, members: Indices, epoch: int) -> tuple[Widths, Widths]:
        """The widths of some rows in an epoch, source and target; noise is made for them."""
        source, target = self.source_widths[members], self.target_widths[members]
        if self.noise is not None:
            for number, rows, indices, (left, right) in self._pairs(*self._examples(members), epoch):
                corpus = self.corpora[number]
                source[rows] += (left.lengths - corpus.source.lengths[indices]).astype(np.int32)
                target[rows] += (right.lengths - corpus.target.lengths[indices]).astype(np.int32)
        return source, target

    @property
    def longest_row(self) -> int:
        """The width of the widest row, with noise too."""
        longest = max(int(self.source_widths.max()), int(self.target_widths.max()))
        if self.noise is None:
            return longest
        framing = max(len(before) + len(after) for before, after in (*self.source_frames, *self.target_frames))
        return max(longest, self.noise.longest + framing)

    def batch(self, members: Indices, epoch: int, noisy: bool = True) -> PaddedBatch:
        corpora, indices = self._examples(members)
        source, target, source_tokens, target_tokens = [], [], 0, 0
        groups: list[tuple[int, Flat, Flat]] = []
        for number, rows, those, (left, right) in self._pairs(corpora, indices, epoch, noisy):
            left = self._sampled(left, those, (epoch, number, 0))
            right = self._sampled(right, those, (epoch, number, 1))
            groups.append((number, left, right))
            source.append(_CorpusRows(rows, self.source_frames[number], *left))
            target.append(_CorpusRows(rows, self.target_frames[number], *right))
            source_tokens += len(left.ids) + len(rows) * source[-1].framing
            target_tokens += len(right.ids) + len(rows) * (target[-1].framing - 1)  # the start token is given
        return PaddedBatch(
            torch.from_numpy(_padded(source, len(members), self.pad)),
            torch.from_numpy(_padded(target, len(members), self.pad)),
            list(zip(corpora.tolist(), indices.tolist(), strict=True)),
            source_tokens,
            target_tokens,
            None if self.links is None else self._linked(self.links.of(groups), source, target, len(members)),
        )

    @staticmethod
    def _linked(
        links: Sequence[Ids], source: list["_CorpusRows"], target: list["_CorpusRows"], count: int
    ) -> torch.Tensor:
        """[count, T]: the links of the pairs in their frames, which have none."""
        groups = []
        for found, left, right in zip(links, source, target, strict=True):
            before, after = right.frame
            frame = [NONE] * len(before), [NONE] * len(after)
            shifted = np.where(found == NONE, NONE, found + len(left.frame[0]))
            groups.append(_CorpusRows(right.rows, frame, shifted, right.lengths))
        return torch.from_numpy(_padded(groups, count, NONE)[:, :-1].copy())

    def longest(self, batch_tokens: int) -> PaddedBatch:
        """The batch of this budget that takes the most memory: the longest pair, repeated."""
        widths = np.maximum(self.source_widths, self.target_widths)
        member = int(widths.argmax())
        return self.batch(np.full(max(1, batch_tokens // int(widths[member])), member), 0, noisy=False)

    def lines(self, examples: Sequence[tuple[int, int]]) -> list[str]:
        """Where pairs come from: file and line."""
        return [self.corpora[corpus].where(index) for corpus, index in examples]

    def _examples(self, members: Indices) -> tuple[Indices, Indices]:
        """The corpus of each member, and its index there."""
        corpora = np.searchsorted(self.ends, members, side="right")
        sizes = np.array([len(corpus) for corpus in self.corpora], np.int64)
        return corpora, members - (self.ends - sizes)[corpora]

    def _pairs(
        self, corpora: Indices, indices: Indices, epoch: int, noisy: bool = True
    ) -> Iterator[tuple[int, Indices, Indices, tuple[Flat, Flat]]]:
        """Corpus by corpus: its number, the rows of its examples, their indices, and their two sides.

        If they are to be `noisy`, with the noise of the epoch.
        """
        numbers: list[int] = np.unique(corpora).tolist()
        rows = [np.flatnonzero(corpora == number) for number in numbers]
        those = [indices[each] for each in rows]
        pairs = []
        for number, each in zip(numbers, those, strict=True):
            corpus = self.corpora[number]
            pairs.append((_sequences(corpus.source, each), _sequences(corpus.target, each)))
        if self.noise is not None and noisy:
            pairs = self.noise.change(epoch, list(zip(numbers, those, pairs, strict=True)))
        return zip(numbers, rows, those, pairs, strict=True)

    def _sampled(self, side: Flat, indices: Ids, key: tuple[int, int, int]) -> Flat:
        """The sequences in segmentations that the sampler draws. `key`: epoch, corpus, side."""
        return side if self.sampler is None else Flat(*self.sampler(*side, bits_at((self.seed, *key), indices)))


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


def _padded(groups: list[_CorpusRows], count: int, fill: int) -> NDArray[np.int64]:
    """[count, width]: in each row the ids in their frame, then `fill`."""
    width = max(int(group.lengths.max()) + group.framing for group in groups)
    block = np.full((count, width), fill, np.int64)
    for group in groups:
        before, after = group.frame
        shift = len(before)
        block[group.rows, :shift] = before
        block.reshape(-1)[run_indices(group.rows * width + shift, group.lengths)] = group.ids
        for offset, token in enumerate(after):
            block[group.rows, group.lengths + shift + offset] = token
    return block


def _sequences(side: EncodedSide, indices: Ids) -> Flat:
    """The ids of examples end to end, and the length of each."""
    starts = side.offsets[indices].astype(np.int64)
    lengths = side.offsets[indices + 1].astype(np.int64) - starts
    return Flat(gather(side.ids, starts, lengths), lengths)


def _widths(sides: Sequence[EncodedSide], frames: Sequence[tuple[list[int], list[int]]]) -> Widths:
    """The width of every row as a tensor, its frame included."""
    widths = [side.lengths + np.int32(len(b) + len(a)) for side, (b, a) in zip(sides, frames, strict=True)]
    return np.concatenate([np.zeros(0, np.int32), *widths])


class PaddedPairStream:
    """Shuffled batches of several corpora within a budget of tokens.

    `batch_tokens` limits rows times the width of the wider side, padding included. A longer pair makes a batch of its
    own. A `sampler` is called after a batch is planned: where it draws longer segmentations, rows exceed the limit.
    `noise` is made twice: for the lengths by which a pool is sorted, and for the batches.
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
        *,
        noise: PairNoise | None = None,
        links: PairLinks | None = None,
    ) -> None:
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.pool = pool
        self._rows = PairRows(corpora, tokens, seed, sampler, noise, links)
        self.makers = self._rows.makers
        self._mixture = Mixture([len(each.corpus) for each in corpora], [each.weight for each in corpora], seed)

    def epoch(self, epoch: int) -> Iterator[Planned[PaddedBatch]]:
        order = self._mixture.order(epoch)

        def widths(members: Indices) -> tuple[Widths, Widths]:
            return self._rows.exact_widths(members, epoch)

        for pool in epoch_batches(order, widths, self.batch_tokens, self.seed, epoch, self.pool):
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
    rows = PairRows([TrainCorpus(corpus, 1.0, source_language, target_language)], tokens, 0)
    count = min(limit, len(corpus)) if limit else len(corpus)
    source, target = rows.source_widths[:count], rows.target_widths[:count]
    order = by_length(source, target)
    for members in cut(order, np.maximum(source, target)[order], batch_tokens):
        yield rows.batch(members, 0)
