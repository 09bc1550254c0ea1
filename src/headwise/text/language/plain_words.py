"""The words of a text, as evidence for its language."""

import re
import unicodedata

_NO_LANGUAGE = re.compile(
    r"""https?://\S+ | www\.\S+ | (?<!\S)[^\s@]+@[^\s@]+\.\w+              # URLs, e-mail addresses
    | (?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|info|io|eu|gov|edu|de|fr|it|in|uk)\b(?:/\S*)?
    | </?[a-zA-Z][^<>]*> | \{[^{}\s]*\} | %\(\w+\)\w | %\w\b | &\w+;  # tags, placeholders
    | (?<!\w)[@\#]\w+                                                 # handles, hashtags
    | \b\w*\d\w*                                                      # numbers, 4K, COVID19""",
    re.VERBOSE,
)

_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u109f\u1780-\u17d3\u200c-\u200d"
)
"""Accents without a composed form, and vowel signs of Indic and other scripts: part of the word, though no letters."""
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*'?")

_LATIN_ENDS = "\u0250"


def plain_language(text: str) -> str:
    """The text in lower case without what is written alike in all languages: URLs, tags, placeholders, numbers."""
    return _NO_LANGUAGE.sub(" ", unicodedata.normalize("NFC", text)).replace("’", "'").lower()


def words(plain: str) -> list[str]:
    """The words of such a text; an elided one keeps its apostrophe (`l'acqua`: `l'`, `acqua`).

    Where Latin letters meet another script, only the words of the script that has more of them are evidence: names and
    terms keep their own spelling in any text.
    """
    found = _WORD.findall(plain)
    latin = [word for word in found if word[0] < _LATIN_ENDS]
    if not latin or len(latin) == len(found):
        return found
    return latin if 2 * len(latin) > len(found) else [word for word in found if word[0] >= _LATIN_ENDS]
