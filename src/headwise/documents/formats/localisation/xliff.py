"""XLIFF 1.2 and 2.x: each source is a text, its translation is written as target beside it, all else stays.

Units with a target are left alone, as are those with `translate="no"`. A new target of version 1.2 has no state unless
the file uses states; a segment of 2.x becomes `state="translated"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.inline_xml import Inline, content
from headwise.documents.formats.localisation.slots import Slot, SlotDocument
from headwise.documents.marked_text import MarkedText
from headwise.documents.xml_source import Edit, Element, XmlSource, escape_attribute
from headwise.errors import DataError


def _protected(element: Element) -> bool:
    return element.local == "mrk" and (
        element.attributes.get("translate") == "no" or element.attributes.get("mtype") == "protected"
    )


_INLINE_1 = Inline(
    codes=frozenset({"x", "bx", "ex", "bpt", "ept", "ph", "it"}),
    starts={"bx": "ex", "bpt": "ept"},
    numbers=("rid", "id"),
    protected=_protected,
)
_INLINE_2 = Inline(
    codes=frozenset({"ph", "sc", "ec", "sm", "em", "cp"}),
    starts={"sc": "ec", "sm": "em"},
    numbers=("startRef", "id"),
    protected=_protected,
)
_LINE_START = re.compile(r"(?:\A|[\r\n])([ \t]*)\Z")
_OPEN_STATES = {"new", "needs-translation", "initial"}


def read_xliff(data: bytes, options: ReadOptions) -> Document:
    """Read an XLIFF file of either version."""
    xml = XmlSource(data)
    if xml.root.local != "xliff":
        raise DataError(f"this is not an XLIFF file: its first element is <{xml.root.local}>")
    return SlotDocument(xml, _slots(xml, options), list(_languages(xml, options.target)))


def _slots(xml: XmlSource, options: ReadOptions) -> Iterator[Slot]:
    second = xml.root.attributes.get("version", "1.2").startswith("2")
    has_states = not second and any(
        "state" in element.attributes for element in xml.root.walk() if element.local == "target"
    )
    waiting = [xml.root]
    while waiting:
        element = waiting.pop()
        if element.attributes.get("translate") == "no":
            continue
        if element.local == ("segment" if second else "trans-unit"):
            slot = _Unit(xml, element, second, has_states).slot(options.again)
            if slot:
                yield slot
        else:
            waiting.extend(reversed([*element.elements]))


class _Unit:
    """A pair of source and target."""

    def __init__(self, xml: XmlSource, element: Element, second: bool, has_states: bool) -> None:
        self.xml, self.element, self.second, self.has_states = xml, element, second, has_states
        children = {child.local: child for child in reversed([*element.elements])}
        self.source, self.target = children.get("source"), children.get("target")
        self.before_target = children.get("seg-source") or self.source
        """The element that a new target follows, by the order that the standard demands."""

    def slot(self, again: bool) -> Slot | None:
        if self.source is None or (self.is_translated and not again):
            return None
        source = content(self.xml, self.source, _INLINE_2 if self.second else _INLINE_1)
        if not source.segment.has_letters:
            return None

        def edits(translations: Sequence[MarkedText]) -> Iterator[Edit]:
            yield self.write_target(source.filled(translations[0]))
            if self.second:
                yield from self.set_state(self.element)

        return Slot([source.segment], edits)

    @property
    def is_translated(self) -> bool:
        target = self.target
        return target is not None and target.content_start != target.content_end

    def write_target(self, filled: str) -> Edit:
        """The edit that writes the target, which may lack."""
        target, source = self.target, self.source
        assert source is not None
        prefix = self.xml.source(source.start, source.content_start)[1:].partition("source")[0]
        if target is None:
            state = ' state="translated"' if self.has_states else ""
            made = f"<{prefix}target{state}>{filled}</{prefix}target>"
            place = (self.before_target or source).end
            return Edit(place, place, f"{self._indentation(source)}{made}")
        opening = self.xml.source(target.start, target.content_start)
        closing = self.xml.source(target.content_end, target.end) or f"</{prefix}target>"
        if opening.endswith("/>"):
            opening = opening[:-2].rstrip() + ">"
        if not self.second and target.attributes.get("state") in _OPEN_STATES:
            opening = re.sub(r"(\sstate\s*=\s*)(\"[^\"]*\"|'[^']*')", r'\1"translated"', opening, count=1)
        return Edit(target.start, target.end, f"{opening}{filled}{closing}")

    def set_state(self, segment: Element) -> Iterator[Edit]:
        """The edit that gives a segment the state `translated`."""
        found = self.xml.attribute(segment, "state")
        if found:
            if segment.attributes["state"] in _OPEN_STATES:
                yield Edit(*found, "translated")
        else:
            yield Edit(segment.content_start - 1, segment.content_start - 1, ' state="translated"')

    def _indentation(self, source: Element) -> str:
        """What stands between the end of the source and a target on a line of its own."""
        before = self.xml.source(max(0, self.element.content_start), source.start)
        found = _LINE_START.search(before)
        if found is None:
            return ""
        return ("\r\n" if "\r\n" in before else "\n") + found[1]


def _languages(xml: XmlSource, target: str | None) -> Iterator[Edit]:
    """Edits that name the target language where the file does not."""
    if not target:
        return
    second = xml.root.attributes.get("version", "1.2").startswith("2")
    name = "trgLang" if second else "target-language"
    for element in [xml.root] if second else [each for each in xml.root.elements if each.local == "file"]:
        found = xml.attribute(element, name)
        if found is None:
            end = element.content_start - (2 if xml.source(element.start, element.content_start)[-2] == "/" else 1)
            yield Edit(end, end, f' {name}="{escape_attribute(target)}"')
        elif not element.attributes[name]:
            yield Edit(*found, escape_attribute(target))
