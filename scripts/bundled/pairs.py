"""Synthetic pairs for the bundled translator: which translations of a model are good enough to learn from."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from corpora import EVERYDAY, LANGUAGES, lines, shared_english, thinned, write_lines

from headwise.text.numbers import same_runs

WORST = 0.05
"""The share of translations with the lowest scores that is dropped."""
LONGEST = 2.0
"""Longer side over shorter side, in characters, of pairs that are not very short."""
CROSS = 40_000
"""Pairs per corpus of two languages other than English."""

_REPEATED = re.compile(r"(\b\S+(?: \S+){0,3})(?: \1){2,}")
"""One to four words, three times in a row."""
_CLAUSES = re.compile(r"(?:,|[.!?…।])\s+")
_QUOTES = re.compile(r"""^["“”„«»\s]+|["“”„«»\s]+$""")


def good_pairs(texts: Sequence[str], translations: Sequence[str], scores: Sequence[float]) -> Iterator[tuple[str, str]]:
    """The texts with their translations, without the ones that are probably wrong."""
    least = sorted(scores)[round(WORST * len(scores))] if scores else 0.0
    for text, other, score in zip(texts, translations, scores, strict=True):
        if score >= least and is_faithful(text, other):
            yield text, other


def is_faithful(text: str, translation: str) -> bool:
    """Whether numbers are kept, lengths are alike, nothing is repeated, and the text was not just copied."""
    if not translation or not same_runs(text, translation):
        return False
    longer, shorter = sorted((len(text), len(translation)), reverse=True)
    if longer > 20 and longer > LONGEST * shorter:
        return False
    words = translation.split()
    if len(set(words)) < 0.7 * len(words) and _REPEATED.search(translation) and not _REPEATED.search(text):
        return False  # the search for repetitions is slow, and few texts need it
    return text != translation or len(words) < 3


def write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> int:
    """Write tab-separated pairs and return how many there are; texts with tabs of their own are left out."""
    rows = [f"{left}\t{right}" for left, right in pairs if "\t" not in left and "\t" not in right]
    write_lines(path, rows)
    return len(rows)


def openings(data: Path, language: str) -> list[tuple[str, str]]:
    """What everyday sentences open with, before their only comma or first full stop: "Hello", "Excuse me".

    An opening has at most four words, and a translation that it has at least twice, and in a third of its sentences.
    """
    found: dict[str, Counter[str]] = {}
    for name in ("tatoeba", "stories"):
        sides = (lines(data, f"en-{language}/{name}.{side}") for side in ("en", language))
        for pair in zip(*sides, strict=True):
            parts = [_CLAUSES.split(text) for text in pair]
            if len(parts[0]) == len(parts[1]) == 2:
                english, other = (_QUOTES.sub("", part[0]) for part in parts)
                if english and other and max(len(english.split()), len(other.split())) <= 4:
                    found.setdefault(english, Counter())[other] += 1
    return [
        (english, other)
        for english, others in found.items()
        for other, count in others.most_common(2)
        if count >= 2 and count * 3 >= others.total()
    ]


def phrasebook() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """The phrases of `phrases.tsv` as pairs of all languages: what one says every day, and corpora lack."""
    header, *rows = (Path(__file__).parent / "phrases.tsv").read_text(encoding="utf-8").splitlines()
    columns = zip(*(row.split("\t") for row in rows), strict=True)
    for (left, lefts), (right, rights) in itertools.combinations(zip(header.split("\t"), columns, strict=True), 2):
        yield left, right, list(dict.fromkeys(zip(lefts, rights, strict=True)))


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """The pairs of a file that `write_pairs` wrote."""
    if not path.is_file():
        return []
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1])
    return [(left, right) for left, right in rows]


def cross_pairs(data: Path, work: Path, translations: str) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Pairs of two languages other than English, which are translations of the same English line.

    `translations` names the folder in `work` that has those by the model itself.
    """
    parliament: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        for english, other in read_pairs(work / "parliament" / f"en-{language}.tsv"):
            parliament.setdefault(english, {})[language] = other
    everyday: dict[str, dict[str, str]] = {}
    for name in EVERYDAY:
        for english, others in shared_english(data, name).items():
            everyday.setdefault(english, {}).update(others)
    for language in LANGUAGES:
        made = work / ("french" if language == "fr" else translations)
        for english, other in read_pairs(made / f"en-{language}.tsv"):
            if english in everyday:
                everyday[english].setdefault(language, other)  # what people translated comes first
    corpora = (parliament, shared_english(data, "machine"), everyday)
    for left, right in itertools.combinations(LANGUAGES, 2):
        chosen: dict[tuple[str, str], None] = {}
        for corpus in corpora:
            both = [(texts[left], texts[right]) for texts in corpus.values() if left in texts and right in texts]
            chosen |= dict.fromkeys(pair for pair in thinned(both, CROSS, f"{left}-{right}") if is_faithful(*pair))
        yield left, right, list(chosen)
