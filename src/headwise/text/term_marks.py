"""Annotations in a source: behind a term stands the translation that is wanted for it, as in "the engine ¦ Motor ¦".

Models learn to follow them from training pairs that have them (the noise `terms`). The translation is given in its
dictionary form, and the model inflects it. It stands between spaces, so that it is cut into the same pieces as
elsewhere.
"""

from collections.abc import Iterable

MARK = "¦"
"""Before and after a wanted translation. Hardly any text has this character; it is spelt in two bytes."""


def annotated(text: str, wanted: Iterable[tuple[int, str]]) -> str:
    """The text with translations inserted, each given with the position where its term ends."""
    for end, translation in sorted(wanted, reverse=True):
        text = f"{text[:end]} {MARK} {translation} {MARK}{text[end:]}"
    return text
