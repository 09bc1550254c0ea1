import bz2
import gzip
import importlib
import lzma
import re
from pathlib import Path

import pytest

from headwise.data.read import files
from headwise.data.read.files import format_suffix, numbered_lines
from headwise.errors import DataError
from tests.data.conftest import Write

zstd = pytest.importorskip("backports.zstd")

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}


def lines(path: Path) -> list[str]:
    numbers, texts = [], []
    for number, text in numbered_lines(path):
        numbers.append(number)
        texts.append(text)
    assert numbers == list(range(1, len(texts) + 1))
    return texts


@pytest.mark.parametrize("suffix", COMPRESS)
def test_lines_are_the_same_whatever_the_compression(write: Write, suffix: str) -> None:
    texts = [f"Zeile {i} – größer" for i in range(20_000)]
    path = write("text.de" + suffix, COMPRESS[suffix]("\n".join(texts).encode()))
    assert lines(path) == texts


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
@pytest.mark.parametrize("damage", ["cut off", "no such format"])
def test_a_damaged_compressed_file_is_named(write: Write, suffix: str, damage: str) -> None:
    whole = COMPRESS[suffix](bytes(range(1, 10)) * 5000)
    path = write("text" + suffix, whole[: len(whole) // 2] if damage == "cut off" else b"plain text\n" * 50)
    with pytest.raises(DataError, match=re.escape(str(path))):
        lines(path)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb\n\n", ["a", "", "b", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u0085c\x0bd\n".encode(), ["a\u2028b\u0085c\x0bd"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("שלום עולם\n👩\u200d👩\u200d👧\n".encode(), ["שלום עולם", "👩\u200d👩\u200d👧"]),
    ],
)
def test_lines_end_at_newlines_only(
    write: Write, monkeypatch: pytest.MonkeyPatch, content: bytes, expected: list[str], block: int
) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    assert lines(write("text", content)) == expected


def test_invalid_utf_8_is_reported_with_line_byte_and_column(write: Write) -> None:
    path = write("text", "gut\nschön \n".encode() + "größe\n".encode("latin-1"))
    with pytest.raises(DataError, match=re.escape(f"{path}:3: not valid UTF-8 (byte 0xf6 at column 3)")):
        lines(path)


def test_a_byte_order_mark_counts_only_at_the_start(write: Write) -> None:
    assert lines(write("text", b"a\n\xef\xbb\xbfb\n")) == ["a", "\ufeffb"]


def test_utf_16_is_recognised(write: Write) -> None:
    with pytest.raises(DataError, match=r":1: not valid UTF-8 \(byte 0xff at column 1\).*UTF-16"):
        lines(write("marked", "a\n".encode("utf-16")))
    with pytest.raises(DataError, match=r":1: a NUL byte; the file may be UTF-16 or binary"):
        lines(write("bare", "a\n".encode("utf-16-le")))


def test_a_nul_byte_is_reported_with_its_line(write: Write) -> None:
    path = write("text", b"a\nb\nc\0d\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:3: a NUL byte")):
        lines(path)


def test_a_line_without_end_does_not_fill_the_memory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1000)
    monkeypatch.setattr(files, "MAX_LINE", 10_500)
    assert len(lines(write("fits", b"a\n" + b"x" * 10_500 + b"\n"))[1]) == 10_500
    for more in range(1, 2000, 100):  # wherever in a block the line ends
        path = write("blob", b"a\n" + b"x" * (10_500 + more) + b"\n")
        with pytest.raises(DataError, match=re.escape(f"{path}:2: a line of more than")):
            lines(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere.*no such file"):
        lines(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is a folder"):
        lines(tmp_path)
    (tmp_path / "folder.gz").mkdir()
    with pytest.raises(DataError, match=r"folder\.gz: is a folder"):
        lines(tmp_path / "folder.gz")


def test_without_zstandard_the_message_says_what_to_install(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(DataError, match=r"pip install backports\.zstd"):
        lines(write("text.zst", b""))


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.tsv", ".tsv"), ("a.b.TSV.Gz", ".tsv"), ("a.gz", ""), ("a", ""), ("a.en-de.tmx.zst", ".tmx")],
)
def test_the_format_is_under_the_compression(name: str, suffix: str) -> None:
    assert format_suffix(Path(name)) == suffix
