"""PDF as a source of text: paragraphs are rebuilt from the lines of the pages, and written as plain text."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.pdf_paragraphs import Line, paragraphs, without_page_furniture
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from headwise.extras import packages_for

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

FEWEST_LETTERS = 2
"""Letters per page below which a PDF is taken for pictures of pages."""

_LEADERS = re.compile(r"(?:\s?\.){4,}\s*\S{0,8}\Z")
"""The dots between an entry of a table of contents and its page, in which models lose their way."""


class PdfText:
    """The text of a PDF as a document."""

    def __init__(self, found: Sequence[str]) -> None:
        cut = [(text, "") if (at := _LEADERS.search(text)) is None else (text[: at.start()], at[0]) for text in found]
        self._texts = [(MarkedText([text]), leaders) for text, leaders in cut]
        self.segments = [text for text, _ in self._texts if text.has_letters]

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The paragraphs as UTF-8 text, with empty lines between them."""
        waiting = iter(translations)
        lines = [(next(waiting) if text.has_letters else text).text + leaders for text, leaders in self._texts]
        return ("\n\n".join(lines) + "\n").encode("utf-8", "replace")


def read_pdf(data: bytes, options: ReadOptions) -> Document:
    """Read the text of a PDF; its layout, pictures and tables are left behind."""
    if b"%PDF-" not in data[:1024]:
        raise DataError("the file is not a PDF")
    with packages_for("reading PDF"):
        from pypdf.errors import DependencyError
    with _quiet():
        try:
            pages = [_lines(page) for page in _reader(data).pages]
        except DataError:
            raise
        except DependencyError:
            raise DataError("the PDF is encrypted with AES: pip install cryptography, or save it unprotected") from None
        except RecursionError as error:
            raise DataError("the PDF is damaged: its parts refer to each other without end") from error
        except Exception as error:  # damaged files make pypdf fail in many ways
            raise DataError(f"the PDF is damaged or cut off ({type(error).__name__})") from error
    found = list(paragraphs(without_page_furniture(pages)))
    if sum(character.isalpha() for text in found for character in text) < FEWEST_LETTERS * max(1, len(pages)):
        raise DataError("the PDF has no text: its pages are pictures; recognise the text (OCR) first")
    return PdfText(found)


def _reader(data: bytes) -> PdfReader:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):  # many are protected against changes only
        raise DataError("the PDF is password protected: save it without a password")
    return reader


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence pypdf's log of its repairs within the block."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _lines(page: PageObject) -> list[Line]:
    """The lines of a page in the order of its content, with their places and sizes of type."""
    lines: list[Line] = []
    text, x, y, size = "", 0.0, 0.0, 0.0

    def finish() -> None:
        nonlocal text
        if text.strip():
            lines.append(Line(" ".join(text.split()), x, y, size))
        text = ""

    def visit(piece: str, cm: Sequence[float], tm: Sequence[float], font: object, font_size: float) -> None:
        nonlocal text, x, y, size
        for number, part in enumerate(piece.split("\n")):
            if number:
                finish()
            if part.strip() and not text.strip():
                x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
                y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
                size = abs(font_size * (tm[3] or tm[1]) * (cm[3] or cm[1])) or 1.0
            text += part

    page.extract_text(visitor_text=visit)
    finish()
    return lines
