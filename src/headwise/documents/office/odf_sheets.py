"""Sheets of OpenDocument spreadsheets: their names in the content, and in the settings that know sheets by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwise.documents.office.odf_text import OFFICE
from headwise.documents.office.sheet_names import SheetName, SheetNames, names_in_formulas
from headwise.documents.xml_source import Edit, Element, XmlSource, escape_attribute, escape_text
from headwise.documents.zip_package import ZipPackage

TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CONFIG = "{urn:oasis:names:tc:opendocument:xmlns:config:1.0}"
_MACROS = ("Basic/", "Scripts/")


def sheet_names(package: ZipPackage, content: XmlSource, parts: Sequence[str]) -> SheetNames | None:
    """The names of the sheets of a spreadsheet; `parts` may refer to them. None: it is no spreadsheet."""
    tables = [table for table in _sheets(content.root) if f"{TABLE}name" in table.attributes]
    names = [table.attributes[f"{TABLE}name"] for table in tables]
    referring = [package.read(part) for part in parts]
    used = names_in_formulas(names, referring, ".")
    is_code = any(b"INDIRECT" in data for data in referring) or any(
        name.startswith(_MACROS) and name.endswith(".xml") for name in package.names
    )
    found = []
    for table, name in zip(tables, names, strict=True):
        place = content.attribute(table, _prefix(content, table) + "name")
        if place is not None:
            found.append(SheetName(name, *place, name not in used and not is_code))
    return SheetNames(found) if found else None


def renamed_settings(data: bytes, names: Mapping[str, str]) -> bytes:
    """The settings of a spreadsheet, which hold the view of each sheet under its name, with new names."""
    source = XmlSource(data)
    return source.edited(_edits(source, names))


def _edits(source: XmlSource, names: Mapping[str, str]) -> Iterable[Edit]:
    for element in source.root.walk():
        name = element.attributes.get(f"{_CONFIG}name", "")
        if element.name == f"{_CONFIG}config-item-map-entry" and name in names:
            place = source.attribute(element, _prefix(source, element) + "name")
            if place is not None:
                yield Edit(*place, escape_attribute(names[name]))
        elif name == "ActiveTable" and element.text in names:
            yield Edit(element.content_start, element.content_end, escape_text(names[element.text]))


def _sheets(root: Element) -> Iterable[Element]:
    for body in root.elements:
        for kind in body.elements:
            if kind.name == f"{OFFICE}spreadsheet":
                yield from (each for each in kind.elements if each.name == f"{TABLE}table")


def _prefix(source: XmlSource, element: Element) -> str:
    """The prefix of an element's namespace as the file writes it: `table:` of `<table:table`."""
    before, colon, _ = source.source(element.start + 1, element.content_start).partition(f":{element.local}")
    return before + colon[:1]
