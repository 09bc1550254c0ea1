"""Tensors of examples: special tokens added, padded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from headwise.data.encoded import EncodedCorpus, Side

Sampler = Callable[[list[int], np.random.Generator], list[int]]
"""Gives another segmentation of the text that ids stand for."""


class SpecialTokens(Protocol):
    """The part of a tokenizer that batches need."""

    @property
    def pad(self) -> int: ...
    @property
    def sos(self) -> int: ...
    @property
    def eos(self) -> int: ...
    @property
    def languages(self) -> Sequence[str]:
        """Those that have a tag; none where sources are not tagged."""

    def tag(self, language: str) -> int: ...


@dataclass(frozen=True, eq=False)
class Batch:
    source: torch.Tensor
    """[B, S] int64: the target language's tag if there are tags, the ids, the end; then padding."""
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
        corpora: Sequence[tuple[EncodedCorpus, str]],
        tokens: SpecialTokens,
        seed: int,
        sampler: Sampler | None,
    ) -> None:
        self.corpora = [corpus for corpus, _ in corpora]
        self.pad, self.sos, self.eos = tokens.pad, tokens.sos, tokens.eos
        self.tags = [tokens.tag(language) if tokens.languages else None for _, language in corpora]
        self.seed = seed
        self.sampler = sampler
        self.ends = np.cumsum([len(corpus) for corpus in self.corpora], dtype=np.int64)
        none = np.zeros(0, np.int32)
        prefixes = [1 + (tag is not None) for tag in self.tags]
        pairs = list(zip(self.corpora, prefixes, strict=True))
        self.source_widths = np.concatenate([none, *(c.source.lengths + np.int32(more) for c, more in pairs)])
        self.target_widths = np.concatenate([none, *(c.target.lengths + np.int32(2) for c in self.corpora)])

    def batch(self, members: NDArray[np.int64], epoch: int) -> Batch:
        corpora = np.searchsorted(self.ends, members, side="right")
        sizes = np.array([len(corpus) for corpus in self.corpora], np.int64)
        indices = members - (self.ends - sizes)[corpora]
        source, target, source_tokens, target_tokens = [], [], 0, 0
        for number in np.unique(corpora).tolist():
            corpus, rows = self.corpora[number], np.flatnonzero(corpora == number)
            left = self._sequences(corpus.source, indices[rows], (epoch, number, 0))
            right = self._sequences(corpus.target, indices[rows], (epoch, number, 1))
            source.append(_Group(rows, self.tags[number], *left))
            target.append(_Group(rows, self.sos, *right))
            source_tokens += len(left[0]) + len(rows) * (1 if self.tags[number] is None else 2)
            target_tokens += len(right[0]) + len(rows)
        return Batch(
            torch.from_numpy(self._padded(source, len(members))),
            torch.from_numpy(self._padded(target, len(members))),
            list(zip(corpora.tolist(), indices.tolist(), strict=True)),
            source_tokens,
            target_tokens,
        )

    def _sequences(
        self, side: Side, indices: NDArray[np.int64], key: tuple[int, int, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of examples end to end, and the length of each. `key`: epoch, corpus, side."""
        if self.sampler is None:
            starts = side.offsets[indices].astype(np.int64)
            lengths = side.offsets[indices + 1].astype(np.int64) - starts
            before = np.cumsum(lengths) - lengths
            at = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
            return side.ids[at].astype(np.int64), lengths
        epoch, corpus, number = key
        sampled = [
            self.sampler(side[index].tolist(), np.random.default_rng([self.seed, epoch, corpus, index, number]))
            for index in indices.tolist()
        ]
        lengths = np.array([len(ids) for ids in sampled], np.int64)
        return np.fromiter(chain.from_iterable(sampled), np.int64, int(lengths.sum())), lengths

    def _padded(self, groups: list["_Group"], count: int) -> NDArray[np.int64]:
        """Each row: the first token of its group, if it has one, the ids, the end, padding."""
        width = max(int(group.lengths.max()) + group.shift for group in groups) + 1
        block = np.full((count, width), self.pad, np.int64)
        for group in groups:
            if group.first is not None:
                block[group.rows, 0] = group.first
            before = np.cumsum(group.lengths) - group.lengths
            columns = np.arange(len(group.ids)) - np.repeat(before, group.lengths) + group.shift
            block[np.repeat(group.rows, group.lengths), columns] = group.ids
            block[group.rows, group.lengths + group.shift] = self.eos
        return block


class _Group(NamedTuple):
    """The rows of a batch that come from one corpus: sequences end to end."""

    rows: NDArray[np.int64]
    first: int | None
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def shift(self) -> int:
        return 0 if self.first is None else 1
