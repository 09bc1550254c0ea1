"""The texts of one paragraph: its items cut at tabs, stripped of what surrounds the words, and as marked text.

The most frequent format of a text is its base, which has no marks; other formats, links and bookmarks are pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.office.inline import Format, Item, ItemKind, partners, with_ranges

_PLAIN = Format()


@dataclass(frozen=True, slots=True)
class Markup:
    """What stands behind a mark: items to write in its place, and the format of the text that it encloses."""

    items: tuple[Item, ...] = ()
    base: Format | None = None
    padded: bool = False
    """A line break without white space beside it: the marked text has a space after it, which the file does not."""


@dataclass(frozen=True)
class Segment:
    """A text to translate, and the format of what has no marks."""

    text: MarkedText
    base: Format


Cut = Item | Segment
"""A part of a paragraph: an item that stays, or a text."""


def cut(items: Sequence[Item]) -> list[Cut]:
    """A paragraph as the items that stay and the texts to translate, in order."""
    result: list[Cut] = []
    chunk: list[Item] = []
    for item in _with_barriers(items):
        if item.kind is ItemKind.BARRIER:
            result += [*_segment(chunk), item]
            chunk = []
        else:
            chunk.append(item)
    return result + _segment(chunk)


def filled(segment: Segment, translation: MarkedText) -> Iterator[Item]:
    """The items of a translated text."""
    bases = [segment.base]
    for part in _without_padding(translation.parts):
        if isinstance(part, str):
            yield Item(ItemKind.TEXT, part, bases[-1])
            continue
        if not isinstance(part.markup, Markup):  # not of this document: a placeholder found in its text
            yield Item(ItemKind.TEXT, part.text if isinstance(part, Kept) else "", bases[-1])
            continue
        yield from part.markup.items
        if isinstance(part, Mark) and part.kind is MarkKind.OPEN:
            bases.append(part.markup.base or bases[-1])
        elif isinstance(part, Mark) and part.kind is MarkKind.CLOSE and len(bases) > 1:
            bases.pop()


def _with_barriers(items: Sequence[Item]) -> list[Item]:
    """Items with empty lines, and with tags around barriers, as barriers."""
    result = list(items)
    breaks = [place for place, item in enumerate(items) if item.kind is ItemKind.BREAK]
    for first, second in pairwise(breaks):
        if not any(item.text.strip() for item in items[first + 1 : second]):
            result[first] = replace(items[first], kind=ItemKind.BARRIER)
            result[second] = replace(items[second], kind=ItemKind.BARRIER)
    result = with_ranges(result)
    for start, end in partners(result).items():
        if any(item.kind is ItemKind.BARRIER for item in result[start:end]):
            result[start] = replace(result[start], kind=ItemKind.BARRIER)
            result[end] = replace(result[end], kind=ItemKind.BARRIER)
    return result


def _segment(chunk: Sequence[Item]) -> list[Cut]:
    """A chunk without barriers as what stays before its text, the text, and what stays after it."""
    if not any(item.kind is ItemKind.TEXT and any(map(str.isalpha, item.text)) for item in chunk):
        return list(chunk)
    stale = [item for item in chunk if item.kind is ItemKind.STALE]
    before, core, after = _trimmed([item for item in chunk if item.kind is not ItemKind.STALE])
    parts, base = _Level(core).parts_and_base()
    return [*before, Segment(MarkedText(parts), base), *after, *stale]


def _trimmed(items: list[Item]) -> tuple[list[Item], list[Item], list[Item]]:
    """Items before the text, of the text, and after it; markup around the whole text is not part of it."""
    before: list[Item] = []
    after: list[Item] = []
    while True:
        while items[0].kind in (ItemKind.SINGLE, ItemKind.BREAK) or _is_blank(items[0]):
            before.append(items.pop(0))
        while items[-1].kind in (ItemKind.SINGLE, ItemKind.BREAK) or _is_blank(items[-1]):
            after.insert(0, items.pop())
        if items[0].kind is not ItemKind.OPEN or partners(items)[0] != len(items) - 1:
            break
        before.append(items.pop(0))
        after.insert(0, items.pop())
    first = items[0]
    if first.kind is ItemKind.TEXT and (text := first.text.lstrip()) != first.text:
        before.append(replace(first, text=first.text[: -len(text)]))
        items[0] = replace(first, text=text)
    last = items[-1]
    if last.kind is ItemKind.TEXT and (text := last.text.rstrip()) != last.text:
        after.insert(0, replace(last, text=last.text[len(text) :]))
        items[-1] = replace(last, text=text)
    return before, items, after


def _is_blank(item: Item) -> bool:
    return item.kind is ItemKind.TEXT and not item.text.strip()


class _Level:
    """Builds the marked text of items that lie between the same tags."""

    def __init__(self, items: Sequence[Item], numbers: Iterator[int] | None = None, outer: Format = _PLAIN) -> None:
        self.items = items
        self.partners = partners(items)
        self.numbers = numbers or count(1)
        self.base = _most_frequent(self._own_items()) or outer
        self.parts: list[Part] = []
        self.current: tuple[Mark, Format] | None = None
        """The pair of a format that differs from the base."""
        self.waiting: list[Part] = []
        """Marks since the last text: whether they lie in the current pair depends on what follows."""

    def parts_and_base(self) -> tuple[list[Part], Format]:
        place = 0
        while place < len(self.items):
            item = self.items[place]
            if item.kind is ItemKind.OPEN:
                self._enclosed(place, self.partners[place])
                place = self.partners[place]
            elif item.kind is ItemKind.TEXT:
                self._text(item)
            else:
                self._invisible(place)
            place += 1
        self._close()
        return self.parts, self.base

    def _own_items(self) -> Iterator[Item]:
        depth = 0
        for item in self.items:
            depth += (item.kind is ItemKind.OPEN) - (item.kind is ItemKind.CLOSE)
            if depth == 0:
                yield item

    def _enclosed(self, start: int, end: int) -> None:
        self._close()
        number = next(self.numbers)
        level = _Level(self.items[start + 1 : end], self.numbers, self.base)
        parts, base = level.parts_and_base()
        self.parts += [
            Mark(MarkKind.OPEN, number, Markup((self.items[start],), base)),
            *parts,
            Mark(MarkKind.CLOSE, number, Markup((self.items[end],))),
        ]

    def _text(self, item: Item) -> None:
        form = item.format or _PLAIN
        if self.current is not None and self.current[1].key == form.key:
            self.parts += self.waiting
            self.waiting = []
        else:
            self._close()
            if form.key != self.base.key:
                mark = Mark(MarkKind.OPEN, next(self.numbers), Markup(base=form))
                self.current = (mark, form)
                self.parts.append(mark)
        self.parts.append(item.text)

    def _close(self) -> None:
        """End the current pair, before the marks that wait."""
        if self.current is not None:
            self.parts.append(Mark(MarkKind.CLOSE, self.current[0].number, Markup()))
            self.current = None
        self.parts += self.waiting
        self.waiting = []

    def _invisible(self, place: int) -> None:
        item = self.items[place]
        if item.kind is ItemKind.KEPT:
            self.waiting.append(Kept(item.text, Markup((item,))))
            return
        padded = item.kind is ItemKind.BREAK and not self._space_beside(place)
        self.waiting.append(Mark(MarkKind.SINGLE, next(self.numbers), Markup((item,), padded=padded)))
        if padded:
            self.waiting.append(" ")

    def _space_beside(self, place: int) -> bool:
        texts = (self.items[other].text for other in range(place - 1, -1, -1))
        before = next(filter(None, texts), " ")
        texts = (self.items[other].text for other in range(place + 1, len(self.items)))
        after = next(filter(None, texts), " ")
        return before[-1].isspace() or after[0].isspace()


def _most_frequent(items: Iterator[Item]) -> Format | None:
    """The format of most characters; of two with equally many, the first."""
    lengths: Counter[str] = Counter()
    formats: dict[str, Format] = {}
    for item in items:
        if item.kind is ItemKind.TEXT:
            form = item.format or _PLAIN
            lengths[form.key] += len(item.text)
            formats.setdefault(form.key, form)
    return formats[lengths.most_common(1)[0][0]] if formats else None


def _without_padding(parts: Sequence[Part]) -> list[Part]:
    """Parts without the space that a line break was given."""
    result = list(parts)
    for place, part in enumerate(parts):
        if not (isinstance(part, Mark) and isinstance(part.markup, Markup) and part.markup.padded):
            continue
        after = next((other for other in range(place + 1, len(result)) if not isinstance(result[other], Mark)), None)
        before = next((other for other in range(place - 1, -1, -1) if not isinstance(result[other], Mark)), None)
        if after is not None and isinstance(text := result[after], str) and text.startswith(" "):
            result[after] = text[1:]
        elif before is not None and isinstance(text := result[before], str) and text.endswith(" "):
            result[before] = text[:-1]
    return result
