"""Tensors of examples: special tokens added, padded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.batch.gather import gather, places
from headwise.data.prepare.encoded_corpus import EncodedCorpus, Side
from headwise.text.random_bits import drawn
from headwise.text.tokenizer import Ids, Keys

Sampler = Callable[[Ids, Ids, Keys], tuple[Ids, Ids]]
"""Gives other segmentations of texts: of their ids end to end, the length of each, and a random number for each, which
alone decides what is drawn for it."""


class SpecialTokens(Protocol):
    """The part of a tokenizer that batches need."""

    @property
    def pad(self) -> int: ...
    @property
    def eos(self) -> int: ...
    def source_frame(self, source: str, target: str) -> tuple[list[int], list[int]]:
        """The ids before and after a source: a tag of its target language, the end."""

    def decoder_start(self, target: str) -> int: ...
    def target_start(self, target: str) -> list[int]:
        """The ids a target begins with, after `decoder_start`."""


@dataclass(frozen=True, eq=False)
class Batch:
    source: torch.Tensor
    """[B, S] int64: the ids in their frame, such as the target language's tag and the end; then padding."""
    target: torch.Tensor
    """[B, T+1] int64: the start, the ids, the end; then padding. [:, :-1] goes in, [:, 1:] comes out."""
    examples: list[tuple[int, int]]
    """Of each row, its corpus and its index there: `corpus.where(index)` is its file and line."""
    source_tokens: int
    """Without padding."""
    target_tokens: int
    """To predict: the ids and the end of each row."""

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def count(self) -> int:
        return self.target_tokens

    def to(self, device: torch.device) -> "Batch":
        return replace(self, source=self.source.to(device), target=self.target.to(device))


class Rows:
    """Makes tensors of examples that are numbered through several corpora."""

    def __init__(
        self,
        corpora: Sequence[tuple[EncodedCorpus, str, str]],
        tokens: SpecialTokens,
        seed: int,
        sampler: Sampler | None,
    ) -> None:
        """`corpora` with the languages of their two sides."""
        self.corpora = [corpus for corpus, _, _ in corpora]
        self.pad = tokens.pad
        self.source_frames = [tokens.source_frame(source, target) for _, source, target in corpora]
        starts = [[tokens.decoder_start(target), *tokens.target_start(target)] for _, _, target in corpora]
        self.target_frames = [(start, [tokens.eos]) for start in starts]
        self.seed = seed
        self.sampler = sampler
        self.ends = np.cumsum([len(corpus) for corpus in self.corpora], dtype=np.int64)
        self.source_widths = _widths([corpus.source for corpus in self.corpora], self.source_frames)
        self.target_widths = _widths([corpus.target for corpus in self.corpora], self.target_frames)

    def batch(self, members: NDArray[np.int64], epoch: int) -> Batch:
        corpora = np.searchsorted(self.ends, members, side="right")
        sizes = np.array([len(corpus) for corpus in self.corpora], np.int64)
        indices = members - (self.ends - sizes)[corpora]
        source, target, source_tokens, target_tokens = [], [], 0, 0
        for number in np.unique(corpora).tolist():
            corpus, rows = self.corpora[number], np.flatnonzero(corpora == number)
            left = self._sequences(corpus.source, indices[rows], (epoch, number, 0))
            right = self._sequences(corpus.target, indices[rows], (epoch, number, 1))
            source.append(_Group(rows, self.source_frames[number], *left))
            target.append(_Group(rows, self.target_frames[number], *right))
            source_tokens += len(left[0]) + len(rows) * source[-1].more
            target_tokens += len(right[0]) + len(rows) * (target[-1].more - 1)  # the first is given
        return Batch(
            torch.from_numpy(self._padded(source, len(members))),
            torch.from_numpy(self._padded(target, len(members))),
            list(zip(corpora.tolist(), indices.tolist(), strict=True)),
            source_tokens,
            target_tokens,
        )

    def _sequences(self, side: Side, indices: Ids, key: tuple[int, int, int]) -> tuple[Ids, Ids]:
        """The ids of examples end to end, and the length of each. `key`: epoch, corpus, side."""
        starts = side.offsets[indices].astype(np.int64)
        lengths = side.offsets[indices + 1].astype(np.int64) - starts
        ids = gather(side.ids, starts, lengths)
        return (ids, lengths) if self.sampler is None else self.sampler(ids, lengths, drawn((self.seed, *key), indices))

    def _padded(self, groups: list["_Group"], count: int) -> NDArray[np.int64]:
        """Each row: what comes before, the ids, what comes after, padding."""
        width = max(int(group.lengths.max()) + group.more for group in groups)
        block = np.full((count, width), self.pad, np.int64)
        for group in groups:
            before, after = group.frame
            shift = len(before)
            block[group.rows, :shift] = before
            block.reshape(-1)[places(group.rows * width + shift, group.lengths)] = group.ids
            for place, token in enumerate(after):
                block[group.rows, group.lengths + shift + place] = token
        return block


class _Group(NamedTuple):
    """The rows of a batch that come from one corpus: sequences end to end, and what stands around each."""

    rows: NDArray[np.int64]
    frame: tuple[list[int], list[int]]
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def more(self) -> int:
        return len(self.frame[0]) + len(self.frame[1])


def _widths(sides: Sequence[Side], frames: Sequence[tuple[list[int], list[int]]]) -> NDArray[np.int32]:
    """Of every row, what its tensor will have."""
    widths = [side.lengths + np.int32(len(b) + len(a)) for side, (b, a) in zip(sides, frames, strict=True)]
    return np.concatenate([np.zeros(0, np.int32), *widths])
