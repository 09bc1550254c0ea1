"""Noise for batches of sentence pairs: which pairs have which kinds, and how long they become.

Noise is drawn anew in each epoch, from the seed, the epoch and the number of the example alone: a resumed run draws
what the uninterrupted one would have. It is made by child processes where a GPU would wait for it.
"""

import itertools
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.data.noise.noisy_texts import JOINED, KINDS, WORDS, Noisemaker, NoiseTask, make_noisy
from headwise.data.prepare.encoded_corpus import EncodedCorpus, Flat, gather, run_indices
from headwise.data.prepare.workers import Workers
from headwise.text.random_bits import GOLDEN, bits_at, mixed, uniform
from headwise.text.tokenizer import Ids, Keys

MOST_JOINED = 4
"""Sentences that are joined into one line, at most."""
TRIED = 100
"""Examples per corpus and kind of noise from which the growth of their lengths is estimated."""
_STREAM = 2
"""Tells these random numbers from those of subword sampling, which has 0 and 1 for the two sides."""

Widths = NDArray[np.int32]


class Chosen(NamedTuple):
    """Examples of one corpus, and the noise that each of them has in an epoch."""

    number: int
    """The number of the corpus."""
    corpus: EncodedCorpus
    indices: Ids
    keys: Keys
    masks: Ids
    """The kinds as bits; 0: none."""
    ends: Ids
    """The example after the last one that is joined."""


@dataclass(frozen=True)
class Growth:
    """How a kind of noise changes the length of a side: new = factor * old + more."""

    factor: float
    more: float

    @classmethod
    def of(cls, before: Ids, after: Ids) -> "Growth":
        if len(before) < 2 or before.min() == before.max():
            return cls(0.0, float(after.mean())) if len(after) else cls(1.0, 0.0)
        factor, more = np.polyfit(before, after, 1)
        return cls(float(factor), float(more))


class PairNoise:
    """The noise of a run's training pairs."""

    def __init__(
        self,
        maker: Noisemaker,
        shares: Mapping[str, float],
        corpora: Sequence[EncodedCorpus],
        seed: int,
        workers: int = 0,
    ) -> None:
        """`shares`: the share of pairs of each kind; `corpora`: one for each of the maker's directions; `workers`: the
        number of child processes."""
        self.maker, self.shares, self.seed = maker, dict(shares), seed
        self.longest = maker.longest
        self._corpora = corpora
        self._workers = Workers(workers)
        self._job = self._workers.job(make_noisy, maker)
        if workers:
            weakref.finalize(self, self._workers.close)
        self._growth = [self._grown(number) for number in range(len(corpora))]

    @property
    def makers(self) -> int:
        """Batches to make at the same time, so that the child processes have work while a batch is put together."""
        return self._workers.callers

    def choose(self, epoch: int, groups: Sequence[tuple[int, Ids]]) -> list[Chosen]:
        """The noise that examples have in an epoch; `groups`: the number of a corpus, and indices of examples of it."""
        # A batch has examples of dozens of corpora, a few of each: what is the same for all is computed at once.
        edges = np.cumsum([0, *(len(indices) for _, indices in groups)])
        parts = [slice(*ends) for ends in itertools.pairwise(edges.tolist())]
        keys = np.concatenate([bits_at((self.seed, epoch, number, _STREAM), indices) for number, indices in groups])
        ends = np.concatenate([indices + 1 for _, indices in groups])
        masks = np.zeros(len(keys), np.int64)
        for bit, kind in enumerate(KINDS):
            share = self.shares.get(kind, 0.0)
            if not share:
                continue
            draws = mixed(keys + np.array([bit + 1], np.uint64) * GOLDEN)
            has = uniform(draws) < share
            if kind == WORDS:
                known = [bool(self.maker.words.get(self.maker.directions[number])) for number, _ in groups]
                has &= np.repeat(known, np.diff(edges))
            if kind == JOINED:
                for (number, indices), part in zip(groups, parts, strict=True):
                    rows = np.flatnonzero(has[part])
                    if not len(rows):
                        continue
                    ends[part][rows] = self._joined_ends(self._corpora[number], indices[rows], draws[part][rows])
                    has[part] = ends[part] > indices + 1
            masks |= has.astype(np.int64) << bit
        masks[(masks & 1).astype(bool)] = 1  # a word replaces the pair: nothing else happens to it
        return [
            Chosen(
                number,
                self._corpora[number],
                indices,
                keys[part],
                masks[part],
                np.where(masks[part] == 1, indices + 1, ends[part]),
            )
            for (number, indices), part in zip(groups, parts, strict=True)
        ]

    def change(self, epoch: int, groups: Sequence[tuple[int, Ids, tuple[Flat, Flat]]]) -> list[tuple[Flat, Flat]]:
        """The sides of examples with the noise of an epoch; `groups`: the number of a corpus, the indices of examples
        of it, and their two sides without noise."""
        every = self.choose(epoch, [(number, indices) for number, indices, _ in groups])
        noisy = [np.flatnonzero(chosen.masks) for chosen in every]
        made = self._made([_selected(chosen, rows) for chosen, rows in zip(every, noisy, strict=True)])
        changed = []
        for (_, _, (source, target)), rows in zip(groups, noisy, strict=True):
            if len(rows):
                new = next(made)
                source, target = _merged(source, rows, new[0]), _merged(target, rows, new[1])
            changed.append((source, target))
        return changed

    def widths(self, epoch: int, number: int, source: Widths, target: Widths) -> tuple[Widths, Widths]:
        """The estimated lengths of all examples of a corpus with the noise of an epoch; `source` and `target` are the
        lengths without it, both with the same number of special tokens in every row."""
        corpus = self._corpora[number]
        (chosen,) = self.choose(epoch, [(number, np.arange(len(corpus)))])
        sides = []
        for side, widths, growth in zip((corpus.source, corpus.target), (source, target), (0, 1), strict=True):
            before = side.lengths
            new = (side.offsets[chosen.ends] - side.offsets[chosen.indices]).astype(np.float64)
            for bit, kind in enumerate(KINDS):
                if kind in self._growth[number]:
                    rule = self._growth[number][kind][growth]
                    new = np.where(chosen.masks >> bit & 1, rule.factor * new + rule.more, new)
            fitting = np.clip(np.rint(new), 1, np.maximum(before, self.longest)).astype(np.int32)
            sides.append(widths - before + fitting)
        return sides[0], sides[1]

    def _joined_ends(self, corpus: EncodedCorpus, indices: Ids, draws: Keys) -> Ids:
        """The end of each run of joined examples: up to `MOST_JOINED`, as many as are not too long."""
        more = 1 + (draws % np.uint64(MOST_JOINED - 1)).astype(np.int64)
        ends: Ids = np.minimum(indices + 1 + more, len(corpus))
        for _ in range(MOST_JOINED - 1):
            long = np.zeros(len(indices), bool)
            for side in (corpus.source, corpus.target):
                long |= (side.offsets[ends] - side.offsets[indices]).astype(np.int64) > self.longest
            ends = np.where(long, np.maximum(ends - 1, indices + 1), ends)
        return ends

    def _made(self, chosen: Sequence[Chosen]) -> Iterator[tuple[Flat, Flat]]:
        """The noisy sides of examples, corpus by corpus, all of them with noise."""
        chosen = [each for each in chosen if len(each.indices)]
        if not chosen:
            return
        task = _task(chosen)
        parts = self._workers.run(self._job, task.parts(max(1, self._workers.count)))
        results = [result for _, result in parts]
        source, target = (Flat.joined([result[side] for result in results]) for side in (0, 1))
        first = 0
        for each in chosen:
            rows = slice(first, first + len(each.indices))
            yield _rows(source, rows), _rows(target, rows)
            first = rows.stop

    def _grown(self, number: int) -> dict[str, tuple[Growth, Growth]]:
        """How much each kind of noise that changes a text lengthens the two sides of a corpus."""
        corpus = self._corpora[number]
        if not len(corpus):
            return {}
        indices = np.unique(np.linspace(0, len(corpus) - 1, TRIED).astype(np.int64))
        keys = bits_at((self.seed, number, _STREAM), indices)
        growth = {}
        for bit, kind in enumerate(KINDS):
            known = kind != WORDS or self.maker.words.get(self.maker.directions[number])
            if kind == JOINED or not self.shares.get(kind) or not known:
                continue
            masks = np.full(len(indices), 1 << bit)
            task = _task([Chosen(number, corpus, indices, keys, masks, indices + 1)])
            made = make_noisy(self.maker, task)
            before = task.source.lengths, task.target.lengths
            growth[kind] = (Growth.of(before[0], made[0].lengths), Growth.of(before[1], made[1].lengths))
        return growth


def _selected(chosen: Chosen, rows: Ids) -> Chosen:
    columns = chosen.indices[rows], chosen.keys[rows], chosen.masks[rows], chosen.ends[rows]
    return Chosen(chosen.number, chosen.corpus, *columns)


def _task(groups: Sequence[Chosen]) -> NoiseTask:
    """The task of examples of several corpora, in their order."""
    sources: list[Flat] = []
    targets: list[Flat] = []
    for chosen in groups:
        counts = chosen.ends - chosen.indices
        for side, flats in ((chosen.corpus.source, sources), (chosen.corpus.target, targets)):
            starts, ends = (side.offsets[edges].astype(np.int64) for edges in (chosen.indices, chosen.ends))
            lengths = side.lengths[run_indices(chosen.indices, counts)].astype(np.int64)
            flats.append(Flat(gather(side.ids, starts, ends - starts), lengths))
    return NoiseTask(
        np.repeat([chosen.number for chosen in groups], [len(chosen.indices) for chosen in groups]),
        np.concatenate([chosen.keys for chosen in groups]),
        np.concatenate([chosen.masks for chosen in groups]),
        np.concatenate([chosen.ends - chosen.indices for chosen in groups]),
        Flat.joined(sources),
        Flat.joined(targets),
    )


def _rows(side: Flat, rows: slice) -> Flat:
    ends = np.append(0, np.cumsum(side.lengths))
    return Flat(side.ids[ends[rows.start] : ends[rows.stop]], side.lengths[rows])


def _merged(side: Flat, rows: Ids, new: Flat) -> Flat:
    """The side with other sequences in some rows."""
    lengths = side.lengths.copy()
    lengths[rows] = new.lengths
    starts = np.cumsum(side.lengths) - side.lengths
    starts[rows] = len(side.ids) + np.cumsum(new.lengths) - new.lengths
    pool = np.concatenate((side.ids, new.ids.astype(np.int64)))
    return Flat(gather(pool, starts, lengths), lengths)
