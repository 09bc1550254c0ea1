"""Keeps a literal ▁ apart from the spaces that SentencePiece writes as ▁.

SentencePiece has no way to say "this ▁ is one": it would come back as a space. So the control character DLE,
"data link escape", which no text contains, marks it: ▁ becomes DLE _ and DLE itself DLE DLE.
"""

import re

SPACE = "▁"
_DLE = "\x10"
_ESCAPED = re.compile(f"{_DLE}([_{_DLE}])")
_MEANING = {"_": SPACE, _DLE: _DLE}


def escape(text: str) -> str:
    """Text without ▁."""
    if SPACE in text or _DLE in text:
        return text.replace(_DLE, _DLE + _DLE).replace(SPACE, _DLE + "_")
    return text


def unescape(text: str) -> str:
    """What was escaped; a DLE that marks nothing, which only a model writes, stays."""
    if _DLE in text:
        return _ESCAPED.sub(lambda match: _MEANING[match[1]], text)
    return text
