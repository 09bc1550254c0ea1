"""Glossaries in TBX, both the older layout (`martif`, `termEntry`, `langSet`) and ISO 30042:2019 (`tbx`, `langSec`)."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from xml.parsers import expat

from headwise.data.read.files import open_bytes, reading
from headwise.decode.glossary.entry import GlossaryConcept
from headwise.decode.glossary.term_table import check_terms
from headwise.errors import DataError
from headwise.text.normalise import normalise

_ROOTS = frozenset({"martif", "tbx"})
_CONCEPTS = frozenset({"termEntry", "conceptEntry"})
_LANGUAGES = frozenset({"langSet", "langSec"})
_TERM_GROUPS = frozenset({"tig", "ntig", "termSec"})
_STATUS = frozenset({"administrativeStatus", "normativeAuthorization"})
_AVOIDED = ("deprecated", "superseded", "obsolete")
"""How the status of a term begins that is not to be used in translations."""


def read_tbx(path: Path) -> list[GlossaryConcept]:
    """The concepts of a TBX file with the terms of each language."""
    reader = _TbxReader(path)
    with reading(path), open_bytes(path) as stream:
        reader.read(stream.read())
    return reader.concepts


class _TbxReader:
    """The XML parser's state between two events, and the concepts that are complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.concepts: list[GlossaryConcept] = []
        self._line = 0
        self._terms: dict[str, list[str]] = {}
        self._language = ""
        self._group: list[str] = []
        self._avoided = False
        self._text: list[str] | None = None  # of a term or a status; None elsewhere
        self._is_status = False
        self._root = ""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse
        self._parser = parser

    def read(self, content: bytes) -> None:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            raise DataError(f"{self.path}:{error.lineno}: not well-formed XML: {problem}") from None
        except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
            raise DataError(f"{self.path}:{self._parser.CurrentLineNumber}: {error}") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._root:
            self._root = name
            if name not in _ROOTS:
                raise DataError(f"{self.path}: the first element is <{name}>: TBX begins with <martif> or <tbx>")
        if name in _CONCEPTS:
            self._line, self._terms = self._parser.CurrentLineNumber, {}
        elif name in _LANGUAGES:
            self._language = attributes.get("xml:lang") or attributes.get("lang", "")
            if not self._language:
                raise DataError(f"{self.path}:{self._parser.CurrentLineNumber}: <{name}> has no xml:lang")
        elif name in _TERM_GROUPS:
            self._group, self._avoided = [], False
        elif name == "term" or attributes.get("type") in _STATUS or name in _STATUS:
            self._text, self._is_status = [], name != "term"

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name == "term" and self._text is not None:
            self._group.append(normalise("".join(self._text)))
            self._text = None
        elif self._is_status and self._text is not None:
            self._avoided = self._avoided or "".join(self._text).strip().casefold().startswith(_AVOIDED)
            self._text = None
        elif name in _TERM_GROUPS and not self._avoided:
            self._terms.setdefault(self._language, []).extend(filter(None, self._group))
        elif name in _CONCEPTS and self._terms:
            terms = {language: tuple(dict.fromkeys(found)) for language, found in self._terms.items() if found}
            place = f"{self.path}:{self._line}"
            check_terms(chain.from_iterable(terms.values()), place)
            self.concepts.append(GlossaryConcept(terms, place=place))

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _refuse(self, name: str, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise DataError(f"{self.path}:{line}: declares the entity {name!r}: such declarations are refused")
