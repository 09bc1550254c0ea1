"""Batches in an order that a seed determines and a position resumes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwise.data.batch.padded import Batch, Rows, Sampler, SpecialTokens
from headwise.data.batch.plan import POOL, Planned, by_length, cut, epoch_batches, epoch_order, whole
from headwise.data.prepare.encoded_corpus import EncodedCorpus
from headwise.data.prepare.result import TrainCorpus
from headwise.errors import DataError

__all__ = ["Batch", "BatchStream", "Position", "Sampler", "SpecialTokens", "ordered_batches"]


@dataclass(frozen=True)
class Position:
    """The batch that comes next. JSON holds it as `dataclasses.asdict`; `Position(**table)` reads it back."""

    epoch: int = 0
    batch: int = 0


class BatchStream:
    """Endless shuffled batches of several corpora within a budget of tokens.

    `batch_tokens` limits rows times the width of the wider side, padding included. A longer pair makes a
    batch of its own; and with a `sampler`, which is asked when the batch is planned already, rows may grow
    over the limit by what other segmentations are longer.
    """

    def __init__(
        self,
        corpora: Sequence[TrainCorpus],
        tokens: SpecialTokens,
        batch_tokens: int,
        seed: int,
        sampler: Sampler | None = None,
        pool: int = POOL,
    ) -> None:
        self.corpora = list(corpora)
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.pool = pool
        sides = [(each.corpus, each.source_language, each.target_language) for each in corpora]
        self._rows = Rows(sides, tokens, seed, sampler)
        self._sizes = [len(each.corpus) for each in corpora]
        self._weights = [each.weight for each in corpora]
        if any(weight < 0 for weight in self._weights):
            raise DataError(f"the weight of a corpus must not be negative: {self._weights}")
        if not any(size * weight for size, weight in zip(self._sizes, self._weights, strict=True)):
            raise DataError("there are no training examples: all corpora are empty or have a weight of 0")

    def batches(self, position: Position | None = None) -> Iterator[tuple[Batch, Position]]:
        """Each batch from `position` on, with the position after it; past an epoch's end comes the next."""
        return whole(self.planned(position))

    def planned(self, position: Position | None = None) -> Iterator[tuple[Planned[Batch], Position]]:
        """The same, not made yet."""
        at = position or Position()
        while True:
            order = epoch_order(self._sizes, self._weights, self.seed, at.epoch)
            left, first = len(order), 0
            for pool in self._pools(order, at.epoch):
                left -= sum(map(len, pool))
                for number, members in enumerate(pool, first):
                    if number >= at.batch:
                        last = not left and number + 1 == first + len(pool)
                        following = Position(at.epoch + 1, 0) if last else Position(at.epoch, number + 1)
                        yield self._plan(members, at.epoch), following
                first += len(pool)
            at = Position(at.epoch + 1, 0)

    def _plan(self, members: NDArray[np.int64], epoch: int) -> Planned[Batch]:
        return Planned(len(members), lambda rows: self._rows.batch(members[rows], epoch))

    def longest(self, batch_tokens: int) -> Batch:
        """The largest batch that a budget can make: the longest pair, again and again."""
        widths = np.maximum(self._rows.source_widths, self._rows.target_widths)
        member = int(widths.argmax())
        return self._rows.batch(np.full(max(1, batch_tokens // int(widths[member])), member), 0)

    def lines(self, batch: Batch) -> list[str]:
        """Where the pairs of a batch come from: file and line."""
        return [self.corpora[corpus].corpus.where(index) for corpus, index in batch.examples]

    def epoch_length(self, epoch: int) -> int:
        """How many batches an epoch has."""
        order = epoch_order(self._sizes, self._weights, self.seed, epoch)
        return sum(len(pool) for pool in self._pools(order, epoch))

    def _pools(self, order: NDArray[np.int64], epoch: int) -> Iterator[list[NDArray[np.int64]]]:
        source, target = self._rows.source_widths, self._rows.target_widths
        return epoch_batches(order, source, target, self.batch_tokens, self.seed, epoch, self.pool)


def ordered_batches(
    corpus: EncodedCorpus,
    tokens: SpecialTokens,
    batch_tokens: int,
    target_language: str = "",
    limit: int = 0,
    source_language: str = "",
) -> Iterator[Batch]:
    """Every example (or the first `limit`) exactly once, sorted by length: validation is free to."""
    rows = Rows([(corpus, source_language, target_language)], tokens, 0, None)
    count = min(limit, len(corpus)) if limit else len(corpus)
    source, target = rows.source_widths[:count], rows.target_widths[:count]
    order = by_length(source, target)
    for members in cut(order, np.maximum(source, target)[order], batch_tokens):
        yield rows.batch(members, 0)
