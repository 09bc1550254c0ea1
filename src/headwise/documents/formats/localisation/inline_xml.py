"""XML content as text with marks: elements around text are pairs, elements that hold codes are single marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from headwise.documents.formats.localisation.slots import source_of
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.xml_source import Element, Leaf, LeafKind, XmlSource, escape_text

_PLACEHOLDER = re.compile(r"\$?\{+[^{}<>]*\}+|%(?:\d+\$)?[-+0-9.]*[a-zA-Z@]|%\([^)]*\)[a-z]|\[\w+\]")
_SPACES = " \t\r\n"


@dataclass(frozen=True)
class Inline:
    """Names of the elements of a format that have a role within a sentence; others are pairs around text."""

    codes: frozenset[str]
    """Elements that stand for markup of the original document, with all they contain."""
    starts: dict[str, str] = field(default_factory=dict)
    """Codes that begin something, and the code that ends it: `bpt` and `ept`."""
    numbers: tuple[str, ...] = ("i", "rid", "startRef", "id")
    """Attributes that tell which start an end belongs to."""
    protected: Callable[[Element], bool] = lambda element: False
    """Whether an element's text stays as it is, in sight of the model."""

    def kept(self, element: Element) -> str | None:
        """What the model sees of an element that stays as it is; None if it is markup or holds text to translate."""
        if self.protected(element):
            return element.text
        if element.local not in self.codes:
            return None
        shown = element.text or element.attributes.get("equiv-text") or element.attributes.get("disp") or ""
        return shown if _PLACEHOLDER.fullmatch(shown) else None


@dataclass(frozen=True)
class Content:
    """A text, and the source around it that stays."""

    segment: MarkedText
    before: str
    after: str
    source: str
    """The source of the text itself."""

    def filled(self, translation: MarkedText, escape: Callable[[str], str] = escape_text) -> str:
        """The source of the content with a translation; that of an unchanged text stays as it is written."""
        inner = self.source if translation == self.segment else source_of(translation, escape)
        return self.before + inner + self.after


def content(xml: XmlSource, element: Element, inline: Inline) -> Content:
    """The content of an element; codes and white space at its ends stay outside of the text."""
    parts: list[Part] = []
    sources: list[str] = []
    _Walk(xml, inline, parts, sources).children(element)
    first, last = 0, len(parts)
    while first < last and _outer(parts[first]):
        first += 1
    while last > first and _outer(parts[last - 1]):
        last -= 1
    inner, raw = parts[first:last], sources[first:last]
    before, after = "".join(sources[:first]), "".join(sources[last:])
    if inner and isinstance(inner[0], str):
        count = len(raw[0]) - len(raw[0].lstrip(_SPACES))
        before, raw[0] = before + raw[0][:count], raw[0][count:]
        inner[0] = inner[0].lstrip(_SPACES) if count else inner[0]
    if inner and isinstance(inner[-1], str):
        count = len(raw[-1].rstrip(_SPACES))
        after, raw[-1], more = raw[-1][count:] + after, raw[-1][:count], count < len(raw[-1])
        inner[-1] = inner[-1].rstrip(_SPACES) if more else inner[-1]
    return Content(MarkedText(inner), before, after, "".join(raw))


def _outer(part: Part) -> bool:
    """Whether a part at the end of a text can stay outside: white space, or a code on its own."""
    if isinstance(part, str):
        return not part.strip()
    return isinstance(part, Mark) and part.kind is MarkKind.SINGLE


class _Walk:
    """Collects the parts of an element's content, and the source of each."""

    def __init__(self, xml: XmlSource, inline: Inline, parts: list[Part], sources: list[str]) -> None:
        self.xml, self.inline, self.parts, self.sources = xml, inline, parts, sources
        self.number = 0

    def add(self, part: Part, source: str) -> None:
        self.parts.append(part)
        self.sources.append(source)

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def children(self, element: Element) -> None:
        pairs = self.pairs(element)
        for child in element.children:
            source = self.xml.source(child.start, child.end)
            if isinstance(child, Leaf):
                self.leaf(child, source)
            elif child in pairs:
                self.add(Mark(*pairs[child], source), source)
            elif (shown := self.inline.kept(child)) is not None:
                self.add(Kept(shown, source), source)
            elif child.local in self.inline.codes or child.content_start == child.content_end:
                self.add(Mark(MarkKind.SINGLE, self.next_number(), source), source)
            else:
                self.around(child)

    def leaf(self, leaf: Leaf, source: str) -> None:
        if leaf.kind in (LeafKind.TEXT, LeafKind.ENTITY) or (leaf.kind is LeafKind.CDATA and leaf.text):
            self.add(leaf.text, source)
        elif source:
            self.add(Mark(MarkKind.SINGLE, self.next_number(), source), source)

    def around(self, element: Element) -> None:
        number = self.next_number()
        opening = self.xml.source(element.start, element.content_start)
        closing = self.xml.source(element.content_end, element.end)
        self.add(Mark(MarkKind.OPEN, number, opening), opening)
        self.children(element)
        self.add(Mark(MarkKind.CLOSE, number, closing), closing)

    def pairs(self, element: Element) -> dict[Element, tuple[MarkKind, int]]:
        """Starts and ends that enclose a whole piece of this content; others stay single."""
        found: dict[Element, tuple[MarkKind, int]] = {}
        waiting: list[Element] = []
        for child in element.elements:
            if child.local in self.inline.starts:
                waiting.append(child)
            elif child.local in self.inline.starts.values():
                if waiting and self.belong(waiting[-1], child):
                    number = self.next_number()
                    found[waiting.pop()] = (MarkKind.OPEN, number)
                    found[child] = (MarkKind.CLOSE, number)
                else:
                    waiting.clear()  # they overlap: what is open encloses no whole pair
        return found

    def belong(self, start: Element, end: Element) -> bool:
        if self.inline.starts[start.local] != end.local:
            return False
        of_start = {start.attributes[name] for name in self.inline.numbers if name in start.attributes}
        return not of_start or any(end.attributes.get(name) in of_start for name in self.inline.numbers)
