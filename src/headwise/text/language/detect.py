"""Language detection: `headwise.detect("Guten Morgen")`.

Among English, German, French, Italian and Hindi the word model decides: it is right more often than py3langid, on
sentences and far more on single words, and takes no time to load. py3langid knows the other languages. Where both are
needed, py3langid and the words together decide between the five and all others, and the word model within the five.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from headwise.errors import ConfigError
from headwise.text.given_texts import check_texts
from headwise.text.language import all_languages
from headwise.text.language.codes import UNDETERMINED, short_code
from headwise.text.language.plain_words import plain_language, words
from headwise.text.language.word_model import word_model

LONGEST = 10_000
"""Characters of a text that are looked at."""
LEAST = 0.15
"""Probability below which the language is undetermined: the most probable of 139 may have less."""
UNEVEN = 1.25
"""The best of n languages has at least this many times the probability 1/n, or the language is undetermined."""
SHOWN = 5
"""Languages that a result lists, if no languages were given."""


@dataclass(frozen=True)
class Detection:
    """The language of one text. `str(detection)` is its code."""

    language: str
    """A code as it was given, or of ISO 639; `und` if the text has no words, or no language is probable."""
    probability: float
    probabilities: dict[str, float] = field(default_factory=dict)
    """The most probable languages, best first; empty if the text has no words in a known script."""

    @property
    def determined(self) -> bool:
        return self.language != UNDETERMINED

    def __str__(self) -> str:
        return self.language


@overload
def detect(texts: str, *, languages: Iterable[str] | None = None) -> Detection: ...  # type: ignore[overload-overlap]


@overload
def detect(texts: Iterable[str], *, languages: Iterable[str] | None = None) -> list[Detection]: ...


def detect(texts: str | Iterable[str], *, languages: Iterable[str] | None = None) -> Detection | list[Detection]:
    """Detect the language of one text, or of several: a `str` gives one `Detection`, an iterable a list.

    `languages` are the codes to choose from (`de`, `de_DE` and `deu_Latn` are all German); without them the choice is
    among 139 languages. A text of several languages has the one that most of it is in.
    """
    listed = check_texts(texts)
    candidates = _candidates(all_languages.ALL_LANGUAGES if languages is None else check_texts(languages, "languages"))
    shown = SHOWN if languages is None else len(candidates)
    found = [_detect(text, candidates, shown) for text in listed]
    return found[0] if isinstance(texts, str) else found


def is_detectable(language: str) -> bool:
    """Whether the language of this code can be detected."""
    return short_code(language) in all_languages.ALL_LANGUAGES


def _candidates(languages: Sequence[str]) -> dict[str, str]:
    """The codes as given, by their short ones; of several variants of a language the first."""
    unknown = [language for language in languages if not is_detectable(language)]
    if unknown or not languages:
        which = f"the language {unknown[0]!r} cannot be detected" if unknown else "no languages to choose from"
        raise ConfigError(f"{which}; known are {' '.join(all_languages.ALL_LANGUAGES)}")
    return {short_code(language): language for language in reversed(languages)}


def _detect(text: str, candidates: Mapping[str, str], shown: int) -> Detection:
    found = words(plain_language(text[:LONGEST]))
    scores = _scores(found, candidates) if found else {}
    if not scores:
        return Detection(UNDETERMINED, 0.0)
    total = _log_sum(scores.values())
    ranked = sorted(scores, key=lambda code: -scores[code])
    probabilities = {candidates[code]: math.exp(scores[code] - total) for code in ranked[:shown]}
    best = candidates[ranked[0]]
    least = min(max(LEAST, UNEVEN / len(candidates)), 1.0)
    return Detection(best if probabilities[best] >= least else UNDETERMINED, probabilities[best], probabilities)


def _scores(found: list[str], candidates: Collection[str]) -> dict[str, float]:
    """Unnormalised log-probability of each candidate; empty if the words are in a script that none of them has."""
    model = word_model()
    listed = [code for code in candidates if code in model.languages]
    spelt = [word for word in found if model.can_spell(word)]
    by_words = {code: model.score(spelt, code) for code in listed} if spelt else {}
    if len(listed) == len(candidates):
        return by_words
    ranked = all_languages.log_probabilities(" ".join(found).replace("' ", "'"))
    scores = {code: score for code, score in ranked.items() if code in candidates}
    if by_words:
        # py3langid's probability of the five together, with the words' evidence, is shared out by the word model.
        together = _log_sum(scores[code] + model.evidence(found, code) for code in listed)
        within = _log_sum(by_words.values())
        scores |= {code: together + score - within for code, score in by_words.items()}
    return scores


def _log_sum(values: Iterable[float]) -> float:
    """Logarithm of the sum of the exponentials."""
    listed = list(values)
    highest = max(listed)
    return highest + math.log(sum(math.exp(value - highest) for value in listed))
