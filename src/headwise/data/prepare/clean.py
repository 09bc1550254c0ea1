"""Cleaning: the rules that decide which pairs are worth training on, in a fixed order."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwise.config import CleanConfig
from headwise.data.prepare.cleaning_report import EXAMPLES, CleaningReport
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.prepare.workers import Workers
from headwise.data.read.pairs import Pair
from headwise.text.normalise import tidied

CHUNK = 8192
"""Pairs that are checked together: enough for NumPy to pay off, few enough to need little memory."""

SHORT = 10
"""Shorter sides count as this many characters in the ratio: `Yes` and `Selbstverständlich` are a fair pair."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")
"""Control characters except whitespace, the replacement character, and lone surrogates."""

ONLY_UNUSABLE = CleanConfig(max_characters=0, max_words=0, max_ratio=0.0, duplicates=False, copies=False)
"""Rules for validation and test data, which are measured as they are: only untranslatable pairs are dropped."""


def clean(
    pairs: Iterable[Pair],
    config: CleanConfig,
    report: CleaningReport,
    seen: SeenHashes,
    languages: str = "",
    workers: Workers | None = None,
) -> Iterator[tuple[list[Pair], NDArray[np.uint64]]]:
    """The normalised pairs that pass all rules, in chunks, with a hash of each pair's content.

    `seen` is shared by corpora that must not repeat one another; `languages` distinguishes pairs that have the
    same texts in other languages. `workers` share the work.
    """
    judged = (workers or Workers(0)).map(_judge_chunk, (config, languages), _chunks(pairs))
    for (raw, *_), verdict in judged:
        report.read += len(raw)
        for reason, count, rows in verdict.dropped:
            report.drop_all(reason, count, [raw[row] for row in rows])
        for row, source, target in verdict.changed:
            raw[row] = Pair(source, target, raw[row].file, raw[row].line)
        chunk = raw if len(verdict.kept) == len(raw) else [raw[row] for row in verdict.kept.tolist()]
        hashes = verdict.hashes
        if config.duplicates:
            fresh = seen.add(hashes)
            if not fresh.all():
                repeated = np.flatnonzero(~fresh).tolist()
                report.drop_all("duplicate", len(repeated), [chunk[row] for row in repeated[:EXAMPLES]])
                chunk, hashes = [chunk[row] for row in np.flatnonzero(fresh).tolist()], hashes[fresh]
        if chunk:
            yield chunk, hashes


class Verdict(NamedTuple):
    """The result of the rules for a chunk; rows count from 0 in it."""

    kept: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    """Hashes of the pairs that are kept."""
    changed: list[tuple[int, str, str]]
    """Kept rows whose texts were normalised, with both texts."""
    dropped: list[tuple[str, int, list[int]]]
    """Each reason, how many rows it applies to, and the first few of them."""


class _Chunk(NamedTuple):
    """Raw pairs, and their two sides as lists."""

    pairs: list[Pair]
    source: list[str]
    target: list[str]

    def __reduce__(self) -> tuple[Callable[..., "_Chunk"], tuple[list[Pair], list[str], list[str]]]:
        return _Chunk, ([], self.source, self.target)  # workers need the texts only


def _chunks(pairs: Iterable[Pair]) -> Iterator[_Chunk]:
    remaining = iter(pairs)
    while chunk := list(islice(remaining, CHUNK)):
        yield _Chunk(chunk, [pair[0] for pair in chunk], [pair[1] for pair in chunk])


def _judge_chunk(shared: tuple[CleanConfig, str], chunk: _Chunk) -> Verdict:
    return judge(chunk.source, chunk.target, *shared)


def judge(source: list[str], target: list[str], config: CleanConfig, languages: str) -> Verdict:
    """Normalise texts and check them against the rules that concern single pairs."""
    left, left_plain = tidied(source)
    right, right_plain = tidied(target)
    plain = left_plain & right_plain
    reasons = np.full(len(left), "", dtype=object)
    for reason, broken in _broken(left, right, plain, config):
        reasons[broken & (reasons == "")] = reason
    kept = np.flatnonzero(reasons == "")
    rows = kept.tolist()
    odd = kept[~plain[kept]].tolist()
    return Verdict(
        kept,
        text_hashes([left[row] for row in rows], [right[row] for row in rows], languages),
        [(row, left[row], right[row]) for row in odd if (left[row], right[row]) != (source[row], target[row])],
        [
            (reason, int(count), np.flatnonzero(reasons == reason)[:EXAMPLES].tolist())
            for reason, count in Counter(reasons[reasons != ""].tolist()).items()
        ],
    )


def _broken(
    source: list[str], target: list[str], plain: NDArray[np.bool_], config: CleanConfig
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The reason of each rule, in order, and the rows that break it. Texts must be normalised."""
    left, right = (np.fromiter(map(len, side), np.int64, len(side)) for side in (source, target))
    yield "empty", (left == 0) | (right == 0)
    control = np.zeros(len(source), np.bool_)
    for row in np.flatnonzero(~plain).tolist():  # plain texts have no control characters
        control[row] = _CONTROL.search(source[row]) is not None or _CONTROL.search(target[row]) is not None
    yield "control", control
    if config.max_characters:
        yield "long", np.maximum(left, right) > config.max_characters
    if config.max_words:
        spaces = [np.fromiter((text.count(" ") for text in side), np.int64, len(side)) for side in (source, target)]
        yield "long", np.maximum(*spaces) >= config.max_words
    if config.max_ratio:
        longer, shorter = np.maximum(left, right), np.minimum(left, right)
        yield "ratio", np.maximum(longer, SHORT) / np.maximum(shorter, SHORT) > config.max_ratio
    if config.copies:
        yield "copy", np.fromiter(map(_is_copy, source, target), np.bool_, len(source))


def pair_hashes(pairs: list[Pair], languages: str = "") -> NDArray[np.uint64]:
    """64-bit hashes of the content of pairs."""
    return text_hashes([pair.source for pair in pairs], [pair.target for pair in pairs], languages)


def text_hashes(source: list[str], target: list[str], languages: str = "") -> NDArray[np.uint64]:
    """64-bit hashes of pairs of texts; a newline, which normalised texts do not hold, separates the two sides."""
    key = languages.encode("utf-8")[:64]
    digests = b"".join(
        [
            blake2b(f"{left}\n{right}".encode(), digest_size=8, key=key).digest()
            for left, right in zip(source, target, strict=True)
        ]
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _is_copy(source: str, target: str) -> bool:
    """Whether both sides are equal, which teaches copying; numbers and single letters may rightly be equal."""
    return source == target and sum(map(str.isalpha, source)) > 1
