"""The one form that text has everywhere: before cleaning, tokenizing and comparing.

Two spellings of the same sentence must give the same tokens, so text is brought to Unicode NFC and its
spaces to single plain ones. Nothing else is touched: joiners shape letters and emoji, direction marks order
them, and case and width carry meaning, so all of these stay.
"""

import unicodedata


def normalise(text: str) -> str:
    """NFC, with every run of white space as one space and none at the ends.

    White space is what Python's `str.split` says it is: tabs, line ends, no-break, thin, ideographic and
    the other Unicode spaces. Zero-width characters are no spaces and stay.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)  # returns the same object where nothing changes
    return " ".join(text.split())
