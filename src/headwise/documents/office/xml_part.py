"""XML parts of a package as places with texts, and the package as a document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from headwise.documents.marked_text import MarkedText
from headwise.documents.office.inline import Encoder, Item, pieces_of
from headwise.documents.office.paragraph_texts import Segment, cut, filled
from headwise.documents.office.proofing import Proofing
from headwise.documents.office.replacements import Replacement, replaced
from headwise.documents.xml_source import Element, XmlSource, escape_attribute, escape_text
from headwise.documents.zip_package import ZipPackage

_FILE_NAME = re.compile(r"\S+\.\w{2,4}")


class PartPlace(Protocol):
    """A place in an XML file with texts to translate."""

    @property
    def texts(self) -> Sequence[MarkedText]:
        """The texts, in order."""
        ...

    def replacement(self, translations: Sequence[MarkedText]) -> Replacement:
        """The change that puts translations in the place of the texts."""
        ...


class Paragraph:
    """A paragraph, whose inline content lies from byte `start` to before byte `end`."""

    def __init__(self, start: int, end: int, items: Sequence[Item], encode: Encoder) -> None:
        self.start, self.end, self.encode = start, end, encode
        self.cuts = cut(items)
        self.texts = [each.text for each in self.cuts if isinstance(each, Segment)]

    def replacement(self, translations: Sequence[MarkedText]) -> Replacement:
        """The whole content of the paragraph, written anew."""
        remaining = iter(translations)
        items: list[Item] = []
        for each in self.cuts:
            items += filled(each, next(remaining)) if isinstance(each, Segment) else [each]
        return Replacement(self.start, self.end, tuple(pieces_of(items, self.encode)))


@dataclass(frozen=True)
class PlainValue:
    """A text without markup: the value of an attribute, or of an element that holds nothing else."""

    start: int
    end: int
    before: str
    value: str
    after: str
    escape: Callable[[str], str]

    @cached_property
    def texts(self) -> Sequence[MarkedText]:
        """The value without the white space around it."""
        return [MarkedText([self.value])]

    def replacement(self, translations: Sequence[MarkedText]) -> Replacement:
        """The value in its white space."""
        text = self.before + translations[0].text + self.after
        return Replacement(self.start, self.end, (self.escape(text),))


def attribute_value(source: XmlSource, element: Element, name: str) -> Iterator[PlainValue]:
    """The value of an attribute outside of namespaces, if it is text and not the name of a file."""
    value = element.attributes.get(name, "")
    if value and not _FILE_NAME.fullmatch(value.strip()) and (place := source.attribute(element, name)):
        yield from _plain(place, value, escape_attribute)


def element_value(element: Element) -> Iterator[PlainValue]:
    """The text of an element that has no elements in it."""
    if not any(element.elements):
        yield from _plain((element.content_start, element.content_end), element.text, escape_text)


def _plain(place: tuple[int, int], value: str, escape: Callable[[str], str]) -> Iterator[PlainValue]:
    text = value.strip()
    if any(map(str.isalpha, text)):
        lead = value[: value.index(text)]
        yield PlainValue(*place, lead, text, value[len(lead) + len(text) :], escape)


class PackagePart(Protocol):
    """A part of a package that has texts."""

    @property
    def name(self) -> str:
        """The name of the part in its package."""
        ...

    @property
    def segments(self) -> Sequence[MarkedText]:
        """The texts of the part, in order."""
        ...

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The part with translations in the place of its texts."""
        ...


class XmlPart:
    """An XML part with its places."""

    def __init__(self, name: str, source: XmlSource, places: Iterable[PartPlace]) -> None:
        self.name, self.source = name, source
        self.places = [place for place in places if place.texts]
        self.segments = [text for place in self.places for text in place.texts]
        self.always: list[Replacement] = []
        """Changes that do not depend on translations."""

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The part with every paragraph that has changed written anew, and the others as they are."""
        replacements: list[Replacement] = list(self.always)
        position = 0
        for place in self.places:
            new = translations[position : position + len(place.texts)]
            position += len(place.texts)
            if any(text.parts != old.parts for text, old in zip(new, place.texts, strict=True)):
                replacements.append(place.replacement(new))
        return replaced(self.source, replacements)


Following = Callable[[Sequence[MarkedText]], dict[str, bytes]]
"""Gives the parts without texts that change with the translations: those that know a text as a name."""


class PackageDocument:
    """A package as a document: the texts of its parts, one part after the other."""

    def __init__(
        self,
        package: ZipPackage,
        parts: Iterable[PackagePart],
        following: Following = lambda translations: {},
        proofing: Proofing | None = None,
    ) -> None:
        self._package = package
        self._proofing = proofing
        self._parts = [part for part in parts if part.segments]
        self._following = following
        self.segments = [text for part in self._parts for text in part.segments]

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The package with translations in the place of the segments."""
        if len(translations) != len(self.segments):
            raise ValueError(f"{len(self.segments)} segments, {len(translations)} translations")
        changed = self._following(translations)
        position = 0
        for part in self._parts:
            end = position + len(part.segments)
            changed[part.name] = part.write(translations[position:end])
            position = end
        if proofing := self._proofing:
            for name in filter(proofing.parts.fullmatch, self._package.names):
                changed[name] = proofing.stated(changed.get(name) or self._package.read(name))
        return self._package.write(changed)
