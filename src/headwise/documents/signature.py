"""Signatures of files: the format that the first bytes show, for a file whose suffix is another's."""

from __future__ import annotations

import io
import re
import zipfile

_FIRST_BYTES = (
    (re.compile(rb"%PDF-"), "a PDF file", ".pdf"),
    (re.compile(rb"\{\\rtf"), "an RTF file", ".rtf"),
    (re.compile(rb"\x1f\x8b"), "a gzip file", ".gz"),
    (re.compile(rb"\x89PNG|\xff\xd8\xff"), "a picture", ""),
    (re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE), "an HTML page", ".html .htm .xhtml"),
)
"""How files of a kind begin, what they are, and their suffixes."""
_PARTS = (
    ("word/", "a Word document", ".docx .docm .dotx"),
    ("ppt/", "a PowerPoint presentation", ".pptx .pptm .potx"),
    ("xl/", "an Excel workbook", ".xlsx .xlsm .xltx"),
    ("content.xml", "an OpenDocument file", ".odt .odp .ods .odg .ott .otp .ots"),
    ("META-INF/container.xml", "an e-book", ".epub"),
)
"""How names of parts begin in archives of a kind, what those are, and their suffixes."""


def looks_like(data: bytes, suffix: str) -> str:
    """What a file seems to be, in words; empty if that is unknown, or what its suffix promises."""
    for start, what, suffixes in _FIRST_BYTES:
        if start.match(data):
            return "" if suffix in suffixes.split() else what
    names = _names(data)
    for name, what, suffixes in _PARTS:
        if any(each.startswith(name) for each in names):
            return "" if suffix in suffixes.split() else what
    return ""


def _names(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return file.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return []
