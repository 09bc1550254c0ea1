"""Noise in the letters of a pair: case and punctuation, typos, missing accents and divided words."""

import re
import unicodedata

from headwise.data.noise.dice import Dice

Texts = tuple[str, str]
"""A source and a target; also the codes of their two languages."""

WORDS_PER_TYPO = 12

_INITIAL = re.compile(r"(?<!\S)[^\w\s]*\w")
"""The first letter of a word, with the brackets or quotes before it."""
_FINAL = re.compile(r"\s*[.!?…।॥。！？؟۔]+$")
_SPELT = re.compile(r"[^\d\s<>@:/%{}\\_&=#.]{4,}")
"""A word of letters, as opposed to a number, a tag, a placeholder or an address."""
_ACCENTED = re.compile("[\u00c0-\u024f]")
"""Letters of the Latin script with an accent, and some that are letters of their own."""
DOTTED = ("tr", "az")
"""Languages in which i and İ are one letter, ı and I another."""
_KEYBOARDS = {
    "": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "de": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "fr": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}
"""The rows of letters by language; the empty code is for all others."""


def lower(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """A source without capitals, as many type; the target is written as it should be."""
    source, target = texts
    if _base(languages[0]) in DOTTED:
        source = source.replace("İ", "i").replace("I", "ı")
    return source.lower(), target


def upper(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides in capitals. A source without case stays: nothing in it would call for capitals in the target."""
    source = _upper(texts[0], languages[0])
    return texts if source == texts[0] else (source, _upper(texts[1], languages[1]))


def title(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides With Capital Initials, unless the source has no case."""
    source = _title(texts[0], languages[0])
    return texts if source == texts[0] else (source, _title(texts[1], languages[1]))


def unpunctuated(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides without their full stop, danda, question or exclamation mark, if the source has one."""
    source, target = (_FINAL.sub("", text) for text in texts)
    return (source, target) if source and target and source != texts[0] else texts


def typos(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """A source with a typing error or several: letters swapped, dropped, doubled, or hit on the key beside.

    One in eight has no accents instead, if it had any.
    """
    if dice.one_in(8) and (bare := _ACCENTED.sub(_unaccented, texts[0])) != texts[0]:
        return bare, texts[1]
    words = texts[0].split(" ")
    places = [place for place, word in enumerate(words) if _SPELT.fullmatch(word)]
    if not places:
        return texts
    near = _NEIGHBOURS.get(_base(languages[0]), _NEIGHBOURS[""])
    for _ in range(1 + dice.below(1 + len(words) // WORDS_PER_TYPO)):
        place = dice.pick(places)
        words[place] = _misspelt(dice, words[place], near)
    return " ".join(words), texts[1]


def hyphenated(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """A source in which a long word is divided, as at the end of a hard-wrapped line: "trans- lation"."""
    words = texts[0].split(" ")
    places = [place for place, word in enumerate(words) if len(word) > 6 and word.isalpha()]
    if not places:
        return texts
    place = dice.pick(places)
    cut = 3 + dice.below(len(words[place]) - 5)
    words[place] = f"{words[place][:cut]}- {words[place][cut:]}"
    return " ".join(words), texts[1]


def without_final(text: str) -> str:
    """The text without its final punctuation."""
    return _FINAL.sub("", text)


def _base(language: str) -> str:
    """The language of a code such as de-AT."""
    return re.split("[-_]", language)[0].lower()


def _upper(text: str, language: str) -> str:
    if _base(language) in DOTTED:
        text = text.replace("i", "İ")
    return text.upper()  # ß becomes SS, as German is written


def _title(text: str, language: str) -> str:
    dotted = _base(language) in DOTTED

    def initial(match: re.Match[str]) -> str:
        letter = match[0][-1]
        return match[0][:-1] + ("İ" if dotted and letter == "i" else letter.title())

    return _INITIAL.sub(initial, text)


def _unaccented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFD", match[0])[0]


def _misspelt(dice: Dice, word: str, near: dict[str, str]) -> str:
    """The word with one error, which is never in its first letter."""
    if len(word) < 3:
        return word
    kind, place = dice.below(4), 1 + dice.below(len(word) - 2)
    letter, following = word[place], word[place + 1]
    if kind == 0 and letter != following:
        return word[:place] + following + letter + word[place + 2 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    if kind == 2 and letter.lower() in near:
        hit = dice.pick(near[letter.lower()])
        return word[:place] + (hit if letter.islower() else hit.upper()) + word[place + 1 :]
    return word[: place + 1] + word[place:]


def _neighbours(rows: tuple[str, ...]) -> dict[str, str]:
    """The letters beside each letter: on its row, and on the rows above and below."""
    places = {letter: (row, column) for row, letters in enumerate(rows) for column, letter in enumerate(letters)}
    return {
        letter: "".join(
            other
            for other, (above, beside) in places.items()
            if other != letter and abs(above - row) <= 1 and abs(beside - column) <= 1
        )
        for letter, (row, column) in places.items()
    }


_NEIGHBOURS = {language: _neighbours(rows) for language, rows in _KEYBOARDS.items()}
