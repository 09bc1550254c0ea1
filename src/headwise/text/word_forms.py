"""Words and their forms: whether two words seem to be inflected forms of one, judged by their letters alone."""

import unicodedata
from functools import lru_cache

SHORTEST_STEM = 5
"""Letters that an inflected word must have in common with the other, from the first."""
STEM_SHARE = 0.7
"""Share of the longer word's letters that its stem must have."""
LONGEST_ENDINGS = (2, 3)
"""The most letters after the stem, of the word with fewer and of the one with more: -al and -aux, but not -ion and
-eur, which make other words."""

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def folded(text: str) -> str:
    """A word in the form in which case and the kind of apostrophe make no difference."""
    return text.casefold().translate(_APOSTROPHES)


@lru_cache(2**18)  # a web corpus has hundreds of millions of different tokens
def word_in(token: str) -> str:
    """The word in a token, or nothing if it holds anything but letters and hyphens between them."""
    kinds = [unicodedata.category(each)[0] for each in token]
    start = next((place for place, kind in enumerate(kinds) if kind in "LM"), len(token))
    end = next((place for place in range(len(token), start, -1) if kinds[place - 1] in "LM"), start)
    word = token[start:end]
    plain = all(kind in "LM" or each == "-" for kind, each in zip(kinds[start:end], word, strict=True))
    return word if plain else ""


def is_form_of(word: str, other: str) -> bool:
    """Whether two words are equal or seem to be forms of one: they differ in case, diacritics or a short ending."""
    one, two = _bare(word), _bare(other)
    if one == two:
        return True
    if not (_is_letters(one) and _is_letters(two)):
        return False
    stem = next((place for place, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    fewer, more = sorted((len(one) - stem, len(two) - stem))
    enough = stem >= SHORTEST_STEM and stem >= STEM_SHARE * max(len(one), len(two))
    return enough and fewer <= LONGEST_ENDINGS[0] and more <= LONGEST_ENDINGS[1]


def _is_letters(word: str) -> bool:
    """Whether a word has nothing but letters with their marks, which the vowel signs of Hindi are."""
    return word.isalpha() or (bool(word) and all(unicodedata.category(each)[0] in "LM" for each in word))


def _bare(word: str) -> str:
    """A word without case and diacritics: German and French inflection changes both."""
    decomposed = unicodedata.normalize("NFD", folded(word))
    if decomposed.isascii():
        return decomposed
    return "".join(each for each in decomposed if not "\u0300" <= each <= "\u036f")
