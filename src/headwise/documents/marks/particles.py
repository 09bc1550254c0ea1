"""Articles and prepositions, which a pair of marks does not take along from beside its words.

Models link a word such as `de` that the source lacks to the noun after it: *during <em>evaluation</em>* is *au
cours de l'<em>évaluation</em>*.
"""

from __future__ import annotations


def _by_language(words: dict[str, str]) -> dict[str, frozenset[str]]:
    return {language: frozenset(listed.split()) for language, listed in words.items()}


ARTICLES = _by_language(
    {
        "de": "der die das den dem des ein eine einen einem einer eines",
        "en": "the a an",
        "es": "el la los las un una unos unas",
        "fr": "le la les un une des",
        "it": "il lo la i gli le un uno una",
    }
)
PREPOSITIONS = _by_language(
    {
        "de": "zu zum zur von vom in im an am auf für mit bei",
        "en": "of to in on at by for from with into",
        "es": "de del a al en por para con sobre que",
        "fr": "de du à au aux par pour sur dans avec que",
        "it": "di del dello della dei degli delle a al allo alla ai alle da dal dalla in nel nella per su sul che",
    }
)
"""With conjunctions; without words that are pronouns too, as the French `en`."""
ENDINGS = _by_language({"fr": "ne", "hi": "का के की को में से पर ने"})
"""Further words that never end what a pair encloses unless the source has one like them."""
