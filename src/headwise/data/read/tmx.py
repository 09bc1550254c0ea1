"""Translation memories (TMX 1.4), streamed: a unit is forgotten once its pair is made."""

from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path
from xml.parsers import expat

from headwise.data.read.files import MAX_LINE, open_bytes, reading
from headwise.data.read.languages import best
from headwise.data.read.pair import Pair
from headwise.errors import DataError

BLOCK = 1 << 16

_DROPPED = frozenset({"bpt", "ept", "ph", "it", "ut", "sub"})
"""Elements inside a segment whose content is mark-up of the original document, not text."""

_ENTITIES = "".join(
    f'<!ENTITY {name} "&#{code};">' for name, code in name2codepoint.items() if name not in {"amp", "lt"}
).encode("ascii")
"""The stand-in for every document type: tools write `&nbsp;` and its like without declaring them."""


def read_tmx(path: Path, source_language: str, target_language: str) -> Iterator[Pair]:
    """The pairs of all units that have both languages; `en` finds `en-US` too where there is no `en`."""
    if not source_language or not target_language:
        raise DataError(f"{path}: a TMX holds several languages: say which (--from and --to)")
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


def _not_standalone(start: bytes) -> bytes:
    """The start of a document without a claim to be standalone, which would forbid our document type."""
    for encoding in ("ascii", "utf-16-le", "utf-16-be"):
        for quote in "'\"":
            claim, instead = (f"standalone={quote}{word}" for word in (f"yes{quote}", f"no{quote} "))
            start = start.replace(claim.encode(encoding), instead.encode(encoding), 1)
    return start


class _Units:
    """The state of the parser between two events, and the pairs that are complete."""

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
            problem = expat.ErrorString(error.code)
            raise DataError(f"{self.path}:{error.lineno}: not well-formed XML: {problem}") from None
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
        """A file without a single pair is the wrong file, or the recipe names other languages than it has."""
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
        elif name == "seg" and self.pieces is not None:
            self.variants.append((self.language, "".join(self.pieces)))
            self.pieces = None
        elif name == "tu":
            codes = [language for language, _ in self.variants]
            source, target = (best(language, codes) for language in self.wanted)
            if source is not None and target is not None:
                self.found = True
                texts = self.variants[source][1], self.variants[target][1]
                self.pairs.append(Pair(*texts, str(self.path), self.unit_line))

    def _text(self, text: str) -> None:
        if self.pieces is None or self.dropped:
            return
        self.size += len(text)
        if self.size > MAX_LINE:
            raise DataError(f"{self.path}:{self.unit_line}: a segment of more than {MAX_LINE >> 20} MiB")
        self.pieces.append(text)

    def _document_type(self, context: str | None, *_: object) -> int:
        """Whatever document type is named, nothing is fetched: ours, with HTML's entities, is used."""
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
