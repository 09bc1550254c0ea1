"""Headings of Excel tables: their cells are translated, and the names of the table's columns follow them.

Excel repairs a workbook in which a heading and the name of its column differ. Where anything else looks a column up by
name - a formula, a pivot table, a query, a slicer, a macro - headings stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headwise.documents.marked_text import MarkedText
from headwise.documents.office.open_packaging import OpenPackage
from headwise.documents.xml_source import Edit, XmlSource, escape_attribute

_TABLE = "spreadsheetml.table"
_PIVOT = "spreadsheetml.pivotCacheDefinition"
_LOOKING_UP = ("queryTable", "slicer", "connections", "vbaProject", "customXml/", "model/item")
"""Parts of names of parts that may look columns up by name."""
_FORMULAS = rb"f|formula\d?|definedName|calculatedColumnFormula|totalsRowFormula"
_LOOKUP = re.compile(rb"<(?:\w+:)?(?:" + _FORMULAS + rb")\b[^>]*>[^<]*\[|inlineStr")
"""A formula with a bracket, which refers to a column or to another workbook; a string in a cell."""


@dataclass(frozen=True)
class Headings:
    """The headings of all tables of a workbook."""

    tables: tuple[tuple[str, XmlSource], ...]
    """Parts of tables, if their headings are translated."""
    kept: frozenset[str]
    """Strings that must stay as they are: also headings of several lines, which are no single text."""

    def settled(self, old: Sequence[MarkedText], new: Sequence[MarkedText]) -> list[MarkedText]:
        """Translations in which no two headings of a table are equal: such headings stay."""
        names = {segment.text: translation.text for segment, translation in zip(old, new, strict=True)}
        refused: set[str] = set()
        while clash := self._clash({**names, **{name: name for name in refused}}):
            refused |= clash
        return [
            segment if segment.text in refused else translation for segment, translation in zip(old, new, strict=True)
        ]

    def _clash(self, names: dict[str, str]) -> set[str]:
        for _, source in self.tables:
            taken: dict[str, str] = {}
            for column in _columns(source):
                new = names.get(column, column).casefold()
                if new in taken and (clash := {each for each in (column, taken[new]) if names.get(each, each) != each}):
                    return clash
                taken[new] = column
        return set()

    def renamed(self, old: Sequence[MarkedText], new: Sequence[MarkedText]) -> dict[str, bytes]:
        """The parts of tables with the names of their columns as the headings now are."""
        names = {segment.text: translation.text for segment, translation in zip(old, new, strict=True)}
        return {part: source.edited(_edits(source, names)) for part, source in self.tables}


def headings(package: OpenPackage) -> Headings:
    """The headings of the tables of a workbook."""
    tables = [(part, package.xml(part)) for part, _ in package.parts([_TABLE])]
    columns = {column for _, source in tables for column in _columns(source)}
    fields = {
        element.attributes["name"].replace("_x000a_", "\n")
        for part, _ in package.parts([_PIVOT])
        for element in package.xml(part).root.walk()
        if element.local == "cacheField" and "name" in element.attributes
    }
    if fields or _is_looked_up(package):
        return Headings((), frozenset(fields | columns))
    return Headings(tuple(tables), frozenset(column for column in columns if " ".join(column.split()) != column))


def _is_looked_up(package: OpenPackage) -> bool:
    names = package.zip.names
    if any(each in name for name in names for each in _LOOKING_UP):
        return True
    formulas = (name for name in names if name.endswith(".xml") and not name.endswith("sharedStrings.xml"))
    return any(_LOOKUP.search(package.zip.read(name)) for name in formulas)


def _columns(source: XmlSource) -> list[str]:
    return [
        element.attributes["name"].replace("_x000a_", "\n")
        for element in source.root.walk()
        if element.local == "tableColumn" and "name" in element.attributes
    ]


def _edits(source: XmlSource, names: dict[str, str]) -> list[Edit]:
    edits = []
    for element in source.root.walk():
        new = names.get(element.attributes.get("name", ""))
        if element.local == "tableColumn" and new is not None and (place := source.attribute(element, "name")):
            edits.append(Edit(*place, escape_attribute(new)))
    return edits
