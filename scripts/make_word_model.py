"""Make the word model of language detection from corpora: frequent words and letter trigrams of five languages.

    python scripts/make_word_model.py DATA_FOLDER

The folder holds `en-XX/{tatoeba,apps,stories,europarl}.XX.xz` (Hindi without Europarl) and `mono/common-voice.XX.xz`.
The result is shipped in the package; src/headwise/text/language/word_model.py describes the file.
"""

import argparse
import hashlib
import itertools
import lzma
import math
import re
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

from headwise.text.language.plain_words import plain_language, words
from headwise.text.language.word_model import ABSENT, FILE, LOWEST, STEP, trigrams

LANGUAGES = ("en", "de", "fr", "it", "hi")
WORDS = {"en": 20_000, "de": 25_000, "fr": 20_000, "it": 20_000, "hi": 8_000}
"""Frequent words that are listed; German compounds and inflects most."""
EUROPARL_LINES = 150_000
WEIGHTS = {"tatoeba": 1.0, "common-voice": 1.0, "stories": 1.0, "apps": 0.5, "europarl": 0.5}
"""Everyday sentences count more than parliament and menus."""
UNACCENTED = 0.03
"""Share of an accented word's frequency that its spelling without accents gets."""
UNSEEN = 1e-3 / 200
"""Probability of each letter that a language's words do not have, before smoothing."""
ACCENTS = re.compile("[\u0300-\u036f]")


def corpora(folder: Path, language: str) -> dict[str, list[Path]]:
    """The files of a language by kind. English is on one side of every pair."""
    pairs = [f"en-{code}" for code in LANGUAGES[1:]] if language == "en" else [f"en-{language}"]
    found = {
        kind: [path for pair in pairs if (path := folder / pair / f"{kind}.{language}.xz").exists()] for kind in WEIGHTS
    }
    found["common-voice"] = [folder / "mono" / f"common-voice.{language}.xz"]
    found["europarl"] = found["europarl"][:1]
    return {kind: paths for kind, paths in found.items() if paths}


def frequencies(folder: Path, language: str) -> dict[str, float]:
    """Relative frequency of each word of a language."""
    counts: dict[str, float] = defaultdict(float)
    for kind, paths in corpora(folder, language).items():
        seen: Counter[str] = Counter()
        for path in paths:
            with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
                for line in itertools.islice(lines, EUROPARL_LINES if kind == "europarl" else None):
                    seen.update(words(plain_language(line)))
        for word, count in seen.items():
            counts[word] += count * WEIGHTS[kind]
    total = sum(counts.values())
    return {word: count / total for word, count in counts.items()}


def most_frequent(found: dict[str, float], count: int) -> dict[str, float]:
    """The most frequent words, spellings without accents included."""
    spelt = dict(found)
    for word, share in found.items():
        for plain in unaccented(word) - {word}:
            spelt[plain] = spelt.get(plain, 0) + share * UNACCENTED
    return dict(sorted(spelt.items(), key=lambda item: (-item[1], item[0]))[:count])


def unaccented(word: str) -> set[str]:
    """Spellings of a word on a keyboard without accents; German has two."""
    spelt = word.replace("ß", "ss").replace("œ", "oe").replace("æ", "ae")
    german = spelt.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    return {ACCENTS.sub("", unicodedata.normalize("NFD", each)) for each in (spelt, german)}


class Letters:
    """Trigram model of the letters in a language's words, each counted once, with Witten-Bell smoothing."""

    def __init__(self, listed: dict[str, float]) -> None:
        self.counts: dict[str, int] = defaultdict(int)
        self.totals: dict[str, int] = defaultdict(int)
        self.kinds: dict[str, int] = defaultdict(int)
        for word in listed:
            for gram in trigrams(word):
                for part in (gram, gram[1:], gram[2:]):
                    self.kinds[part[:-1]] += part not in self.counts
                    self.counts[part] += 1
                    self.totals[part[:-1]] += 1

    def probability(self, gram: str) -> float:
        """Of the last letter after the two before it."""
        found = UNSEEN
        for part in (gram[2:], gram[1:], gram):
            total, kinds = self.totals.get(part[:-1], 0), self.kinds.get(part[:-1], 0)
            if total:
                found = (self.counts.get(part, 0) + kinds * found) / (total + kinds)
        return found


def quantised(probability: float) -> str:
    """A probability as one character."""
    return chr(LOWEST + min(round(-math.log(probability) / STEP), ord(ABSENT) - LOWEST - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=FILE)
    args = parser.parse_args()
    listed = {language: most_frequent(frequencies(args.folder, language), WORDS[language]) for language in LANGUAGES}
    letters = {language: Letters(listed[language]) for language in LANGUAGES}
    every_word = sorted(set().union(*listed.values()))
    every_gram = sorted({gram for word in every_word for gram in trigrams(word)})
    lines = [
        " ".join(LANGUAGES),
        " ".join(every_word),
        *("".join(quantised(found[w]) if w in found else ABSENT for w in every_word) for found in listed.values()),
        "".join(every_gram),
        *("".join(quantised(model.probability(gram)) for gram in every_gram) for model in letters.values()),
    ]
    raw = "".join(f"{line}\n" for line in lines).encode()
    args.out.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(every_word):,} words, {len(every_gram):,} trigrams; {args.out.stat().st_size:,} bytes")
    print(f"SHA-256 of the content: {hashlib.sha256(raw).hexdigest()}")


if __name__ == "__main__":
    main()
