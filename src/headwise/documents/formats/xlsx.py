"""Excel workbooks: .xlsx, and .xlsm, .xltx and .xltm, which differ in their content type only.

Formulas, numbers and dates are never changed. A sheet is renamed only if no formula, chart or link refers to it;
headings of tables and fields of pivot tables keep their names, since Excel looks them up by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwise.documents.document import Document, ReadOptions
from headwise.documents.office.drawing_text import drawing_places
from headwise.documents.office.open_packaging import OpenPackage
from headwise.documents.office.sheet_names import SheetName, SheetNames, names_in_formulas
from headwise.documents.office.spreadsheet_text import rich_string
from headwise.documents.office.worksheet import Worksheet
from headwise.documents.office.xml_part import PackageDocument, PartPlace, XmlPart, element_value
from headwise.documents.xml_source import XmlSource

_STRINGS = ("spreadsheetml.sharedStrings", "spreadsheetml.comments", "ms-excel.threadedcomments")
_DRAWINGS = ("drawing", "drawingml.chart", "drawingml.diagramData", "drawingml.diagramDrawing")
_NAMED = {"spreadsheetml.table": "tableColumn", "spreadsheetml.pivotCacheDefinition": "cacheField"}


def read_xlsx(data: bytes, options: ReadOptions) -> Document:
    """Read a workbook: its strings, comments, sheet names, headers and footers, charts, shapes and prompts."""
    package = OpenPackage(data)
    package.require(("spreadsheetml", "ms-excel"), "an Excel workbook")
    kept = _column_names(package)
    parts: list[XmlPart | Worksheet] = []
    for name, _ in package.parts(["main"]):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _sheet_names(package, name, source)))
    for name, kind in package.parts(_STRINGS):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _strings(source, kept if kind == _STRINGS[0] else set())))
    parts += [Worksheet(name, package.zip.read(name)) for name, _ in package.parts(["spreadsheetml.worksheet"])]
    for name, _ in package.parts(_DRAWINGS):
        source = package.xml(name)
        places = (place for element in source.root.walk() for place in drawing_places(source, element))
        parts.append(XmlPart(name, source, places))
    return PackageDocument(package.zip, [*parts, *package.core_properties()])


def _column_names(package: OpenPackage) -> set[str]:
    """Names of the columns of tables and pivot tables, which are also strings of cells."""
    names: set[str] = set()
    for part, kind in package.parts(list(_NAMED)):
        for element in package.xml(part).root.walk():
            if element.local == _NAMED[kind] and "name" in element.attributes:
                names.add(element.attributes["name"].replace("_x000a_", "\n"))
    return names


def _strings(source: XmlSource, kept: set[str]) -> Iterator[PartPlace]:
    for element in source.root.walk():
        if element.local == "text" and not any(element.elements):
            yield from element_value(element)
        elif element.local in ("si", "text") and element.text not in kept:
            yield rich_string(source, element)


def _sheet_names(package: OpenPackage, main: str, source: XmlSource) -> Iterator[PartPlace]:
    sheets = [element for element in source.root.walk() if element.local == "sheet" and "name" in element.attributes]
    names = [sheet.attributes["name"] for sheet in sheets]
    referring = [package.zip.read(name) for name in package.zip.names if _may_refer(name)]
    used = names_in_formulas(names, referring, "!:")
    is_computed = any(b"INDIRECT" in data for data in referring)
    has_macros = any(name.endswith("vbaProject.bin") for name in package.zip.names)
    found = []
    for sheet, name in zip(sheets, names, strict=True):
        place = source.attribute(sheet, "name")
        if place is not None:
            found.append(SheetName(name, *place, name not in used and not is_computed and not has_macros))
    if found:
        yield SheetNames(found)


def _may_refer(name: str) -> bool:
    return (
        name.endswith((".xml", ".vml")) and not name.endswith("sharedStrings.xml") and not name.startswith("docProps/")
    )
