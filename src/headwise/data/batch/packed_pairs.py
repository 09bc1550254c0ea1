"""Batches without padding: pairs one behind the other in two rows, always of the same shapes.

Nothing is sorted by length, so a batch is a random sample; what a row has left at its end is filled up.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.padded import Batch
from headwise.data.batch.plan import Planned
from headwise.data.batch.stream import BatchStream
from headwise.nn.packing import Packed, positions_in

SPARE_SENTENCES = 1.15
"""A batch has room for so many times the sentences that fill its rows on the mean: each, there or not, is asked for."""

SAMPLING_ROOM = 0.85
"""Share of a row that is planned for where a sampler may make sequences longer. What does not fit then is left out."""

ALIGNED = 128
"""Rows are a multiple of this long: the tiles of matrix products."""

PART_ALIGNED = 1024
"""The same of parts of batches, whose lengths differ: a few shapes, and little to compile anew."""


@dataclass(frozen=True, eq=False)
class PackedBatch:
    source: torch.Tensor
    """[1, N] int64: sentences in their frames, one behind the other; then padding."""
    source_starts: torch.Tensor
    """int32 [slots + 1]: where each begins, then the end, repeated for slots without a sentence."""
    source_places: torch.Tensor
    """[N]: of each token, in its sentence."""
    shown: torch.Tensor
    """[1, T] int64: what the decoder sees, the start of a target and all but its end ..."""
    wanted: torch.Tensor
    """[T] int64: ... and what it is to say; padding where there is nothing to say."""
    target_starts: torch.Tensor
    target_places: torch.Tensor
    longest: int
    examples: list[tuple[int, int]]
    """Of each sentence, its corpus and its index there."""
    source_tokens: int
    target_tokens: int

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
        """Some of its sentences, one behind the other as they are, in rows as long as they need."""
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
        )

    def to(self, device: torch.device) -> "PackedBatch":
        """On a GPU without waiting for what it is doing now, from memory that it can read by itself."""
        tensors = {each.name: getattr(self, each.name) for each in fields(self)}
        moved = {
            name: (value.pin_memory() if device.type == "cuda" else value).to(device, non_blocking=True)
            for name, value in tensors.items()
            if isinstance(value, torch.Tensor)
        }
        return replace(self, **moved)  # type: ignore[arg-type]


class PackedStream(BatchStream):
    """Endless shuffled batches of `batch_tokens` tokens a side, of which none is padding but at the end of a row."""

    uniform = True

    limit = sys.maxsize
    """Tokens of the longest sequence that the model can take; to be set before the first batch is made."""

    @cached_property
    def longest_sentence(self) -> int:
        """No sequence has more tokens; those that a sampler makes longer are left out."""
        longest = max(int(self._rows.source_widths.max()), int(self._rows.target_widths.max()))
        return longest if self._rows.sampler is None else min(2 * longest, self.limit)

    @property
    def row(self) -> int:
        return self._row(self.batch_tokens)

    def longest(self, batch_tokens: int) -> PackedBatch:  # type: ignore[override]
        """A batch of this budget: all are equally large."""
        row = self._row(batch_tokens)
        return self._pack(super().longest(batch_tokens), row, self._slots(row))

    def _row(self, budget: int) -> int:
        """Tokens of a row: enough for any one sentence."""
        return -(-max(budget, self.longest_sentence) // ALIGNED) * ALIGNED

    def _slots(self, row: int) -> int:
        """How many sentences a row has room for."""
        return -(-int(row / self._mean_width * SPARE_SENTENCES) // 64) * 64 + 64

    @cached_property
    def _mean_width(self) -> float:
        return float(np.maximum(self._rows.source_widths, self._rows.target_widths).mean())

    def _pack(self, batch: Batch, row: int, slots: int) -> PackedBatch:
        return pack(batch, self._rows.pad, row, slots, self.longest_sentence)

    def _pools(self, order: NDArray[np.int64], epoch: int) -> Iterator[list[NDArray[np.int64]]]:
        """Examples as they come, as many as fit."""
        room = self.row if self._rows.sampler is None else int(self.row * SAMPLING_ROOM)
        slots = self._slots(self.row)
        # A pool is planned at once, and never cuts a batch: what is left over begins the next.
        left = order[:0]
        for start in range(0, len(order), self.pool):
            members = np.concatenate((left, order[start : start + self.pool]))
            source = np.concatenate(([0], np.cumsum(self._rows.source_widths[members], dtype=np.int64)))
            target = np.concatenate(([0], np.cumsum(self._rows.target_widths[members] - 1, dtype=np.int64)))
            last = start + self.pool >= len(order)
            batches, first = [], 0
            while first < len(members):
                end = min(
                    int(np.searchsorted(source, source[first] + room, side="right")) - 1,
                    int(np.searchsorted(target, target[first] + room, side="right")) - 1,
                    first + slots,
                )
                end = max(end, first + 1)
                if end >= len(members) and not last:
                    break
                batches.append(members[first:end])
                first = end
            left = members[first:]
            yield batches

    def _plan(self, members: NDArray[np.int64], epoch: int) -> Planned[Batch]:
        def make(rows: slice) -> PackedBatch:
            batch = self._rows.batch(members[rows], epoch)
            row = self.row
            if len(batch) < len(members):
                needed = max(batch.source_tokens, batch.target_tokens)
                row = min(row, -(-needed // PART_ALIGNED) * PART_ALIGNED)
            return self._pack(batch, row, self._slots(self.row))

        return Planned(len(members), make)  # type: ignore[arg-type]


def pack(batch: Batch, pad: int, row: int, slots: int, longest: int) -> PackedBatch:
    """The sentences of a padded batch, one behind the other in rows of `row` tokens, `slots` of them at most; those
    that do not fit are left out."""
    source, target = batch.source.numpy(), batch.target.numpy()
    shown, wanted = target[:, :-1], target[:, 1:]
    said = wanted != pad  # a start may be the same token as padding
    given = source != pad
    lengths = np.stack((given.sum(1), said.sum(1)))
    kept = np.flatnonzero(lengths.max(0) <= longest)
    kept = kept[(lengths[:, kept].cumsum(1) <= row).all(0)][:slots]
    source_lengths, target_lengths = lengths[:, kept]
    source_starts, target_starts = _starts(source_lengths, slots), _starts(target_lengths, slots)
    said, given = said[kept], given[kept]
    return PackedBatch(
        _filled(source[kept][given], row, pad)[None],
        source_starts,
        positions_in(source_starts, row),
        _filled(shown[kept][said], row, pad)[None],
        _filled(wanted[kept][said], row, pad),
        target_starts,
        positions_in(target_starts, row),
        longest,
        [batch.examples[number] for number in kept.tolist()],
        int(source_lengths.sum()),
        int(target_lengths.sum()),
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
