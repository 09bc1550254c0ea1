"""Strings of every sort that a tokenizer may meet, the same ones each time."""

import random

from tests.text.corpus import CORPUS

_SCRAPS = [
    "Hello, world!",
    "The quick brown fox",
    "don't we'll I'M it's",
    "naïve café",
    "cafe\u0301",
    "ÀÉÎÕÜ straße",
    "İstanbul",
    "שלום עולם",
    "مرحبا بالعالم",
    "你好，世界",
    "今日はいい天気",
    "カタカナ ﾊﾝｶｸ",
    "한국어 문장",
    "नमस्ते दुनिया",
    "สวัสดี",
    "Привет, мир",
    "👩‍👩‍👧",
    "🏳️‍🌈",
    "😀😀",
    "👍🏽",
    "ﬁnance ①②",
    "１２３",
    "12345",
    "3.14159",
    "1,000,000",
    "x=y+2;",
    "def f(a):\n\treturn a",
    "http://example.org/a?b=c#d",
    "``quoted''",
    "“quotes” «guillemets»",
    "…—–",
    "don’t",
    "a_b-c",
    "<b>",
    "##ing",
    ">>",
    "%d\\n",
    "CC(=O)Oc1ccccc1C(=O)O",
    "aaaaaaaaaaaa",
    "AAAA",
    "zzzzz qqqq",
    "the the the",
    "\u200b",
    "\u200d",
    "\u200f",
    "\ufeff",
    "\u00ad",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\x01",
    "\x07",
    "\x1c",
    "\x7f",
    "\x85",
    "\ufffd",
    "𝒳𝓎",
    "𐍈",
    "▁",
    "Ġ",
    "</w>",
]
_SPACES = ["", "", " ", " ", " ", "  ", "\n", "\t", "\r\n", "   "]


def mixed(count: int, seed: int = 0) -> list[str]:
    """The empty string, spaces, each scrap alone, then scraps put together at random, often with spaces at the ends."""
    rng = random.Random(seed)
    texts = ["", " ", "  ", "\n", " a ", "  a", "a  ", *_SCRAPS, *CORPUS[:40]]
    while len(texts) < count:
        parts = [rng.choice(_SPACES)]
        for _ in range(rng.randrange(1, 6)):
            scrap = rng.choice(_SCRAPS) if rng.random() < 0.7 else rng.choice(CORPUS)
            if rng.random() < 0.2:
                scrap = "".join(rng.sample(scrap, len(scrap)))
            parts += [scrap, rng.choice(_SPACES)]
        if rng.random() < 0.2:
            parts.append(
                chr(
                    rng.choice([rng.randrange(1, 0x250), rng.randrange(0x370, 0xD7FF), rng.randrange(0x1F300, 0x1FAFF)])
                )
            )
        texts.append("".join(parts))
    return texts
