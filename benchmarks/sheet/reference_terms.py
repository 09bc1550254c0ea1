"""Terms out of a test set and its references, found without a translator: for measuring glossaries.

A term is one or two neighbouring words of a source sentence whose translation in the reference is known from a
statistical dictionary of another corpus (IBM Model 1 in both directions). It has the form that the reference has.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np

from headwise.data.prepare.encoded_corpus import Flat
from headwise.decode.shortlist.ibm_model1 import lexical_table

Pair = tuple[str, str]
Dictionary = dict[Pair, float]

WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 4
"""Letters of a word that can be a term."""
FUNCTION_WORDS = 150
"""The most frequent words of the corpus, which are no terms."""
LEAST = 0.1
"""The probability that a translation must have in both directions: less usual ones are among them."""
PER_SENTENCE = 2
OTHER = 0
"""The word that stands for all that the test set does not have."""


@dataclass
class ReferenceTerms:
    """One glossary for a test set, and the sentences that it suits: whose references have all of their terms."""

    terms: dict[str, str] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)

    def requested(self, source: str) -> list[Pair]:
        """The terms of a sentence, with their translations."""
        return [(term, target) for term, target in self.terms.items() if has_words(source, term)]


def has_words(text: str, words: str) -> bool:
    """Whether a text has these words one after the other, in whatever case."""
    return _spaced(words) in _spaced(text)


def reference_terms(pairs: Sequence[Pair], corpus: Sequence[Pair], seed: int = 1) -> ReferenceTerms:
    """A glossary out of the references, which no sentence contradicts."""
    dictionary, frequent = learn_dictionary(pairs, corpus)
    draw, made = random.Random(seed), ReferenceTerms()
    for source, reference in pairs:
        if any(not has_words(reference, target) for _, target in made.requested(source)):
            continue  # a term of another sentence is translated differently in this one
        candidates = [
            pair for pair in _phrases(source, reference, dictionary, frequent) if _suits(pair, source, reference, made)
        ]
        draw.shuffle(candidates)
        candidates.sort(key=lambda pair: -len(pair[0].split()))
        chosen: list[Pair] = []
        for term, target in candidates:
            apart = all(not set(WORD.findall(term)) & set(WORD.findall(other)) for other, _ in chosen)
            if apart and len(chosen) + len(made.requested(source)) < PER_SENTENCE:
                chosen.append((term, target))
        made.terms.update(chosen)
        if made.requested(source):
            made.pairs.append((source, reference))
    return made


def learn_dictionary(pairs: Sequence[Pair], corpus: Sequence[Pair]) -> tuple[Dictionary, set[str]]:
    """The probability of each pair of words of the test set, the lower of both directions; and the function words."""
    sides = [{word for pair in pairs for word in _words(pair[side])} for side in (0, 1)]
    names = [f"{side} {word}" for side in (0, 1) for word in sorted(sides[side])]
    numbers = {name: number for number, name in enumerate(names, OTHER + 1)}
    coded = [
        Flat.of(
            [[numbers.get(f"{side} {word}", OTHER) for word in _words(pair[side])] for pair in corpus], np.dtype("<u4")
        )
        for side in (0, 1)
    ]
    frequent = {
        word
        for side in (0, 1)
        for word, _ in Counter(word for pair in corpus for word in _words(pair[side])).most_common(FUNCTION_WORDS)
    }
    found: list[Dictionary] = []
    for given, made in (coded, coded[::-1]):
        table = lexical_table(given, made, len(names) + 1, best=50, iterations=5, least=LEAST)
        found.append(
            {
                (names[number - 1][2:], names[target - 1][2:]): float(chance)
                for number in range(1, len(names) + 1)
                for target, chance in zip(
                    table.of(number),
                    table.probabilities[table.offsets[number] : table.offsets[number + 1]],
                    strict=True,
                )
                if target != OTHER
            }
        )
    onward, back = found
    return {pair: min(chance, back[pair[::-1]]) for pair, chance in onward.items() if pair[::-1] in back}, frequent


def _phrases(source: str, reference: str, dictionary: Dictionary, frequent: set[str]) -> list[Pair]:
    """The words, and pairs of neighbouring words, whose translation is in the reference."""
    here, there = list(WORD.finditer(source)), list(WORD.finditer(reference))
    links: dict[int, int] = {}
    for index, word in enumerate(here):
        chances = {place: dictionary.get((_plain(word[0]), _plain(other[0])), 0.0) for place, other in enumerate(there)}
        best = max(chances, key=lambda place: chances[place], default=None)
        usable = len(word[0]) >= SHORTEST and not {_plain(word[0])} & frequent and index > 0
        if best is None or not usable or chances[best] < LEAST or not best:
            continue
        if len(there[best][0]) >= SHORTEST and _plain(there[best][0]) not in frequent | {_plain(word[0])}:
            links[index] = best
    once = {index: best for index, best in links.items() if list(links.values()).count(best) == 1}
    found = [(here[index][0], there[best][0]) for index, best in once.items()]
    for one, two in pairwise(sorted(once)):
        first, last = sorted((once[one], once[two]))
        term = source[here[one].start() : here[two].end()]
        target = reference[there[first].start() : there[last].end()]
        near = two == one + 1 and last - first <= 2
        if near and re.fullmatch(r"[^\W\d_]+ [^\W\d_]+", term) and re.fullmatch(r"[^\W\d_]+([ '’][^\W\d_]+)+", target):
            found.append((term, target))
    return found


def _suits(pair: Pair, source: str, reference: str, made: ReferenceTerms) -> bool:
    """Whether a term is found once on both sides, and contradicts neither other terms nor other sentences."""
    term, target = map(_plain, pair)
    if _words(source).count(term.split()[0]) > 1 or _words(reference).count(_words(target)[0]) > 1:
        return False
    if any(set(term.split()) & set(_words(other)) for other in made.terms):
        return False
    return all(has_words(other, target) for text, other in made.pairs if has_words(text, term))


@cache
def _spaced(text: str) -> str:
    return f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    return [_plain(word) for word in WORD.findall(text)]


def _plain(text: str) -> str:
    return text.casefold()
