"""Generated inputs of any kind and length, which a translator must survive."""

import random
from collections.abc import Callable

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüßéèàçñ"
SCRIPTS = (
    "abcdefghijklmnop",
    "αβγδεζηθικλμ",
    "абвгдежзиклмн",
    "अआइईउऊएकखगघचजटडतदनपबमरलवशसह",
    "一二三四五六七八九十人大小中国",
    "あいうえおかきくけこ",
    "אבגדהוזחט",
    "ابتثجحخدذرزس",
    "ກຂຄງຈ",
    "กขคงจฉชซ",
)
EMOJI = ("😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🎉", "❤️", "🇩🇪", "1️⃣", "🤷‍♂️")
WORDS = (
    "the house is red and I do not know why she said that we will go to town tomorrow at noon",
    "das Haus ist rot und ich weiß nicht warum sie sagte dass wir morgen in die Stadt gehen",
    "la maison est rouge et je ne sais pas pourquoi elle a dit que nous irons en ville demain",
    "la casa è rossa e non so perché ha detto che domani andremo in città a mezzogiorno",
    "घर लाल है और मुझे नहीं पता कि उसने क्यों कहा कि हम कल शहर जाएँगे",
)
TAGS = (
    "<b>",
    "</b>",
    "<br/>",
    "<a href='x?a=1&b=2'>",
    "</a>",
    "&amp;",
    "&#x1F600;",
    "<!-- x -->",
    "<script>alert(1)</script>",
    "{{name}}",
    "${x}",
    "%1$s",
    "%s",
    "\\n",
    "[link](http://x.y/z)",
    "**bold**",
    "| a | b |",
)
SPECIAL = ("<eos>", "<pad>", "<unk>", "<2de>", ">>fra<<", "</s>", "▁", "<0x41>", "\u2581\u2581", "[MASK]", "@@ ", "<s>")
SPACES = (" ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u2028", "\u200b", "\u3000", "\ufeff", "\x0b", "\x85")


def fuzz_input(drawn: random.Random) -> str:
    """One input of a kind and a length that are drawn: most are short, a few have thousands of characters."""
    length = int(10 ** drawn.uniform(0, drawn.choices([2.0, 3.0, 4.2], [90, 9, 1])[0]))
    text = drawn.choice(KINDS)(drawn, length)
    return _mixed(drawn, text) if drawn.random() < 0.2 else text


def _mixed(drawn: random.Random, text: str) -> str:
    """A text in another one, as when something was pasted in the middle."""
    at = drawn.randrange(len(text) + 1)
    return text[:at] + drawn.choice(KINDS)(drawn, drawn.randint(1, 40)) + text[at:]


def _unicode(drawn: random.Random, length: int) -> str:
    ranges = [(0, 0x300), (0, 0xD800), (0xE000, 0x110000)]
    return "".join(chr(drawn.randrange(*drawn.choice(ranges))) for _ in range(length))


def _control(drawn: random.Random, length: int) -> str:
    marks = [*map(chr, range(32)), "\x7f", "\u202e", "\u2066", "\u2069", "\ufffd", "\U000e0041"]
    return "".join(drawn.choice([*marks, drawn.choice(LETTERS)]) for _ in range(length))


def _surrogates(drawn: random.Random, length: int) -> str:
    return "".join(
        drawn.choice([chr(drawn.randrange(0xD800, 0xE000)), drawn.choice(LETTERS), " "]) for _ in range(length)
    )


def _long_word(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choices(LETTERS, k=length))


def _repeated(drawn: random.Random, length: int) -> str:
    unit = drawn.choice(
        [drawn.choice(LETTERS), drawn.choice(WORDS).split()[0] + " ", "ha ", "...", "1", "0 1 ", "- ", "\n"]
    )
    return (unit * length)[:length]


def _words(drawn: random.Random, length: int) -> str:
    words = drawn.choice(WORDS).split()
    ends = [" ", " ", " ", " ", " ", ", ", ". ", "? ", "! ", "\n", "। "]
    return "".join(drawn.choice(words) + drawn.choice(ends) for _ in range(1 + length // 6))


def _shuffled_languages(drawn: random.Random, length: int) -> str:
    return " ".join(drawn.choice(drawn.choice(WORDS).split()) for _ in range(1 + length // 6))


def _scripts(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choice([*drawn.choice(SCRIPTS), " "]) for _ in range(length))


def _pieces(parts: tuple[str, ...]) -> Callable[[random.Random, int], str]:
    def make(drawn: random.Random, length: int) -> str:
        words = drawn.choice(WORDS).split()
        return "".join(drawn.choice([drawn.choice(parts), drawn.choice(words), " "]) for _ in range(1 + length // 5))

    return make


def _digits(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choices("0123456789०१२५.,:-/ +%€$", k=length))


def _punctuation(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choices("!?.,;:-–—…'\"«»()[]{}/\\|@#&*_~^`´°§€$%+=<>", k=length))


def _spaces(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choices(SPACES, k=length))


def _shouted(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choice([c.upper(), c.lower()]) for c in _words(drawn, length))


def _combining(drawn: random.Random, length: int) -> str:
    return "".join(drawn.choice([drawn.choice(LETTERS), chr(drawn.randrange(0x300, 0x370))]) for _ in range(length))


def _nothing(drawn: random.Random, length: int) -> str:
    return ""


KINDS: list[Callable[[random.Random, int], str]] = [
    _unicode,
    _control,
    _surrogates,
    _long_word,
    _repeated,
    _words,
    _words,
    _shuffled_languages,
    _scripts,
    _pieces(EMOJI),
    _pieces(TAGS),
    _pieces(SPECIAL),
    _digits,
    _punctuation,
    _spaces,
    _shouted,
    _combining,
    _nothing,
]
