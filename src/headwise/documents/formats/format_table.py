"""Table of document formats by the suffix of their files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from headwise.documents.document import Reader
from headwise.documents.formats.docx import read_docx
from headwise.documents.formats.epub import read_epub
from headwise.documents.formats.html import read_html
from headwise.documents.formats.localisation.android_strings import read_android
from headwise.documents.formats.localisation.java_properties import read_properties
from headwise.documents.formats.localisation.json_messages import read_json
from headwise.documents.formats.localisation.po import read_po
from headwise.documents.formats.localisation.table_columns import read_csv
from headwise.documents.formats.localisation.translation_memory import read_tmx
from headwise.documents.formats.localisation.xliff import read_xliff
from headwise.documents.formats.localisation.yaml_values import read_yaml
from headwise.documents.formats.markdown import read_markdown
from headwise.documents.formats.odf import read_odf
from headwise.documents.formats.pdf import read_pdf
from headwise.documents.formats.pptx import read_pptx
from headwise.documents.formats.subtitles.subtitles import read_subtitles
from headwise.documents.formats.text_file import read_text
from headwise.documents.formats.xlsx import read_xlsx
from headwise.errors import ConfigError


@dataclass(frozen=True)
class DocumentFormat:
    """A format: the suffixes of its files, and its reader."""

    suffixes: tuple[str, ...]
    read: Reader
    name: str
    written_as: str = ""
    """The suffix of a translation, where it is not that of the file."""
    is_bilingual: bool = False
    """Whether files hold texts beside their translations."""
    remark: str = ""
    """What people should know about every translation."""
    package: str = ""
    """The optional package that reads it (see `headwise.extras`)."""
    by_columns: bool = False
    """Whether it has columns, and those to translate must be named."""


FORMATS: tuple[DocumentFormat, ...] = (
    DocumentFormat((".docx", ".docm", ".dotx"), read_docx, "Word"),
    DocumentFormat((".pptx", ".pptm", ".potx"), read_pptx, "PowerPoint"),
    DocumentFormat((".xlsx", ".xlsm", ".xltx"), read_xlsx, "Excel"),
    DocumentFormat((".odt", ".odp", ".ods", ".odg", ".ott", ".otp", ".ots"), read_odf, "OpenDocument"),
    DocumentFormat((".html", ".htm", ".xhtml"), read_html, "HTML"),
    DocumentFormat((".epub",), read_epub, "EPUB"),
    DocumentFormat((".md", ".markdown"), read_markdown, "Markdown"),
    DocumentFormat((".txt",), read_text, "plain text"),
    DocumentFormat((".srt", ".vtt"), read_subtitles, "subtitles"),
    DocumentFormat(
        (".pdf",),
        read_pdf,
        "PDF",
        written_as=".txt",
        remark="the layout of a PDF is not kept, its text is",
        package="pypdf",
    ),
    DocumentFormat((".po", ".pot"), read_po, "gettext", is_bilingual=True),
    DocumentFormat((".xlf", ".xliff"), read_xliff, "XLIFF", is_bilingual=True),
    DocumentFormat((".tmx",), read_tmx, "TMX", is_bilingual=True),
    DocumentFormat((".json", ".arb"), read_json, "JSON messages"),
    DocumentFormat((".xml",), read_android, "Android strings"),
    DocumentFormat((".properties",), read_properties, "Java properties"),
    DocumentFormat((".yaml", ".yml"), read_yaml, "YAML", package="ruamel"),
    DocumentFormat((".csv", ".tsv"), read_csv, "tables", by_columns=True),
)

BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


def format_of(name: str) -> DocumentFormat:
    """The format of a file of this name; an unknown one is an error that lists all."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in BY_SUFFIX:
        known = " ".join(sorted(BY_SUFFIX))
        raise ConfigError(f"{name}: a file of this kind cannot be translated as a document; the kinds are {known}")
    return BY_SUFFIX[suffix]


def is_document(name: str) -> bool:
    """Whether a file of this name is translated as a document."""
    return PurePath(name).suffix.lower() in BY_SUFFIX


def output_suffix(name: str) -> str:
    """The suffix of the translation of a file."""
    return format_of(name).written_as or PurePath(name).suffix.lower()
