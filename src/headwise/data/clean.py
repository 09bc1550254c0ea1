"""The rules that decide which pairs are worth training on, in one fixed order."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headwise.config import CleanConfig
from headwise.data.duplicates import SeenHashes
from headwise.data.pair import Pair
from headwise.data.report import CleaningReport
from headwise.text.normalise import normalise

CHUNK = 8192
"""Pairs that go through the rules together: enough for numpy to pay, few enough to stay small."""

SHORT = 10
"""Characters under which a side counts as this long: `Yes` and `Selbstverständlich` are a fair pair."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")
"""Control characters that are no whitespace, the replacement character, and halves of characters."""

ONLY_UNUSABLE = CleanConfig(max_characters=0, max_words=0, max_ratio=0.0, duplicates=False, copies=False)
"""For validation and test data, which are measured as they are: only what cannot be translated goes."""

Rule = Callable[[str, str], bool]


def clean(
    pairs: Iterable[Pair], config: CleanConfig, report: CleaningReport, seen: SeenHashes, languages: str = ""
) -> Iterator[tuple[list[Pair], NDArray[np.uint64]]]:
    """The normalised pairs that pass all rules, in chunks, with a hash of each pair's content.

    `seen` is shared by corpora that must not repeat one another; `languages` tells apart pairs that have the
    same texts in other languages.
    """
    rules = make_rules(config)
    chunk: list[Pair] = []
    for raw in pairs:
        report.read += 1
        source, target = normalise(raw.source), normalise(raw.target)
        for reason, breaks in rules:
            if breaks(source, target):
                report.drop(reason, raw)
                break
        else:
            chunk.append(Pair(source, target, raw.file, raw.line))
            if len(chunk) == CHUNK:
                yield _without_duplicates(chunk, config, report, seen, languages)
                chunk = []
    if chunk:
        yield _without_duplicates(chunk, config, report, seen, languages)


def make_rules(config: CleanConfig) -> list[tuple[str, Rule]]:
    """The rules that look at one pair alone, each with its reason. They expect normalised text."""
    rules: list[tuple[str, Rule]] = [
        ("empty", lambda source, target: not source or not target),
        ("control", lambda source, target: bool(_CONTROL.search(source) or _CONTROL.search(target))),
    ]
    characters = config.max_characters
    if characters:
        rules.append(("long", lambda source, target: len(source) > characters or len(target) > characters))
    words = config.max_words
    if words:
        rules.append(("long", lambda source, target: max(source.count(" "), target.count(" ")) >= words))
    ratio = config.max_ratio
    if ratio:
        rules.append(("ratio", lambda source, target: _length_ratio(source, target) > ratio))
    if config.copies:
        rules.append(("copy", _is_copy))
    return rules


def pair_hashes(pairs: list[Pair], languages: str = "") -> NDArray[np.uint64]:
    """64 bits of each pair's content. Normalised texts hold no newline, so it can part the two sides."""
    key = languages.encode("utf-8")[:64]
    digests = b"".join(
        blake2b(f"{pair.source}\n{pair.target}".encode(), digest_size=8, key=key).digest() for pair in pairs
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _without_duplicates(
    chunk: list[Pair], config: CleanConfig, report: CleaningReport, seen: SeenHashes, languages: str
) -> tuple[list[Pair], NDArray[np.uint64]]:
    hashes = pair_hashes(chunk, languages)
    if not config.duplicates:
        return chunk, hashes
    fresh = seen.add(hashes)
    for index in np.flatnonzero(~fresh):
        report.drop("duplicate", chunk[index])
    return [chunk[index] for index in np.flatnonzero(fresh)], hashes[fresh]


def _length_ratio(source: str, target: str) -> float:
    left, right = max(len(source), SHORT), max(len(target), SHORT)
    return left / right if left > right else right / left


def _is_copy(source: str, target: str) -> bool:
    """Equal sides teach copying; but numbers and single letters are rightly the same in many languages."""
    return source == target and sum(character.isalpha() for character in source) > 1
