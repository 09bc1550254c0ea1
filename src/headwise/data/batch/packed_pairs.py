"""Packed batches of sentence pairs: sentences end to end in one long row per side, always of the same shapes.

Nothing is sorted by length, so a batch is a random sample. Only the end of a row is padding.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.padded_pairs import PaddedBatch, PairRows, Sampler, SpecialTokens
from headwise.data.batch.plan import POOL, Indices, Mixture, Widths
from headwise.data.batch.stream import Planned, to_device
from headwise.data.batch.token_links import NONE, PairLinks
from headwise.data.noise.pair_noise import PairNoise
from headwise.data.prepare.result import TrainCorpus
from headwise.nn.packing import Packed, positions_in

SPARE_SENTENCES = 1.15
"""Slots for sentences in a batch, as a multiple of the mean number that fills a row. The attention kernel launches
programs for every slot, used or not."""

SAMPLING_ROOM = 0.85
"""Share of a row that is planned where a sampler may make sequences longer. What then does not fit is left out."""

NOISE_ROOM = 0.97
"""Share of a row that is planned where noise may make sequences longer than estimated."""

ALIGNED = 128
"""The length of a row is a multiple of this: the tile size of matrix products."""

PART_ALIGNED = 1024
"""The length of a row in a part of a batch is a multiple of this: few shapes, and little to compile anew."""


@dataclass(frozen=True, eq=False)
class PackedBatch:
    """Sentence pairs end to end: all sources in one row, all targets in another."""

    source: torch.Tensor
    """[1, N] int64: sentences with tags and EOS, end to end; then padding."""
    source_starts: torch.Tensor
    """int32 [slots + 1]: where each sentence begins, then the end, repeated for unused slots."""
    source_places: torch.Tensor
    """[N]: the position of each token in its sentence."""
    shown: torch.Tensor
    """[1, T] int64: the decoder's input: the start token of each target and all its tokens but EOS."""
    wanted: torch.Tensor
    """[T] int64: the tokens to predict; then padding."""
    target_starts: torch.Tensor
    target_places: torch.Tensor
    longest: int
    """No sentence is longer."""
    examples: list[tuple[int, int]]
    """The corpus of each sentence and its index there."""
    source_tokens: int
    target_tokens: int
    links: torch.Tensor | None = None
    """[1, T] int64: the position in its source sentence that each shown token is linked to, or -1; for guided
    alignment."""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def count(self) -> int:
        return self.target_tokens

    @property
    def source_layout(self) -> Packed:
        return Packed(self.source_starts, self.source_places, self.longest)

    @property
    def target_layout(self) -> Packed:
        return Packed(self.target_starts, self.target_places, self.longest)

    def part(self, sentences: slice) -> "PackedBatch":
        """Some of its sentences, in rows as long as they need."""
        first, last, _ = sentences.indices(len(self))
        begins, ends = (self.source_starts[[first, last]].tolist(), self.target_starts[[first, last]].tolist())
        source, target = slice(*begins), slice(*ends)
        return PackedBatch(
            self.source[:, source],
            self.source_starts[first : last + 1] - begins[0],
            self.source_places[source],
            self.shown[:, target],
            self.wanted[target],
            self.target_starts[first : last + 1] - ends[0],
            self.target_places[target],
            self.longest,
            self.examples[sentences],
            begins[1] - begins[0],
            ends[1] - ends[0],
            None if self.links is None else self.links[:, target],
        )

    def to(self, device: torch.device) -> "PackedBatch":
        return to_device(self, device)


class PackedPairStream:
    """Shuffled batches of `batch_tokens` tokens per side, without padding but for the end of a row."""

    uniform = True

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
        position_limit: int = sys.maxsize,
    ) -> None:
        """`position_limit`: tokens of the longest sequence that the model accepts."""
        self.batch_tokens = batch_tokens
        self.pool = pool
        self._rows = rows = PairRows(corpora, tokens, seed, sampler, noise, links)
        self.makers = rows.makers
        self._mixture = Mixture([len(each.corpus) for each in corpora], [each.weight for each in corpora], seed)
        widths = np.maximum(*rows.widths(0))
        longest = rows.longest_row
        self.longest_sentence = longest if sampler is None else min(2 * longest, position_limit)
        """No sequence has more tokens; those that a sampler makes longer are left out."""
        self._mean_width = float(widths.mean())

    def epoch(self, epoch: int) -> Iterator[Planned[PackedBatch]]:
        for members in self._members(self._mixture.order(epoch), *self._rows.widths(epoch)):
            yield self._plan(members, epoch)

    def longest(self, batch_tokens: int) -> PackedBatch:
        """A batch of this budget: all are equally large."""
        row = self._row(batch_tokens)
        return self._pack(self._rows.longest(batch_tokens), row, self._slots(row))

    def lines(self, batch: PackedBatch) -> list[str]:
        return self._rows.lines(batch.examples)

    @property
    def row(self) -> int:
        return self._row(self.batch_tokens)

    def _row(self, budget: int) -> int:
        """Tokens of a row: enough for any one sentence."""
        return -(-max(budget, self.longest_sentence) // ALIGNED) * ALIGNED

    def _slots(self, row: int) -> int:
        """How many sentences a row has room for."""
        return -(-int(row / self._mean_width * SPARE_SENTENCES) // 64) * 64 + 64

    def _pack(self, batch: PaddedBatch, row: int, slots: int) -> PackedBatch:
        return pack(batch, self._rows.pad, row, slots, self.longest_sentence)

    def _members(self, order: Indices, source_widths: Widths, target_widths: Widths) -> Iterator[Indices]:
        """The examples of each batch: in the order they come, as many as fit."""
        room = self.row if self._rows.sampler is None else int(self.row * SAMPLING_ROOM)
        room = room if self._rows.noise is None else int(room * NOISE_ROOM)
        slots = self._slots(self.row)
        # A pool is planned as a whole and never cuts a batch: the examples that are left over begin the next pool.
        left = order[:0]
        for start in range(0, len(order), self.pool):
            members = np.concatenate((left, order[start : start + self.pool]))
            source = np.concatenate(([0], np.cumsum(source_widths[members], dtype=np.int64)))
            target = np.concatenate(([0], np.cumsum(target_widths[members] - 1, dtype=np.int64)))
            last = start + self.pool >= len(order)
            first = 0
            while first < len(members):
                end = min(
                    int(np.searchsorted(source, source[first] + room, side="right")) - 1,
                    int(np.searchsorted(target, target[first] + room, side="right")) - 1,
                    first + slots,
                )
                end = max(end, first + 1)
                if end >= len(members) and not last:
                    break
                yield members[first:end]
                first = end
            left = members[first:]

    def _plan(self, members: Indices, epoch: int) -> Planned[PackedBatch]:
        def make(rows: slice) -> PackedBatch:
            batch = self._rows.batch(members[rows], epoch)
            row = self.row
            if len(batch) < len(members):
                needed = max(batch.source_tokens, batch.target_tokens)
                row = min(row, -(-needed // PART_ALIGNED) * PART_ALIGNED)
            return self._pack(batch, row, self._slots(self.row))

        return Planned(len(members), make)


def pack(batch: PaddedBatch, pad: int, row: int, slots: int, longest: int) -> PackedBatch:
    """The sentences of a padded batch end to end in rows of `row` tokens, `slots` sentences at most; those that do not
    fit are left out."""
    source, target = batch.source.numpy(), batch.target.numpy()
    shown, wanted = target[:, :-1], target[:, 1:]
    predicted = wanted != pad  # the decoder's start may be the padding token
    given = source != pad
    lengths = np.stack((given.sum(1), predicted.sum(1)))
    kept = np.flatnonzero(lengths.max(0) <= longest)
    kept = kept[(lengths[:, kept].cumsum(1) <= row).all(0)][:slots]
    source_lengths, target_lengths = lengths[:, kept]
    source_starts, target_starts = _starts(source_lengths, slots), _starts(target_lengths, slots)
    predicted, given = predicted[kept], given[kept]
    return PackedBatch(
        _filled(source[kept][given], row, pad)[None],
        source_starts,
        positions_in(source_starts, row),
        _filled(shown[kept][predicted], row, pad)[None],
        _filled(wanted[kept][predicted], row, pad),
        target_starts,
        positions_in(target_starts, row),
        longest,
        [batch.examples[number] for number in kept.tolist()],
        int(source_lengths.sum()),
        int(target_lengths.sum()),
        None if batch.links is None else _filled(batch.links.numpy()[kept][predicted], row, NONE)[None],
    )


def _starts(lengths: NDArray[np.int64], slots: int) -> torch.Tensor:
    starts = np.full(slots + 1, lengths.sum(), np.int32)
    starts[0] = 0
    starts[1 : len(lengths) + 1] = np.cumsum(lengths)
    return torch.from_numpy(starts)


def _filled(ids: NDArray[np.int64], row: int, pad: int) -> torch.Tensor:
    filled = np.full(row, pad, np.int64)
    filled[: len(ids)] = ids
    return torch.from_numpy(filled)
