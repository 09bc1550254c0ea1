"""Small packages for the tests of office formats, and checks that hold for all of them."""

import io
import random
import zipfile
from collections.abc import Mapping

from headwise.documents.document import Document, Reader, ReadOptions
from headwise.documents.marked_text import Kept, MarkedText
from headwise.errors import DataError

ACCENTS = str.maketrans("aeiounAEIOUN", "áéíóúñÁÉÍÓÚÑ")
CONTENT_TYPE = "application/vnd.openxmlformats-"


def package(parts: Mapping[str, str]) -> bytes:
    """A zip file of these parts; the first is stored if it is `mimetype`."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6)), text, kind)
    return output.getvalue()


def open_package(parts: Mapping[str, tuple[str, str]]) -> bytes:
    """An Office Open XML package from parts with their content types."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{CONTENT_TYPE}{kind}+xml"/>' for name, (kind, _) in parts.items()
    )
    types = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{overrides}</Types>'
    return package({"[Content_Types].xml": types, **{name: text for name, (_, text) in parts.items()}})


def with_part(data: bytes, name: str, content: str | None) -> bytes:
    """A package with another content in one part, or without it."""
    parts = {**contents(data), name: content}
    return package({each: text for each, text in parts.items() if text is not None})


def read(reader: Reader, data: bytes) -> Document:
    return reader(data, ReadOptions())


def contents(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def entries(data: bytes) -> list[tuple[str, int, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(info.filename, info.compress_type, file.read(info)) for info in file.infolist()]


def shape(text: MarkedText) -> str:
    """A marked text as a line: [bold] words, | for single marks, {kept} parts."""
    signs = {"open": "[", "close": "]", "single": "|"}
    return "".join(
        part if isinstance(part, str) else f"{{{part.text}}}" if isinstance(part, Kept) else signs[part.kind.value]
        for part in text.parts
    )


def shapes(document: Document) -> list[str]:
    return [shape(text) for text in document.segments]


def accented(text: MarkedText) -> MarkedText:
    return MarkedText(part.translate(ACCENTS) if isinstance(part, str) else part for part in text.parts)


def check_round_trip(reader: Reader, data: bytes) -> bytes:
    """Unchanged texts give the same parts; changed ones are read again as they were written. The changed file."""
    document = read(reader, data)
    assert entries(document.write(document.segments)) == entries(data)
    for text in document.segments:
        assert not text.fault()
        assert text.has_letters
    changed = [accented(text) for text in document.segments]
    written = document.write(changed)
    assert shapes(read(reader, written)) == [shape(text) for text in changed]
    return written


def check_damage(reader: Reader, data: bytes, rounds: int = 150) -> None:
    """Cut and flipped bytes, in the zip file and in its parts, are read or refused."""
    chances = random.Random(1)
    parts = contents(data)
    for number in range(rounds):
        damaged = bytearray(data)
        if number % 2:
            name = chances.choice([*parts])
            inner = bytearray(parts[name].encode())
            inner[chances.randrange(len(inner))] = chances.choice(b"<>&\"'/ ax0\xff")
            damaged = bytearray(package({**parts, name: inner.decode("latin-1")}))
        else:
            damaged[chances.randrange(len(damaged))] = chances.randrange(256)
            damaged = damaged[: chances.choice([len(damaged), chances.randrange(len(damaged))])]
        try:
            document = read(reader, bytes(damaged))
            document.write([accented(text) for text in document.segments])
        except DataError:
            continue
