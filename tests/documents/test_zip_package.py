"""Zip packages: everything comes back as it was, and hostile archives are refused."""

import io
import random
import zipfile

import pytest

from headwise.documents import zip_package
from headwise.documents.zip_package import ZipPackage
from headwise.errors import DataError


def archive(parts: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", kind) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return output.getvalue()


def mixed_archive() -> bytes:
    """An archive with what office programs write: a stored first part, folders, dates, attributes, comments."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as file:
        file.comment = b"all of it"
        for number, (name, kind) in enumerate(
            [
                ("mimetype", zipfile.ZIP_STORED),
                ("folder/", zipfile.ZIP_STORED),
                ("folder/t\u00e9xt.xml", zipfile.ZIP_DEFLATED),
                ("../escape", zipfile.ZIP_BZIP2),
            ]
        ):
            info = zipfile.ZipInfo(name, (1980 + number, 1, 2, 3, 4, 6))
            info.compress_type, info.create_system, info.comment = kind, number % 4, b"part"
            file.writestr(info, b"" if name.endswith("/") else name.encode() * 100)
            info.external_attr = number << 16
    return output.getvalue()


def entries(data: bytes) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        return [
            (i.filename, i.date_time, i.compress_type, i.create_system, i.external_attr, i.comment, file.read(i))
            for i in file.infolist()
        ]


def test_an_unchanged_package_keeps_every_property() -> None:
    data = mixed_archive()
    package = ZipPackage(data)
    assert package.names == ("mimetype", "folder/", "folder/t\u00e9xt.xml", "../escape")
    assert entries(package.write({})) == entries(data)


def test_a_changed_part_changes_alone() -> None:
    data = mixed_archive()
    written = entries(ZipPackage(data).write({"folder/t\u00e9xt.xml": b"new"}))
    for old, new in zip(entries(data), written, strict=True):
        assert new[:-1] == old[:-1]
        assert new[-1] == (b"new" if old[0] == "folder/t\u00e9xt.xml" else old[-1])


def test_bad_archives_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="password protected, or of an old format"):
        ZipPackage(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(DataError, match="not a zip archive"):
        ZipPackage(b"plain text")
    with pytest.raises(DataError, match="no part 'b'"):
        ZipPackage(archive({"a": b"1"})).read("b")
    with pytest.raises(DataError, match="two parts"):
        ZipPackage(archive({"a": b"1", "b": b"2"}).replace(b"b", b"a"))
    encrypted = bytearray(archive({"a": b"1"}))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DataError, match="password"):
        ZipPackage(bytes(encrypted))
    with pytest.raises(DataError, match="200 times"):
        ZipPackage(archive({"a": bytes(40 << 20)}))
    monkeypatch.setattr(zip_package, "MOST_PARTS", 2)
    monkeypatch.setattr(zip_package, "MOST_BYTES", 20)
    with pytest.raises(DataError, match="3 parts"):
        ZipPackage(archive({"a": b"", "b": b"", "c": b""}))
    with pytest.raises(DataError, match="unpack to more"):
        ZipPackage(archive({"a": bytes(30)}))


def test_a_size_that_lies_is_found() -> None:
    data = archive({"a": bytes(3 << 20)})
    place = data.index(b"PK\x01\x02") + 24
    lying = data[:place] + (10).to_bytes(4, "little") + data[place + 4 :]
    with pytest.raises(DataError, match="damaged"):
        ZipPackage(lying).read("a")


def test_damage_is_an_error_of_the_data() -> None:
    data = mixed_archive()
    chances = random.Random(0)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(chances.randrange(1, 4)):
            damaged[chances.randrange(len(damaged))] = chances.randrange(256)
        cut = bytes(damaged[: chances.choice([len(damaged), chances.randrange(len(damaged))])])
        try:
            package = ZipPackage(cut)
            package.write({})
        except DataError:
            continue
