"""The inline content of a paragraph as a flat list of items: runs of text, markup between them, tags around them.

Word, PowerPoint, Excel and OpenDocument differ in how a paragraph is written, not in what it consists of. Each format
turns its paragraphs into items; how items become texts to translate, and texts become items again, is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from headwise.documents.office.replacements import Piece


class ItemKind(Enum):
    """The role of an item in the text of its paragraph."""

    TEXT = "text"
    KEPT = "kept"
    """Visible and not translated: a page number, a formula."""
    SINGLE = "single"
    """Invisible in the text: a picture, a reference to a footnote."""
    BREAK = "break"
    """A line break, which separates words."""
    BARRIER = "barrier"
    """What no sentence crosses: a tab, a page break. The texts before and after are translated by themselves."""
    STALE = "stale"
    """A note of a program on the old text, such as a spelling mistake: it goes to the end of the paragraph."""
    OPEN = "open"
    CLOSE = "close"
    """Tags of a link, or of other markup around a part of the text."""
    RANGE_START = "range start"
    RANGE_END = "range end"
    """Ends of a bookmark or a comment: a pair if both lie in one text, else single."""


@dataclass(frozen=True, slots=True)
class Format:
    """The formatting of text: what is written before and after it."""

    key: str = ""
    """Equal for formats that look the same, although their source may differ."""
    before: tuple[Piece, ...] = ()
    after: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of a paragraph: text in a format, or source that is written again as it is."""

    kind: ItemKind
    text: str = ""
    format: Format | None = None
    """None: it stands outside of runs."""
    raw: tuple[Piece, ...] = ()
    """Its source; none: the item is its text, or those in `inner`."""
    inner: tuple[Item, ...] = ()
    """Items that are written in its place."""
    name: str = ""
    """The name of a range, which its two ends share."""
    is_alone: bool = False
    """Whether it has a run of its own: programs lose the format of a field whose parts share one."""


Encoder = Callable[[str, str], str]
"""Writes text as XML source; the second argument is the character before it, empty at the start of a paragraph."""


def pieces_of(items: Iterable[Item], encode: Encoder) -> Iterator[Piece]:
    """The source of items; neighbours of the same format share one run, but for those that stand alone."""
    current: Format | None = None
    previous = ""
    after_alone = False
    for item in _joined(_flat(items)):
        is_other = item.format is None or (current is not None and item.format.key != current.key)
        if current is not None and (is_other or item.is_alone or after_alone):
            yield current.after
            current = None
        after_alone = item.is_alone
        if current is None and item.format is not None:
            current = item.format
            yield from current.before
        if item.raw:
            yield from item.raw
            previous = "\ufffc"
        elif item.text:
            yield encode(item.text, previous)
            previous = item.text[-1]
    if current is not None:
        yield current.after


def _flat(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if item.inner:
            yield from _flat(item.inner)
        else:
            yield item


def _joined(items: Iterable[Item]) -> Iterator[Item]:
    """Items with neighbouring texts of the same format as one."""
    last: Item | None = None
    for item in items:
        if last is not None and _same_run(last, item):
            last = replace(last, text=last.text + item.text)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _same_run(first: Item, second: Item) -> bool:
    if first.raw or second.raw or first.format is None or second.format is None:
        return False
    return first.format.key == second.format.key


def is_balanced(items: Sequence[Item]) -> bool:
    """Whether every tag in the items has its partner there."""
    depth = 0
    for item in items:
        depth += (item.kind is ItemKind.OPEN) - (item.kind is ItemKind.CLOSE)
        if depth < 0:
            return False
    return depth == 0


def partners(items: Sequence[Item]) -> dict[int, int]:
    """The places of closing tags by those of their opening tags."""
    open_places: list[int] = []
    found: dict[int, int] = {}
    for place, item in enumerate(items):
        if item.kind is ItemKind.OPEN:
            open_places.append(place)
        elif item.kind is ItemKind.CLOSE:
            found[open_places.pop()] = place
    return found


def with_ranges(items: Sequence[Item]) -> list[Item]:
    """Items with the ends of bookmarks and comments as tags, where they nest, else as single items."""
    result = list(items)
    waiting: list[tuple[str, int]] = []
    for place, item in enumerate(items):
        if item.kind is ItemKind.RANGE_START:
            waiting.append((item.name, place))
            result[place] = replace(item, kind=ItemKind.SINGLE)
        elif item.kind is ItemKind.RANGE_END:
            result[place] = replace(item, kind=ItemKind.SINGLE)
            start = next((start for name, start in waiting if name == item.name), None)
            if start is None:
                continue
            waiting = [(name, other) for name, other in waiting if other < start]  # those inside cross this range
            inside = result[start + 1 : place]
            if is_balanced(inside) and any(each.kind is ItemKind.TEXT for each in inside):
                result[start] = replace(items[start], kind=ItemKind.OPEN)
                result[place] = replace(item, kind=ItemKind.CLOSE)
    return result
