"""Encoding a chunk of cleaned pairs as token ids: a pure function, for one process or several."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.data.prepare.cleaning_report import EXAMPLES
from headwise.data.prepare.encoded_corpus import Flat, id_type
from headwise.data.prepare.spool import Span, SpooledChunk, read_span
from headwise.text.tokenizer import Tokenizer

Row = tuple[str, str, int, int]
"""Source, target, index of the file, line."""


@dataclass(frozen=True)
class Encoding:
    """How pairs are encoded, and which texts are left out."""

    tokenizer: Tokenizer
    max_tokens: int
    """The most tokens of a side; 0: no limit."""
    forbidden_sources: Collection[str] = frozenset()
    forbidden_targets: Collection[str] = frozenset()


class EncodedChunk(NamedTuple):
    """The token ids of the pairs of a chunk that are kept, and what became of the others."""

    source: Flat
    target: Flat
    files: Sequence[int]
    lines: Sequence[int]
    rows: list[int]
    """The rows of the chunk that are kept."""
    forbidden: list[Row]
    dropped: list[tuple[str, int, list[Row]]]
    """Each reason (no tokens at all, or too many), how many pairs it applies to, and the first few of them."""


def encode_span(encoding: Encoding, span: Span) -> EncodedChunk:
    return encode_chunk(encoding, read_span(span))


def encode_chunk(encoding: Encoding, chunk: SpooledChunk) -> EncodedChunk:
    columns = chunk.source, chunk.target, chunk.files, chunk.lines
    rows = np.arange(len(chunk.lines))
    sources, targets = encoding.forbidden_sources, encoding.forbidden_targets
    forbidden = [
        i for i, (left, right) in enumerate(zip(*columns[:2], strict=True)) if left in sources or right in targets
    ]
    if forbidden:
        rows = np.delete(rows, forbidden)
    allowed = [[side[i] for i in rows.tolist()] if forbidden else side for side in columns[:2]]
    kind = id_type(encoding.tokenizer.size)
    source = Flat.of(encoding.tokenizer.encode_batch(allowed[0]), kind)
    target = Flat.of(encoding.tokenizer.encode_target_batch(allowed[1]), kind)
    empty = (source.lengths == 0) | (target.lengths == 0)
    long = np.maximum(source.lengths, target.lengths) > (encoding.max_tokens or np.inf)
    good = ~(empty | long)

    def examples(these: NDArray[np.int64]) -> list[Row]:
        return [tuple(column[i] for column in columns) for i in these.tolist()]

    dropped = []
    for reason, broken in (("empty", empty), ("tokens", long & ~empty)):
        if broken.any():
            dropped.append((reason, int(broken.sum()), examples(rows[broken][:EXAMPLES])))
    if dropped:
        source, target, rows = source.select(good), target.select(good), rows[good]
    kept = rows.tolist()
    files, lines = ([column[i] for i in kept] for column in columns[2:])
    return EncodedChunk(source, target, files, lines, kept, examples(np.array(forbidden, np.int64)), dropped)
