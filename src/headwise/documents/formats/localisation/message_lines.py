"""Messages of several lines: each paragraph is a text of its own, and a line break within a sentence is a mark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headwise.documents.marked_text import Mark, MarkedText, MarkKind, Part

_PARAGRAPH = re.compile(
    r"""\s*\n\s*\n\s*                    # an empty line
      | (?<=[.:;!?\u2026\u3002\uff01\uff1f\uff1a])[^\S\n]*\n\s*  # after the end of a sentence
      | [^\S\n]*\n(?=[^\S\n]|[-*\u2022#>|]\s|\d+[.)]\s)[^\S\n]*  # before an indented line or an item of a list
    """,
    re.VERBOSE,
)
_BREAK = re.compile(r"\s*\n\s*")


@dataclass(frozen=True)
class LineBreak:
    """White space with a line break in the middle of a sentence, which the model sees as a space."""

    white_space: str


@dataclass(frozen=True)
class Message:
    """A string as fixed text and the texts to translate between it, in order."""

    pieces: tuple[str | MarkedText, ...]

    @property
    def segments(self) -> list[MarkedText]:
        """The texts to translate."""
        return [piece for piece in self.pieces if isinstance(piece, MarkedText)]

    def filled(self, translations: Sequence[MarkedText]) -> str:
        """The string with a translation in the place of each segment."""
        waiting = iter(translations)
        return "".join(piece if isinstance(piece, str) else plain(next(waiting)) for piece in self.pieces)


def message(text: str) -> Message:
    """Split a string into paragraphs; white space around them is fixed, as is what has no letters."""
    pieces: list[str | MarkedText] = []
    end = 0
    for found in _PARAGRAPH.finditer(text) if "\n" in text else ():
        pieces += [*_paragraph(text[end : found.start()]), found[0]]
        end = found.end()
    pieces += _paragraph(text[end:])
    return Message(tuple(piece for piece in pieces if piece != ""))


def plain(text: MarkedText) -> str:
    """The string of a translated paragraph: spaces give way to the line breaks beside them."""
    pieces: list[str] = []
    after_break = False
    for part in text.parts:
        if isinstance(part, Mark) and isinstance(part.markup, LineBreak):
            if pieces:
                pieces[-1] = pieces[-1].rstrip(" ")
            pieces.append(part.markup.white_space)
            after_break = True
            continue
        shown = part if isinstance(part, str) else _markup(part)
        pieces.append(shown.lstrip(" ") if after_break else shown)
        after_break = after_break and not pieces[-1]
    return "".join(pieces)


def _markup(part: Part) -> str:
    markup = getattr(part, "markup", None)
    return str(markup) if markup is not None else getattr(part, "text", "")


def _paragraph(text: str) -> list[str | MarkedText]:
    inner = text.strip()
    start = text.find(inner)
    before, after = text[:start], text[start + len(inner) :]
    parts: list[Part] = []
    end = 0
    for number, found in enumerate(_BREAK.finditer(inner) if "\n" in inner else ()):
        parts += [inner[end : found.start()] + " ", Mark(MarkKind.SINGLE, number, LineBreak(found[0]))]
        end = found.end()
    segment = MarkedText([*parts, inner[end:]])
    return [before, segment, after] if segment.has_letters else [text]
