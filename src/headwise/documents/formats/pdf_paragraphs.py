"""Paragraphs from the lines of pages: joined over line ends, hyphens and pages, without headers and footers."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

WIDE_GAP = 1.35
"""Distance of two lines, in that of the lines of their page, from which on a paragraph ends."""
SHORT = 0.7
"""Share of the longest lines below which one that ends a sentence ends its paragraph."""
EDGE = 2
"""Lines at the top and bottom of a page that may be headers and footers."""
OFTEN = 3
"""Pages that must share a line for it to count as a header or footer."""

_ITEM = re.compile(r"(?:[•‣◦▪●○■–—*-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s|[•‣◦▪●■]")
_NUMBERED = re.compile(r"(?:\d+\.)+\d*\s+[A-Z]|(?:Chapter|Section|Figure|Table)\s+\d")
_PAGE_NUMBER = re.compile(r"(?:page\s*)?[-–—|]?\s*(?:\d{1,4}|[ivxlc]{1,7})\s*[-–—|]?(?:\s*(?:/|of)\s*\d{1,4})?", re.I)
_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'”’»)\]]*\Z")
_LEADERS = re.compile(r"(?:\.\s?){4,}")
_LIGATURES = re.compile("[\ufb00-\ufb06]")


@dataclass(frozen=True)
class Line:
    """A line with its place on the page and its size of type, in points."""

    text: str
    x: float
    y: float
    size: float


def without_page_furniture(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without page numbers, and without the headers and footers that stand on several of them."""
    counts = Counter(key for page in pages for key in {_key(line) for line in _edges(page)})
    kept = []
    for page in pages:
        edges = {id(line) for line in _edges(page)}
        kept.append(
            [
                line
                for line in page
                if id(line) not in edges
                or not (_PAGE_NUMBER.fullmatch(line.text) or (counts[_key(line)] >= OFTEN and len(line.text) < 120))
            ]
        )
    return kept


def _edges(page: Sequence[Line]) -> list[Line]:
    """The lines at the top and bottom, wherever they are in the content."""
    placed = sorted(page, key=lambda line: line.y)
    return placed if len(placed) <= 2 * EDGE else [*placed[:EDGE], *placed[-EDGE:]]


def _key(line: Line) -> str:
    """What headers of different pages share: all but numbers."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", line.text)


def paragraphs(pages: Sequence[Sequence[Line]]) -> Iterator[str]:
    """The paragraphs of all pages."""
    known = Counter(
        word.lower() for page in pages for line in page for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", line.text)
    )
    text = ""
    last: Line | None = None
    for page in pages:
        leading = _leading(page)
        lengths = sorted(len(line.text) for line in page)
        longest = lengths[len(lengths) * 9 // 10] if lengths else 0
        for number, line in enumerate(page):
            if last is not None and _goes_on(last, line, leading, longest, is_first=number == 0):
                text = _joined(text, _clean(line.text), known)
            else:
                if text:
                    yield text
                text = _clean(line.text)
            last = line
    if text:
        yield text


def _leading(page: Sequence[Line]) -> float:
    """The usual distance between two lines of a page."""
    gaps = [
        one.y - other.y
        for one, other in pairwise(page)
        if 0 < one.y - other.y < 3 * max(one.size, 1.0) and abs(one.size - other.size) < 0.5
    ]
    return median(gaps) if gaps else 0.0


def _goes_on(last: Line, line: Line, leading: float, longest: int, *, is_first: bool) -> bool:
    """Whether a line belongs to the paragraph of the one before it."""
    if _ITEM.match(line.text) or _NUMBERED.match(line.text) or _LEADERS.search(last.text) or _LEADERS.search(line.text):
        return False
    if abs(last.size - line.size) > 0.12 * max(last.size, line.size):
        return False
    ends = _SENTENCE_END.search(last.text) is not None
    gap = last.y - line.y
    if is_first or gap <= 0:  # a new page or column
        return not ends and line.text[0].islower()
    if leading and gap > WIDE_GAP * leading:
        return False
    if ends and (len(last.text) < SHORT * longest or line.x > last.x + 0.8 * line.size):
        return False
    return len(last.text) > 0.45 * longest or line.text[0].islower()


def _clean(text: str) -> str:
    return _LIGATURES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)


def _joined(text: str, following: str, known: Counter[str]) -> str:
    """A text with the next line, whose first word may be the rest of a divided one."""
    if text.endswith("\u00ad"):
        return text[:-1] + following
    head = re.search(r"([^\W\d_]+)[-\u2010]\Z", text)
    tail = re.match(r"[^\W\d_]+", following)
    if not head or not tail or not tail[0][0].islower():
        return f"{text}{following}" if head else f"{text} {following}"
    whole, compound = head[1] + tail[0], f"{head[1]}-{tail[0]}"
    if known[compound.lower()] > known[whole.lower()]:
        return text + following
    return text[:-1] + following
