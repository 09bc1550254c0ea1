"""The one form that text has everywhere: before cleaning, tokenizing and comparing.

Two spellings of the same sentence must give the same tokens, so text is brought to Unicode NFC and its
spaces to single plain ones. Nothing else is touched: joiners shape letters and emoji, direction marks order
them, and case and width carry meaning, so all of these stay.
"""

import unicodedata


def normalise(text: str) -> str:
    """NFC, with every run of white space as one space and none at the ends.

    White space is what Python's `str.split` says it is: tabs, line ends, no-break, thin, ideographic and
    the other Unicode spaces. Zero-width characters are no spaces and stay. The result can always be
    written as UTF-8.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", well_formed(text))  # quick where the text is NFC already
    return " ".join(text.split())


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: half of a surrogate pair, which a JSON escape can smuggle in, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
