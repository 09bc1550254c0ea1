"""Noise that adds to both sides of a pair what a translation copies: tags, placeholders, emoji, addresses, numbers."""

import re
from collections import Counter

from headwise.data.noise.dice import Dice
from headwise.data.noise.letters import Texts, without_final

_AROUND = (
    ("<b>", "</b>"),
    ("<i>", "</i>"),
    ("<em>", "</em>"),
    ("<strong>", "</strong>"),
    ("<u>", "</u>"),
    ("<code>", "</code>"),
    ("<1>", "</1>"),
    ('<g id="1">', "</g>"),
    ('<span class="name">', "</span>"),
    ('<a href="#">', "</a>"),
    ("**", "**"),
    ("[", "]"),
    ("(", ")"),
)
_ALONE = (
    "<br/>",
    "<br>",
    '<x id="1"/>',
    "<1/>",
    "{0}",
    "{1}",
    "{name}",
    "{{user}}",
    "${value}",
    "%s",
    "%d",
    "%1$s",
    "%(count)s",
    "$1",
    "[1]",
)
_EMOJI = (
    *"😀😃😄😁😆😅😂🤣😊😇🙂🙃😉😍🥰😘😋😜🤪🤔🤨😐😏🙄😬😔😴😷🤒🥳😎😕😢😭😱😡🤯👍👎👏🙏💪👋👌🤝💔💕🔥✨🎉🎂🎁⭐🍎🍕☕🚗🏠📞💡✅❌💯",
    *("✌️", "❤️", "☀️", "🌧️", "✈️", "⚠️", "👍🏽", "🙏🏻", "🤷‍♀️", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "🇮🇹", "🇮🇳"),
)
_BULLETS = ("- ", "• ", "* ", "– ", "1. ", "2. ", "3) ", "(4) ", "a) ", "b. ", "# ", "## ", "> ", "[ ] ", "→ ")
_NUMBER = re.compile(r"\d+")
_AROUND_WORDS = ".,;:!?()\"'«»„“”’…।"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ENDINGS = ("com", "org", "net", "de", "fr", "it", "in", "io", "co.uk", "eu")


def tagged(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides with the same tags or placeholder: at a word that both have, else around the text or at its end."""
    shared = _shared_words(texts)
    if dice.one_in(3):
        mark = dice.pick(_ALONE)
        if shared:
            word = dice.pick(shared)
            return _replaced(texts, word, mark)
        return _placed(dice, texts, mark)
    before, after = dice.pick(_AROUND)
    if shared:
        word = dice.pick(shared)
        return _replaced(texts, word, f"{before}{word}{after}")
    return f"{before}{texts[0]}{after}", f"{before}{texts[1]}{after}"


def emoji(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides with the same emoji, most often at the end."""
    mark = dice.pick(_EMOJI) * (1 if dice.below(4) else 2 + dice.below(2))
    if dice.one_in(3):
        mark += dice.pick(_EMOJI)
    if dice.one_in(6):
        return f"{mark} {texts[0]}", f"{mark} {texts[1]}"
    space = "" if dice.one_in(4) else " "
    return f"{texts[0]}{space}{mark}", f"{texts[1]}{space}{mark}"


def bulleted(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides with the same list mark before them."""
    mark = dice.pick(_BULLETS)
    return mark + texts[0], mark + texts[1]


def same(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """The target on both sides: text that is in the target language already stays as it is."""
    return texts[1], texts[1]


def copied(dice: Dice, texts: Texts, languages: Texts) -> Texts:
    """Both sides with the same address or number: another number where both have one, else something at the end.

    One pair in eight becomes the address or number alone.
    """
    if dice.one_in(8):
        mark = _copy(dice)
        return mark, mark
    numbers = [word for word in _shared_words(texts) if _NUMBER.fullmatch(word)]
    if numbers:
        word = dice.pick(numbers)
        return _replaced(texts, word, _number(dice, len(word)))
    return _placed(dice, texts, _copy(dice))


def _shared_words(texts: Texts) -> list[str]:
    """Names and numbers that occur once on either side, so that one is surely the translation of the other."""
    source, target = (Counter(word.strip(_AROUND_WORDS) for word in text.split(" ")) for text in texts)
    return [
        word
        for word, count in source.items()
        if count == 1 and target[word] == 1 and word and (word[0].isupper() or word[0].isdigit())
    ]


def _replaced(texts: Texts, word: str, new: str) -> Texts:
    """Both texts with another word in place of one that stands in both."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    source, target = (pattern.sub(lambda _: new, text, count=1) for text in texts)
    return source, target


def _placed(dice: Dice, texts: Texts, mark: str) -> Texts:
    """Both texts with `mark` at the same place: at the end, at the start, in brackets, or after a colon."""
    place = dice.below(6)
    if place == 0:
        return f"{mark} {texts[0]}", f"{mark} {texts[1]}"
    if place == 1:
        return f"{texts[0]} ({mark})", f"{texts[1]} ({mark})"
    if place == 2:
        source, target = map(without_final, texts)
        return f"{source}: {mark}", f"{target}: {mark}"
    return f"{texts[0]} {mark}", f"{texts[1]} {mark}"


def _copy(dice: Dice) -> str:
    return dice.pick(_COPIES)(dice)


def _syllable(dice: Dice) -> str:
    return dice.pick("bdfghjklmnprstvz") + dice.pick("aeiou") + dice.pick(("", "l", "n", "r", "s", "x"))


def _host(dice: Dice) -> str:
    name = "".join(_syllable(dice) for _ in range(2 + dice.below(2)))
    return f"{name}{'-' + _syllable(dice) if dice.one_in(5) else ''}.{dice.pick(_ENDINGS)}"


def _url(dice: Dice) -> str:
    address = ("", "http://", "https://", "https://www.", "www.")[dice.below(5)] + _host(dice)
    for _ in range(dice.below(3)):
        address += "/" + (dice.text(_LETTERS + _DIGITS, 3 + dice.below(6)) if dice.one_in(3) else _syllable(dice))
    return address + (f"?{dice.pick(_LETTERS)}={_number(dice, 1 + dice.below(4))}" if dice.one_in(4) else "")


def _email(dice: Dice) -> str:
    first = _syllable(dice) + dice.pick(("", ".", "_", "")) + _syllable(dice)
    return f"{first}{_number(dice, 2) if dice.one_in(3) else ''}@{_host(dice)}"


def _number(dice: Dice, digits: int) -> str:
    return dice.text("123456789", 1) + dice.text(_DIGITS, digits - 1)


def _long_number(dice: Dice) -> str:
    return _number(dice, 1 + dice.below(12))


def _date(dice: Dice) -> str:
    return f"{1900 + dice.below(150)}-{1 + dice.below(12):02}-{1 + dice.below(28):02}"


def _time(dice: Dice) -> str:
    return f"{dice.below(24)}:{dice.below(60):02}"


def _phone(dice: Dice) -> str:
    return f"+{_number(dice, 2)} {_number(dice, 2 + dice.below(2))} {_number(dice, 5 + dice.below(4))}"


def _version(dice: Dice) -> str:
    return f"{dice.below(20)}.{dice.below(20)}" + (f".{dice.below(30)}" if dice.one_in(2) else "")


def _code(dice: Dice) -> str:
    return dice.text(_LETTERS.upper(), 1 + dice.below(3)) + dice.pick(("", "-", "")) + _number(dice, 1 + dice.below(5))


def _file(dice: Dice) -> str:
    folder = f"/{_syllable(dice)}/" if dice.one_in(2) else ""
    return f"{folder}{_syllable(dice)}_{_number(dice, 1)}.{dice.pick(('txt', 'py', 'pdf', 'html', 'jpg', 'toml'))}"


def _handle(dice: Dice) -> str:
    return dice.pick("@#") + _syllable(dice) + _syllable(dice)


_COPIES = (_url, _url, _email, _long_number, _long_number, _date, _time, _phone, _version, _code, _file, _handle)
