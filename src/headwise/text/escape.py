"""Escaping of a literal ▁, which SentencePiece would decode as a space.

The control character DLE ("data link escape"), which no text contains, marks it: ▁ becomes DLE _, and DLE itself
becomes DLE DLE.
"""

import re

SPACE = "▁"
_DLE = "\x10"
_ESCAPED = re.compile(f"{_DLE}([_{_DLE}])")
_MEANING = {"_": SPACE, _DLE: _DLE}


def escape(text: str) -> str:
    """The text with each ▁ and each DLE escaped."""
    if SPACE in text or _DLE in text:
        return text.replace(_DLE, _DLE + _DLE).replace(SPACE, _DLE + "_")
    return text


def unescape(text: str) -> str:
    """The text that was escaped. A DLE that escapes nothing, which only a model generates, stays."""
    if _DLE in text:
        return _ESCAPED.sub(lambda match: _MEANING[match[1]], text)
    return text
