"""Seed pieces of a unigram model: frequent parts of words, which its training starts from.

SentencePiece finds them with a suffix array of all sentences, which is half of its training time. But a piece never
crosses a word boundary, and a corpus has few distinct words for its size: here each is processed once, weighted by
its frequency. The pieces and their frequencies are the same; so is the trained model, but for the rounding of sums,
which SentencePiece then adds up in another order.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from headwise.text.escape import SPACE

LONGEST = 16
"""The most characters of a piece, as in SentencePiece."""

TOGETHER = 4096
"""Sentences whose characters are counted in one call."""

_END = 0
"""The end mark of a word."""
_RARE = 0x2585
"""Replaces each character that is not covered."""
_UNWRITABLE = (0x09, 0x0A, 0x0D, _END, _RARE)
"""Characters that the file of seed pieces, or a piece, cannot contain."""

Counts = NDArray[np.int64]
Codes = NDArray[np.uint32]


def seed_pieces(sentences: Sequence[str], coverage: float) -> Iterator[tuple[str, int]]:
    """Pieces of two or more characters, and how often each occurs.

    A part of a word is a seed if it occurs twice and not always before the same character: otherwise it would only
    be a part of a longer seed. Ends of words count as different characters.
    """
    codes, starts, counts = _words(sentences)
    codes = np.where(np.isin(codes, _rare(character_counts(sentences), coverage)), np.uint32(_RARE), codes)
    for length, places, frequencies in _frequent(codes, starts, counts):
        yield from zip(_texts(codes, places, length), frequencies.tolist(), strict=True)


def _words(sentences: Sequence[str]) -> tuple[Codes, Counts, Counts]:
    """The distinct words, each between ▁ and an end mark; where each begins; how often each occurs."""
    counts = Counter(chain.from_iterable(sentence.split(" ") for sentence in sentences))
    text = "".join([f"{SPACE}{word}\0" for word in counts])
    lengths = np.fromiter((len(word) + 2 for word in counts), np.int64, len(counts))
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint32)
    return codes, np.append(0, np.cumsum(lengths)), np.fromiter(counts.values(), np.int64, len(counts))


def character_counts(sentences: Sequence[str]) -> dict[str, int]:
    """The frequency of each character, with ▁ before each word in place of the spaces between words."""
    counts = np.zeros(0x110000, np.int64)
    for start in range(0, len(sentences), TOGETHER):
        text = "".join(sentences[start : start + TOGETHER])
        codes, found = np.unique(np.frombuffer(text.encode("utf-32-le"), "<u4"), return_counts=True)
        counts[codes] += found
    counts[ord(SPACE)] += counts[ord(" ")] + len(sentences)
    counts[ord(" ")] = 0
    return {chr(code): int(counts[code]) for code in np.flatnonzero(counts).tolist()}


def _rare(counts: Mapping[str, int], coverage: float) -> Codes:
    """The characters that are not covered: the rarest, once the others make up `coverage` of the text."""
    total, covered = sum(counts.values()), 0
    rare: list[int] = []
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if np.float32(covered / total) >= np.float32(coverage):
            rare.append(ord(character))
        else:
            covered += count
    return np.array(rare, np.uint32)


def _frequent(codes: Codes, starts: Counts, counts: Counts) -> Iterator[tuple[int, Counts, Counts]]:
    """For each length: one place of each seed, and how often each seed occurs."""
    mixed = np.random.default_rng(0).integers(1 << 63, size=1 << 16, dtype=np.uint64)
    values = mixed[codes & 0xFFFF] ^ (codes.astype(np.uint64) >> np.uint64(16))
    lengths = np.diff(starts)
    left = np.repeat(starts[1:] - 1, lengths) - np.arange(len(codes))  # the distance to the end mark
    weights = np.repeat(counts, lengths)
    allowed = ~np.isin(codes, _UNWRITABLE)
    places = np.flatnonzero((left > 1) & allowed)
    hashes = values[places]
    for length in range(2, LONGEST + 1):
        longer = (left[places] >= length) & allowed[np.minimum(places + length - 1, len(codes) - 1)]
        places, hashes = places[longer], hashes[longer]
        if not len(places):
            return
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + values[places + length - 1]
        order = np.argsort(hashes)
        hashes, places = hashes[order], places[order]
        first = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
        frequencies = np.add.reduceat(weights[places], first)
        following = codes[places + length]
        branches = np.minimum.reduceat(following, first) != np.maximum.reduceat(following, first)
        branches |= np.add.reduceat(np.where(following == _END, weights[places], 0), first) > 1
        yield length, places[first][branches], frequencies[branches]
        again = np.repeat(frequencies > 1, np.diff(np.append(first, len(places))))
        places, hashes = places[again], hashes[again]


def _texts(codes: Codes, places: Counts, length: int) -> list[str]:
    window = codes[places[:, None] + np.arange(length)]
    text = window.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + length] for start in range(0, len(text), length)]
