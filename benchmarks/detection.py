"""Accuracy of language detection among English, German, French, Italian and Hindi, on text that is not in its lists.

    python benchmarks/detection.py DATA_FOLDER

Sentences are those of `DATA_FOLDER/test`: Tatoeba (half 1) and newstest2013/2014, each once. Single words are those of
the same sentences in the four languages of the Latin script, as they are written within a sentence: by type (each word
once) and by frequency, as the mean of the four languages. Left out are

- names: words that are always capitalised within sentences; in German those that another language writes alike;
- words spelt alike: at least 2 per million words in another language's corpora, and at least a fiftieth as frequent
  as in their own;
- single letters.

The figures with all words follow. Each is given for Headwise and for py3langid restricted to the five languages, for
Headwise also with all text in capitals, without accents, and on a sample without a choice of languages.
"""

import argparse
import lzma
import random
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "scripts"))
from make_word_model import LANGUAGES, frequencies

from headwise.text.language.detect import detect

LATIN = ("en", "de", "fr", "it")
TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
Classify = Callable[[str], str]


def sentences(folder: Path) -> dict[str, list[str]]:
    """Test sentences by set and language, each once."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("test/en-*/*.xz")):
        name, language, _ = path.name.split(".")
        kind = "tatoeba" if name.startswith("tatoeba") else "newstest"
        lines = lzma.decompress(path.read_bytes()).decode().split("\n")[:-1]
        found.setdefault(f"{kind} {language}", []).extend(lines)
    return {name: list(dict.fromkeys(lines)) for name, lines in found.items()}


def words_within(lines: list[str]) -> Counter[str]:
    """Words with their counts. The first of a sentence counts only in a spelling that occurs within one."""
    within: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for line in lines:
        tokens = TOKEN.findall(unicodedata.normalize("NFC", line).replace("’", "'"))
        first.update(tokens[:1])
        within.update(tokens[1:])
    for word, count in first.items():
        spelling = next((each for each in (word.lower(), word) if each in within), "")
        if spelling:
            within[spelling] += count
    return within


def is_name(word: str, language: str, found: Mapping[str, Counter[str]]) -> bool:
    if word.islower() or word.lower() in found[language]:
        return False
    if language != "de" or not word[1:].islower():
        return True
    return any(found[other][word] and word.lower() not in found[other] for other in LATIN if other != language)


def test_words(
    lines: Mapping[str, list[str]], rates: Mapping[str, Mapping[str, float]]
) -> dict[str, tuple[Counter[str], ...]]:
    """By language: the words that are tested, and all words."""
    found = {
        language: words_within([text for name, texts in lines.items() if name.endswith(language) for text in texts])
        for language in LATIN
    }
    result = {}
    for language, counts in found.items():
        kept: Counter[str] = Counter()
        out: Counter[str] = Counter()
        for word, count in counts.items():
            own = rates[language].get(word.lower(), 0.0)
            others = [rates[other].get(word.lower(), 0.0) for other in LATIN if other != language]
            if is_name(word, language, found):
                out["names"] += 1
            elif max(others) >= max(2e-6, own / 50):
                out["spelt alike"] += 1
            elif len(word) == 1:
                out["letters"] += 1
            else:
                kept[word] = count
        print(f"{language}: {len(counts):,} words; left out: {dict(out)}; tested: {len(kept):,}")
        result[language] = (kept, counts)
    return result


def accuracy(classify: Classify, lines: Mapping[str, list[str]], words: Mapping[str, tuple[Counter[str], ...]]) -> str:
    hits = {name: sum(classify(text) == name[-2:] for text in texts) for name, texts in lines.items()}
    total = 100 * sum(hits.values()) / sum(map(len, lines.values()))
    by_set = ", ".join(f"{name} {100 * hits[name] / len(texts):.2f}" for name, texts in lines.items())
    rows = [f"  sentences: {total:.2f} % ({by_set})"]
    for title, which in (("words", 0), ("all words", 1)):
        by_type, by_count = [], []
        for language, choices in words.items():
            counts = choices[which]
            right = {word for word in counts if classify(word) == language}
            by_type.append(100 * len(right) / len(counts))
            by_count.append(100 * sum(counts[word] for word in right) / counts.total())
        for how, values in (("by type", by_type), ("by frequency", by_count)):
            each = ", ".join(f"{language} {value:.1f}" for language, value in zip(words, values, strict=True))
            rows.append(f"  {title} {how}: {sum(values) / len(values):.1f} % ({each})")
    return "\n".join(rows)


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not "\u0300" <= c <= "\u036f")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    lines = sentences(args.folder)
    words = test_words(lines, {language: frequencies(args.folder, language) for language in LATIN})

    def ours(text: str) -> str:
        return detect(text, languages=LANGUAGES).language

    start = time.perf_counter()
    ours("hello")
    print(f"first detection after {1000 * (time.perf_counter() - start):.0f} ms")
    print("Headwise", accuracy(ours, lines, words), sep="\n")
    some = random.Random(0).sample([text for texts in lines.values() for text in texts], 2000)
    start = time.perf_counter()
    for text in some:
        ours(text)
    print(f"  {(time.perf_counter() - start) / len(some) * 1e6:.0f} microseconds per sentence")
    print("Headwise, capitals", accuracy(lambda text: ours(text.upper()), lines, words), sep="\n")
    print("Headwise, without accents", accuracy(lambda text: ours(without_accents(text)), lines, words), sep="\n")

    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    print("py3langid", accuracy(lambda text: str(identifier.classify(text)[0]), lines, words), sep="\n")
    print(
        "Headwise, 139 languages",
        accuracy(lambda text: detect(text).language, sampled(lines), words_of(words)),
        sep="\n",
    )


def sampled(lines: Mapping[str, list[str]], count: int = 500) -> dict[str, list[str]]:
    """Some sentences of each set."""
    return {name: random.Random(0).sample(texts, count) for name, texts in lines.items()}


def words_of(words: Mapping[str, tuple[Counter[str], ...]], count: int = 1000) -> dict[str, tuple[Counter[str], ...]]:
    """Some words of each language."""
    chosen = {
        language: [random.Random(0).sample(sorted(counts), count) for counts in choices]
        for language, choices in words.items()
    }
    return {
        language: tuple(
            Counter({word: words[language][place][word] for word in some}) for place, some in enumerate(both)
        )
        for language, both in chosen.items()
    }


if __name__ == "__main__":
    main()
