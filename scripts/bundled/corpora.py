"""The corpora of the bundled translator: where their lines lie, and which lines are translated."""

import functools
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LANGUAGES = ("de", "fr", "it", "hi")
"""The languages beside English."""
EVERYDAY = ("tatoeba", "stories", "apps")
"""Corpora of short everyday sentences."""
GENERAL = ("wikipedia", "textbooks", "common-voice")
"""English text without translations."""
SEED = 1


@functools.cache
def lines(data: Path, name: str) -> tuple[str, ...]:
    """The lines of one side of a corpus (`en-de/tatoeba.en`); none if there is no such corpus."""
    path = data / f"{name}.xz"
    if not path.is_file():
        return ()
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return tuple(line.rstrip("\n") for line in stream)


def some(data: Path, name: str, most: int) -> list[str]:
    """At most `most` lines of a corpus, drawn at random but always the same, in their order."""
    return thinned(lines(data, name), most, name)


def thinned(items: Sequence[T], most: int, name: str) -> list[T]:
    """At most `most` items, drawn at random but for a `name` always the same, in their order."""
    if len(items) <= most:
        return list(items)
    return [items[index] for index in sorted(random.Random(f"{SEED} {name}").sample(range(len(items)), most))]


def english_text(data: Path, general: int) -> list[str]:
    """English lines to translate: `general` lines of text, and all everyday sentences, whichever language has them."""
    shares = {"wikipedia": 0.73, "textbooks": 0.2, "common-voice": 0.07}
    text = [line for name in GENERAL for line in some(data, f"mono/{name}.en", round(general * shares[name]))]
    return text + [line for other in LANGUAGES for name in EVERYDAY for line in lines(data, f"en-{other}/{name}.en")]


def shared_english(data: Path, name: str) -> dict[str, dict[str, str]]:
    """For each English line of a corpus, its translations by language: a line with several joins their languages."""
    found: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        both = zip(
            lines(data, f"en-{language}/{name}.en"), lines(data, f"en-{language}/{name}.{language}"), strict=True
        )
        for english, other in both:
            found.setdefault(english, {}).setdefault(language, other)
    return found


def tokenizer_sample(data: Path) -> Iterator[str]:
    """Lines of all languages in similar numbers, more of general text than the corpora have."""
    for name, most in {
        "mono/wikipedia.en": 110_000, "mono/textbooks.en": 30_000, "mono/common-voice.en": 40_000,
        "en-de/tatoeba.en": 50_000, "en-de/europarl.en": 50_000, "en-de/machine.en": 25_000, "en-de/apps.en": 10_000,
        "mono/wikipedia.de": 110_000, "mono/common-voice.de": 40_000, "en-de/tatoeba.de": 50_000,
        "en-de/europarl.de": 50_000, "en-de/machine.de": 25_000, "en-de/apps.de": 10_000,
        "mono/common-voice.fr": 87_000, "en-fr/tatoeba.fr": 50_000, "en-fr/europarl.fr": 80_000,
        "en-fr/machine.fr": 25_000, "en-fr/apps.fr": 10_000, "en-fr/docs.fr": 10_000,
        "mono/common-voice.it": 61_000, "en-it/tatoeba.it": 15_000, "en-it/europarl.it": 110_000,
        "en-it/machine.it": 25_000, "en-it/apps.it": 10_000,
        "mono/common-voice.hi": 40_000, "en-hi/tatoeba.hi": 5_000, "en-hi/machine.hi": 90_000,
        "en-hi/apps.hi": 19_000, "en-hi/wikipedia.hi": 11_000, "en-hi/stories.hi": 5_000, "en-hi/docs.hi": 4_000,
    }.items():  # fmt: skip
        yield from some(data, name, most)


def write_lines(path: Path, texts: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{text}\n" for text in texts)
