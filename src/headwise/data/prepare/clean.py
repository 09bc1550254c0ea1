"""The rules that decide which pairs are worth training on, in one fixed order."""

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
"""Pairs that go through the rules together: enough for numpy to pay, few enough to stay small."""

SHORT = 10
"""Characters under which a side counts as this long: `Yes` and `Selbstverständlich` are a fair pair."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")
"""Control characters that are no whitespace, the replacement character, and halves of characters."""

ONLY_UNUSABLE = CleanConfig(max_characters=0, max_words=0, max_ratio=0.0, duplicates=False, copies=False)
"""For validation and test data, which are measured as they are: only what cannot be translated goes."""


def clean(
    pairs: Iterable[Pair],
    config: CleanConfig,
    report: CleaningReport,
    seen: SeenHashes,
    languages: str = "",
    workers: Workers | None = None,
) -> Iterator[tuple[list[Pair], NDArray[np.uint64]]]:
    """The normalised pairs that pass all rules, in chunks, with a hash of each pair's content.

    `seen` is shared by corpora that must not repeat one another; `languages` tells apart pairs that have the
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
    """What becomes of a chunk; rows are counted from 0 in it."""

    kept: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    """Of the rows that are kept."""
    changed: list[tuple[int, str, str]]
    """Rows that are kept in another form, and their two texts."""
    dropped: list[tuple[str, int, list[int]]]
    """Reasons, how many rows each applies to, and the first of these."""


class _Chunk(NamedTuple):
    pairs: list[Pair]
    source: list[str]
    target: list[str]

    def __reduce__(self) -> tuple[Callable[..., "_Chunk"], tuple[list[Pair], list[str], list[str]]]:
        return _Chunk, ([], self.source, self.target)  # where a pair came from does not help to judge it


def _chunks(pairs: Iterable[Pair]) -> Iterator[_Chunk]:
    remaining = iter(pairs)
    while chunk := list(islice(remaining, CHUNK)):
        yield _Chunk(chunk, [pair[0] for pair in chunk], [pair[1] for pair in chunk])


def _judge_chunk(shared: tuple[CleanConfig, str], chunk: _Chunk) -> Verdict:
    return judge(chunk.source, chunk.target, *shared)


def judge(source: list[str], target: list[str], config: CleanConfig, languages: str) -> Verdict:
    """Normalise texts and hold them against the rules that look at one pair alone."""
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
    """Each rule, in order: its reason, and the rows that break it. They expect normalised text."""
    left, right = (np.fromiter(map(len, side), np.int64, len(side)) for side in (source, target))
    yield "empty", (left == 0) | (right == 0)
    control = np.zeros(len(source), np.bool_)
    for row in np.flatnonzero(~plain).tolist():  # a plain text has none
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
    """64 bits of each pair's content."""
    return text_hashes([pair.source for pair in pairs], [pair.target for pair in pairs], languages)


def text_hashes(source: list[str], target: list[str], languages: str = "") -> NDArray[np.uint64]:
    """64 bits of the content of pairs. Normalised texts hold no newline, so it can part the two sides."""
    key = languages.encode("utf-8")[:64]
    digests = b"".join(
        [
            blake2b(f"{left}\n{right}".encode(), digest_size=8, key=key).digest()
            for left, right in zip(source, target, strict=True)
        ]
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _is_copy(source: str, target: str) -> bool:
    """Equal sides teach copying; but numbers and single letters are rightly the same in many languages."""
    return source == target and sum(map(str.isalpha, source)) > 1
