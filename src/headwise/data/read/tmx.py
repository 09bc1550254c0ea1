"""Translation memories (TMX 1.4) as sentence pairs, streamed: the parser holds one unit at a time."""

import re
from collections import Counter
from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path
from xml.parsers import expat

from headwise.data.read.files import MAX_LINE, open_bytes, reading
from headwise.data.read.languages import best, match
from headwise.data.read.pairs import Note, Pair
from headwise.errors import DataError

BLOCK = 1 << 16

_DROPPED = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})
"""Elements inside a segment whose content is mark-up of the original document, not text."""
_PAIRED = frozenset({"bpt", "ept"})
"""Start and end of formatting, which often lie inside words."""
_BREAK, _CODE, _FORMAT = "\0b", "\0c", "\0f"
"""Marks of dropped elements while a segment is read (XML has no NUL): a line break or other space, a placeholder, the
start or end of formatting."""
_SPACE = re.compile(r"\s+|(\\[nrt])+|.*<\s*/?\s*(br|p|div|li|tab)\b.*", re.IGNORECASE | re.DOTALL)
"""Content of an inline code that represents a break or another space."""
_CODES = re.compile(r"(\S?)((?:\0[bcf])+)(?=(\S?))")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Letters of scripts that write no spaces between words."""

_ENTITIES = "".join(
    f'<!ENTITY {name} "&#{code};">' for name, code in name2codepoint.items() if name not in {"amp", "lt"}
).encode("ascii")
"""Declarations that replace every document type: tools write entities such as `&nbsp;` without declaring them."""


def read_tmx(path: Path, source_language: str, target_language: str, note: Note) -> Iterator[Pair]:
    """The pairs of all units that have both languages.

    `de` also finds `de-AT` where a unit has no `de`, and `de-AT` finds `de`. `note` receives how
    often there was a choice between variants.
    """
    if not source_language or not target_language:
        raise DataError(f"{path}: a TMX holds several languages: name two with --from and --to")
    units = _Units(path, source_language, target_language)
    fed = 0
    with reading(path), open_bytes(path) as stream:
        block = _not_standalone(stream.read(BLOCK))
        while True:
            units.feed(block)
            fed += len(block)
            yield from units.take()
            if not block:
                break
            if fed - units.parsed_bytes() > MAX_LINE:
                raise DataError(f"{path}:{units.line()}: a tag of more than {MAX_LINE >> 20} MiB")
            block = stream.read(BLOCK)
    units.check()
    for remark in units.remarks():
        note(remark)


def _not_standalone(start: bytes) -> bytes:
    """The start of a document without `standalone="yes"`, which would forbid our document type."""
    for encoding in ("ascii", "utf-16-le", "utf-16-be"):
        for quote in "'\"":
            claim, instead = (f"standalone={quote}{word}" for word in (f"yes{quote}", f"no{quote} "))
            start = start.replace(claim.encode(encoding), instead.encode(encoding), 1)
    return start


def _without_codes(text: str) -> str:
    """A segment without its inline codes: a space where two words would be glued together, else nothing."""

    def gap(found: re.Match[str]) -> str:
        before, codes, after = found[1], found[2], found[3]
        words = before.isalnum() and after.isalnum() and not _UNSPACED.match(before) and not _UNSPACED.match(after)
        spaced = (_BREAK in codes and before and after) or (_CODE in codes and words)
        return f"{before} " if spaced else before

    return _CODES.sub(gap, text) if "\0" in text else text


class _Units:
    """The XML parser's state between two events, and the pairs that are complete."""

    def __init__(self, path: Path, source_language: str, target_language: str) -> None:
        self.path = path
        self.wanted = (source_language, target_language)
        self.pairs: list[Pair] = []
        self.found = False
        self.languages: dict[str, None] = {}  # an ordered set, for the message
        self.root = ""
        self.unit_line = 0
        self.variants: list[tuple[str, str]] = []  # language and text of the current unit
        self.language = ""
        self.pieces: list[str] | None = None  # the text of the current segment; None outside segments
        self.size = 0
        self.dropped = 0  # depth inside dropped elements
        self.code = ""  # the content of a dropped element
        self.choices: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse_declaration
        parser.SkippedEntityHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._document_type
        parser.UseForeignDTD(True)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        self.parser = parser

    def feed(self, block: bytes) -> None:
        try:
            self.parser.Parse(block, not block)
        except expat.ExpatError as error:
            ended = "the file ends too early (an incomplete download?)"
            problem = f"not well-formed XML: {expat.ErrorString(error.code)}" if block else ended
            raise DataError(f"{self.path}:{error.lineno}: {problem}") from None
        except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
            raise DataError(f"{self.path}:{self.line()}: {error}") from None

    def take(self) -> list[Pair]:
        pairs, self.pairs = self.pairs, []
        return pairs

    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def parsed_bytes(self) -> int:
        return self.parser.CurrentByteIndex

    def check(self) -> None:
        """Refuse a file without a single pair: it is the wrong file, or has other languages."""
        if not self.found:
            has = ", ".join(self.languages) or "no language at all"
            raise DataError(f"{self.path}: no unit in both {' and '.join(self.wanted)}; the TMX has: {has}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self.root:
            self.root = name
            if name != "tmx":
                raise DataError(f"{self.path}:{self.line()}: the first element is <{name}>, not <tmx>")
        if self.pieces is not None:
            if not self.dropped:
                self.code = ""
            self.dropped += self.dropped > 0 or name in _DROPPED
        elif name == "tu":
            self.unit_line = self.line()
            self.variants = []
        elif name == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang", "")
            self.languages.setdefault(self.language)
        elif name == "seg":
            self.pieces, self.size = [], 0

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if self.dropped:
            self.dropped -= 1
            if not self.dropped and self.pieces is not None:
                unpaired = _FORMAT if name in _PAIRED else _CODE
                self.pieces.append(_BREAK if _SPACE.fullmatch(self.code) else unpaired)
        elif name == "seg" and self.pieces is not None:
            self.variants.append((self.language, _without_codes("".join(self.pieces))))
            self.pieces = None
        elif name == "tu":
            source, target = (self._choose(language) for language in self.wanted)
            if source is not None and target is not None:
                self.found = True
                texts = self.variants[source][1], self.variants[target][1]
                self.pairs.append(Pair(*texts, str(self.path), self.unit_line))

    def _choose(self, language: str) -> int | None:
        """The index of the variant that fits a language best."""
        codes = [code for code, _ in self.variants]
        index = best(language, codes)
        if index is not None:
            fitting = tuple(sorted({code for code in codes if match(language, code)}))
            if len(fitting) > 1 and match(language, codes[index]) < match(language, language):
                self.choices[language, codes[index], fitting] += 1
        return index

    def remarks(self) -> Iterator[str]:
        """How often a unit had several variants of a language, one sentence for each choice."""
        for (language, taken, fitting), count in self.choices.items():
            yield (
                f"note: {self.path}: {count:,} units have several variants of {language} ({', '.join(fitting)}): "
                f"{taken} was taken; give the full code to choose another"
            )

    def _text(self, text: str) -> None:
        if self.dropped:
            self.code += text[:64]
        if self.pieces is None or self.dropped:
            return
        self.size += len(text)
        if self.size > MAX_LINE:
            raise DataError(f"{self.path}:{self.unit_line}: a segment of more than {MAX_LINE >> 20} MiB")
        self.pieces.append(text)

    def _document_type(self, context: str | None, *_: object) -> int:
        """Replace any document type by ours, which declares HTML's entities; nothing is fetched."""
        ours = self.parser.ExternalEntityParserCreate(context)
        ours.EntityDeclHandler = None
        ours.Parse(_ENTITIES, True)
        return 1

    def _refuse_declaration(self, name: str, *_: object) -> None:
        raise DataError(
            f"{self.path}:{self.line()}: declares the entity {name!r}; entity declarations are refused, "
            "as they can make a small file expand without end"
        )

    def _refuse_entity(self, name: str, parameter: bool) -> None:
        raise DataError(f"{self.path}:{self.line()}: unknown entity {'%' if parameter else '&'}{name};")
