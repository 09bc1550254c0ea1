"""Passages: runs of text and inline markup as one text to translate, with its position in the source.

White space collapses, tags that open and close become pairs, and what encloses or precedes all of the text stays
outside: the bold around a whole paragraph, an icon before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.spliced import MarkSpan

_LEADING = re.compile(r"(?:\s|&nbsp;|&#160;)*")
_SPACES = re.compile(r"[ \t\n\r\f]+")
_SEEN = frozenset(("img", "input", "image", "single"))
"""Names of single marks that readers see: the white space on both sides of them counts."""


class PassageKind(Enum):
    """The kind of an item in running text."""

    TEXT = "text"
    KEPT = "kept"
    OPEN = "open"
    CLOSE = "close"
    SINGLE = "single"
    BREAK = "break"
    """A single mark that separates words, as a line break does."""


@dataclass(frozen=True, slots=True)
class PassageItem:
    """A piece of source text, from `start` to before `end`."""

    kind: PassageKind
    start: int
    end: int
    text: str = ""
    """What a reader sees of it; the name of a tag."""
    instead: str = ""
    """What is written for it in a translation, if not its source."""
    unbroken: bool = False
    """Its white space matters, and stays as it is."""


@dataclass(frozen=True)
class Passage:
    """A text to translate, and the part of the source that it stands for."""

    start: int
    end: int
    text: MarkedText


def passage(source: str, items: Sequence[PassageItem]) -> Passage | None:
    """The passage that some neighbouring items make; None if there is nothing in them to translate."""
    partners = _partners(items)
    first, last = _core(items, partners)
    if first == last:
        return None
    start, end = items[first].start, items[last - 1].end
    if items[first].kind is PassageKind.TEXT:
        start = _LEADING.match(source, start, items[first].end).end()  # type: ignore[union-attr]
    if items[last - 1].kind is PassageKind.TEXT:
        end = _trailing_start(source, items[last - 1])
    text = MarkedText(_without_last_space(list(_parts(items[first:last], partners, first))))
    return Passage(start, end, text) if text.has_letters else None


def marked_text(items: Sequence[PassageItem]) -> MarkedText:
    """The text of all items, nothing left outside."""
    return MarkedText(_without_last_space(list(_parts(items, _partners(items), 0))))


def tightened(text: MarkedText) -> MarkedText:
    """The text with white space moved out of its pairs: `<b> a </b>` becomes ` <b>a</b> `."""
    parts: list[Part] = []
    for part in text.parts:
        if isinstance(part, str):
            body = part.lstrip()
            at = len(parts)
            while at and isinstance(mark := parts[at - 1], Mark) and mark.kind is MarkKind.OPEN:
                at -= 1
            parts.insert(at, part[: len(part) - len(body)])
            parts.append(body)
        else:
            parts.append(part)
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if isinstance(part, str):
            body = part.rstrip()
            at = index + 1
            while at < len(parts) and isinstance(mark := parts[at], Mark) and mark.kind is MarkKind.CLOSE:
                at += 1
            parts.insert(at, part[len(body) :])
            parts[index] = body
    return MarkedText(parts)


def _partners(items: Sequence[PassageItem]) -> dict[int, int]:
    """The index of each opening tag -> that of its closing tag, and the other way round; pairs never overlap."""
    partners: dict[int, int] = {}
    waiting: list[int] = []
    names: Counter[str] = Counter()
    for index, item in enumerate(items):
        if item.kind is PassageKind.OPEN:
            waiting.append(index)
            names[item.text] += 1
        elif item.kind is PassageKind.CLOSE and names[item.text]:
            while waiting:
                found = waiting.pop()
                names[items[found].text] -= 1
                if items[found].text == item.text:
                    partners[found], partners[index] = index, found
                    break
    return partners


def _core(items: Sequence[PassageItem], partners: dict[int, int]) -> tuple[int, int]:
    """The range of items without those at either end that need not be moved with the text."""
    first, last = 0, len(items)
    while first < last:
        if _is_outside(items[first], first, partners):
            first += 1
        elif _is_outside(items[last - 1], last - 1, partners):
            last -= 1
        elif (close := partners.get(first, -1)) == last - 1:
            first, last = first + 1, last - 1
        elif close > 0 and _is_blank(items[first:close]):
            first = close + 1
        elif (opening := partners.get(last - 1, last)) < last and _is_blank(items[opening : last - 1]):
            last = opening
        else:
            break
    return first, last


def _is_outside(item: PassageItem, index: int, partners: dict[int, int]) -> bool:
    if item.kind is PassageKind.TEXT:
        return not item.text.strip()
    return item.kind is not PassageKind.KEPT and index not in partners


def _is_blank(items: Sequence[PassageItem]) -> bool:
    return not any(
        item.kind is PassageKind.KEPT or (item.kind is PassageKind.TEXT and item.text.strip()) for item in items
    )


def _trailing_start(source: str, item: PassageItem) -> int:
    """Where the white space at the end of a text begins."""
    text = source[item.start : item.end]
    stripped = text.rstrip()
    while stripped.lower().endswith(("&nbsp;", "&#160;")):
        stripped = stripped[:-6].rstrip()
    return item.start + len(stripped)


def _parts(items: Sequence[PassageItem], partners: dict[int, int], offset: int) -> Iterator[Part]:
    """The parts of a text, with one space for every run of white space."""
    after_space, after_break = True, False
    numbers: dict[int, int] = {}
    for index, item in enumerate(items, offset):
        span = MarkSpan(item.start, item.end, item.instead)
        if item.kind in (PassageKind.TEXT, PassageKind.KEPT):
            text = item.text if item.unbroken else _SPACES.sub(" ", item.text)
            if item.kind is PassageKind.TEXT:
                text = text.lstrip() if index == offset else text
                text = text.rstrip() if index == offset + len(items) - 1 else text
                text = text.removeprefix(" ") if after_space and not item.unbroken else text
            if after_break and text and not after_space and not text[0].isspace():
                yield " "
            yield Kept(text.strip(" "), span) if item.kind is PassageKind.KEPT else text
            if text:
                after_space, after_break = text[-1] == " ", False
        elif index in partners:
            number = numbers.setdefault(min(index, partners[index]), len(numbers) + 1)
            yield Mark(MarkKind(item.kind.value), number, span)
        else:
            yield Mark(MarkKind.SINGLE, numbers.setdefault(index, len(numbers) + 1), span)
            after_break = after_break or item.kind is PassageKind.BREAK
            after_space = after_space and item.text not in _SEEN


def _without_last_space(parts: list[Part]) -> list[Part]:
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if isinstance(part, Kept):
            break
        if isinstance(part, str):
            parts[index] = part.rstrip()
            if parts[index]:
                break
    return parts
