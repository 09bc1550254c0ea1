"""Packages of Office Open XML: which part is what, by the content types that the package states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.office.xml_part import XmlPart, element_value
from headwise.documents.xml_source import XmlSource
from headwise.documents.zip_package import ZipPackage
from headwise.errors import DataError

_TYPES = "[Content_Types].xml"
_CORE_TEXTS = frozenset({"title", "subject", "description", "keywords"})


class OpenPackage:
    """A zip package with a list of content types."""

    def __init__(self, data: bytes) -> None:
        self.zip = ZipPackage(data)
        if _TYPES not in self.zip.names:
            raise DataError("the file is not an Office Open XML document: it lists no content types")
        types = XmlSource(self.zip.read(_TYPES)).root
        names = {name.lower(): name for name in self.zip.names}
        self.types: dict[str, str] = {}
        """The content type of each part, by its extension or by its name."""
        for element in types.elements:
            values = element.attributes
            if element.local == "Default":
                ending = "." + values.get("Extension", "").lower()
                found = [names[name] for name in names if name.endswith(ending) and names[name] not in self.types]
            else:
                found = [names[name] for name in names if name == values.get("PartName", "").lstrip("/").lower()]
            self.types.update(dict.fromkeys(found, values.get("ContentType", "")))

    def parts(self, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Names of parts whose content type ends in one of `kinds`, with that kind, in the order of the kinds."""
        for kind in kinds:
            found = [name for name, type_ in self.types.items() if type_.endswith(f"{kind}+xml")]
            yield from ((name, kind) for name in sorted(found, key=natural_order))

    def xml(self, name: str) -> XmlSource:
        """The XML of a part."""
        try:
            return XmlSource(self.zip.read(name))
        except DataError as error:
            raise DataError(f"part {name!r}: {error}") from error

    def require(self, names: tuple[str, ...], what: str) -> None:
        """Refuse a package without a main part whose content type contains one of `names`."""
        main = [type_ for type_ in self.types.values() if type_.endswith("main+xml")]
        if not any(name in type_ for type_ in main for name in names):
            raise DataError(f"the file is not {what}, or its main part is missing")

    def core_properties(self) -> Iterator[XmlPart]:
        """The title, subject and description of the document."""
        for name, _ in self.parts(["core-properties"]):
            source = self.xml(name)
            found = (each for each in source.root.elements if each.local in _CORE_TEXTS)
            yield XmlPart(name, source, (place for each in found for place in element_value(each)))


def natural_order(name: str) -> list[tuple[int, str]]:
    """A key that sorts slide2 before slide10."""
    return [(int(digits or 0), text) for text, digits in re.findall(r"(\D*)(\d{0,9})", name)]
