"""Words in a script that a text is not written in: a Hebrew word in English. Models that have not learnt it babble.

They are kept parts, as readers expect: the word is quoted, or it is in the target language already. Latin words are
not among them, as people write them amid all scripts, and models know them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache

from headwise.documents.marked_text import Kept, MarkedText, Part
from headwise.documents.placeholders import Literal

_LATIN, _EAST_ASIAN = "LATIN", "CJK"
_OTHER_LETTERS = re.compile("[\u0370-\u1dff\u2100-\u214f\u2c80-\ua63f\ua800-\ufdff\ufe70-\U0003ffff]")
_ALIKE = {"HIRAGANA": _EAST_ASIAN, "KATAKANA": _EAST_ASIAN, "HANGUL": _EAST_ASIAN, "BOPOMOFO": _EAST_ASIAN}
_BETWEEN = re.compile(r"[\s\d,.:;!?'’\"·،؛。、・—–-]*")
_AFTER = re.compile(r"[。！？」』）、؟]*")
_SCRIPTS = dict.fromkeys(("en", "de", "fr", "it", "es", "pt", "nl", "sv", "da", "pl", "cs", "ro", "hu", "fi"), _LATIN)
_SCRIPTS |= {"hi": "DEVANAGARI", "ru": "CYRILLIC", "uk": "CYRILLIC", "el": "GREEK", "he": "HEBREW", "ar": "ARABIC"}
_SCRIPTS |= dict.fromkeys(("zh", "ja", "ko"), _EAST_ASIAN)
"""Scripts of some languages; in others, the script of most words that are not Latin is that of the text."""
SURELY_LATIN = 0.7
"""Share of Latin words at which a text of an unknown language is taken to be in a language that is written so."""


def keep_foreign(text: MarkedText, languages: Collection[str] = ()) -> MarkedText:
    """The text, which is in one of these languages if any are known, with words of other scripts as kept parts."""
    strings = [part for part in text.parts if isinstance(part, str)]
    if not any(map(_OTHER_LETTERS.search, strings)):
        return text
    scripts = {_SCRIPTS.get(language, "") for language in languages} | {_LATIN}
    if not languages or "" in scripts:
        scripts = {_most_frequent(strings, is_known=len(languages) == 1), _LATIN}
    return MarkedText(
        found for part in text.parts for found in (_found(part, scripts) if isinstance(part, str) else [part])
    )


def _most_frequent(strings: list[str], is_known: bool) -> str:
    words = Counter(script for string in strings for _, _, script in _words(string))
    if not is_known and words[_LATIN] >= SURELY_LATIN * words.total():
        return _LATIN
    del words[_LATIN]
    return max(words, key=lambda script: words[script], default=_LATIN)


def _found(text: str, scripts: Collection[str]) -> Iterator[Part]:
    end = 0
    for start, stop in _phrases(text, scripts):
        yield text[end:start]
        yield Kept(text[start:stop], Literal(text[start:stop]))
        end = stop
    yield text[end:]


def _phrases(text: str, scripts: Collection[str]) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of neighbouring words in scripts other than these."""
    start = end = -1
    for first, last, script in _words(text):
        if script in scripts or (script == "GREEK" and last - first == 1):  # an angle, a unit
            continue
        if end < 0 or not _BETWEEN.fullmatch(text, end, first):
            if end >= 0:
                yield start, end
            start = first
        closing = _AFTER.match(text, last)
        end = closing.end() if closing else last
    if end >= 0:
        yield start, end


def _words(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of letters of one script, with the marks on them."""
    start, script = 0, ""
    for place, character in enumerate(f"{text} "):
        found = _script(character)
        if script and (found == script or (not found and _belongs(character))):
            continue
        if script:
            yield start, place, script
        start, script = place, found


@cache
def _script(character: str) -> str:
    """The script of a letter, as its name begins; empty for other characters and letters of no script of their own."""
    if unicodedata.category(character) not in ("Ll", "Lu", "Lt", "Lo"):
        return ""
    if character < "\u0370":
        return _LATIN
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    first = name.partition(" ")[0]
    return _ALIKE.get(first, first)


def _belongs(character: str) -> bool:
    """Whether a character that has no script belongs to the letter before it: an accent, a joiner."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm", "Cf")
