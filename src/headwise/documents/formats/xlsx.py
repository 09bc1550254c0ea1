"""Excel workbooks: .xlsx, and .xlsm and .xltx, which differ in their content type only.

Formulas, numbers and dates are never changed. A sheet is renamed only if no formula, chart or link refers to it, and a
heading of a table only if nothing looks it up; fields of pivot tables keep their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.marked_text import MarkedText
from headwise.documents.office.drawing_text import drawing_places
from headwise.documents.office.open_packaging import OpenPackage
from headwise.documents.office.sheet_names import SheetName, SheetNames, names_in_formulas
from headwise.documents.office.spreadsheet_text import rich_string
from headwise.documents.office.table_headings import Headings, headings
from headwise.documents.office.worksheet import Worksheet
from headwise.documents.office.xml_part import PackageDocument, PackagePart, PartPlace, XmlPart, element_value
from headwise.documents.xml_source import XmlSource
from headwise.documents.zip_package import ZipPackage

_STRINGS = ("spreadsheetml.sharedStrings", "spreadsheetml.comments", "ms-excel.threadedcomments")
_DRAWINGS = ("drawing", "drawingml.chart", "drawingml.diagramData", "drawingml.diagramDrawing")


def read_xlsx(data: bytes, options: ReadOptions) -> Document:
    """Read a workbook: its strings, comments, sheet names, headers and footers, charts, shapes and prompts."""
    package = OpenPackage(data)
    package.require(("spreadsheetml", "ms-excel"), "an Excel workbook")
    found = headings(package)
    strings = slice(0)
    parts: list[XmlPart | Worksheet] = []
    for name, _ in package.parts(["main"]):
        source = package.xml(name)
        parts.append(XmlPart(name, source, _sheet_names(package, name, source)))
    for name, kind in package.parts(_STRINGS):
        source = package.xml(name)
        is_shared = kind == _STRINGS[0]
        parts.append(XmlPart(name, source, _strings(source, found.kept if is_shared else frozenset())))
        if is_shared:
            end = sum(len(part.segments) for part in parts)
            strings = slice(end - len(parts[-1].segments), end)
    parts += [Worksheet(name, package.zip.read(name)) for name, _ in package.parts(["spreadsheetml.worksheet"])]
    for name, _ in package.parts(_DRAWINGS):
        source = package.xml(name)
        places = (place for element in source.root.walk() for place in drawing_places(source, element))
        parts.append(XmlPart(name, source, places))
    return _Workbook(package.zip, [*parts, *package.core_properties()], found, strings)


class _Workbook(PackageDocument):
    """A workbook, the columns of whose tables are called what their headings say."""

    def __init__(self, package: ZipPackage, parts: Iterable[PackagePart], found: Headings, strings: slice) -> None:
        super().__init__(package, parts, lambda new: found.renamed(self.segments[strings], new[strings]))
        self._headings, self._strings = found, strings

    def write(self, translations: Sequence[MarkedText]) -> bytes:
        """The workbook with translations; headings that would be called the same stay."""
        settled = list(translations)
        settled[self._strings] = self._headings.settled(self.segments[self._strings], settled[self._strings])
        return super().write(settled)


def _strings(source: XmlSource, kept: frozenset[str]) -> Iterator[PartPlace]:
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
