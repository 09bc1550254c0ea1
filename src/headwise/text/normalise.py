"""Text normalisation: the form that text is brought to before it is cleaned, tokenised or compared.

Two encodings of the same sentence must give the same tokens, so text is brought to Unicode NFC, and each run of
white space to one space. Nothing else changes: joiners shape letters and emoji, direction marks order them, and
case and width carry meaning.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

_ORDINARY, _GAP, _ODD = range(3)
_TOGETHER = 4096
"""Texts that are scanned together: about as many as the processor's cache holds."""
_KNOWN = 0x3400
"""Below this code point each character is classified by itself; above it, only `_BLOCKS` are ordinary."""
_BLOCKS = ((0x3400, 0xA000), (0xAC00, 0xD7A4), (0xFF01, 0xFFBF))
"""Chinese characters, Korean syllables, and full-width forms."""


def normalise(text: str) -> str:
    """The text in NFC, with one space for each run of white space and none at the ends.

    White space is as in Python's `str.split`: tabs, line ends, no-break, thin, ideographic and other Unicode spaces.
    Zero-width characters are not spaces and stay. The result can always be encoded as UTF-8.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", well_formed(text))  # quick where the text is NFC already
    return " ".join(text.split())


def well_formed(text: str) -> str:
    """The text with lone surrogates, which JSON escapes can contain and UTF-8 cannot, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normalise_all(texts: Sequence[str]) -> list[str]:
    """Normalise each text."""
    parts = (tidied(texts[start : start + _TOGETHER])[0] for start in range(0, len(texts), _TOGETHER))
    return [text for part in parts for text in part]


def tidied(texts: Sequence[str]) -> tuple[list[str], NDArray[np.bool_]]:
    """Normalise each text; also report which were plain already: only ordinary characters and single spaces.

    Nearly all texts of a corpus are plain. They are scanned together, in a fraction of the time that `normalise`
    takes for each; only the others are normalised one by one.
    """
    normalised = list(texts)
    plain = np.ones(len(normalised), np.bool_)
    if not normalised:
        return normalised, plain
    joined = "\n".join(normalised)
    if joined.count("\n") >= len(normalised):  # a text of several lines
        plain[:] = False
    else:
        codes = np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), "<u2")
        kinds = _kinds().take(codes)
        odd = kinds >> 1
        if len(odd):
            odd[1:] |= kinds[1:] & kinds[:-1]  # two gaps beside each other
            odd[0] |= kinds[0]
            odd[-1] |= kinds[-1]
        places = np.flatnonzero(odd)
        if len(places):
            plain[np.searchsorted(np.flatnonzero(codes == 0x0A), places)] = False
    for index in np.flatnonzero(~plain):
        normalised[index] = normalise(normalised[index])
    return normalised, plain


@cache
def _kinds() -> NDArray[np.uint8]:
    """The class of each UTF-16 code unit: ordinary, odd, or a gap (a space, or the line end between two texts).

    An ordinary character stays as it is in `normalise`, whatever its neighbours are: it is not white space, a control
    character or a surrogate, NFC does not change it, and it does not combine with the character before it.
    """
    kinds = np.full(0x10000, _ODD, np.uint8)
    for first, last in _BLOCKS:
        kinds[first:last] = _ORDINARY
    decompositions = [unicodedata.decomposition(chr(code)).split() for code in range(_KNOWN)]
    combining = {int(parts[1], 16) for parts in decompositions if len(parts) == 2 and not parts[0].startswith("<")}
    combining |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # the vowels and ends of Korean syllables
    for code in range(_KNOWN):
        character = chr(code)
        if (
            code not in combining
            and not character.isspace()
            and not unicodedata.combining(character)
            and unicodedata.category(character) not in ("Cc", "Cn")
            and unicodedata.is_normalized("NFC", character)
        ):
            kinds[code] = _ORDINARY
    kinds[[ord(" "), ord("\n")]] = _GAP
    return kinds
