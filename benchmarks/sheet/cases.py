"""Cases of the test sheet: what a translator is given, and what counts as right.

`phrases.tsv` has phrases with all translations that are accepted, `properties.tsv` texts with properties that any
translation must have. Columns, separated by tabs, in both: category, from, to, source, accepted, checks. In a source,
`\\n` is a line break and `@FILE` the text of a file in this folder. The source language `auto` leaves it to detection.

`accepted` is a pattern: `|` separates alternatives, parentheses group, and an alternative may be empty, so that
`(the |a |)dog` stands for "the dog", "a dog" and "dog". A translation is accepted if, once both are normalised, it is
one of the strings that the pattern stands for. `normalise` says what is not compared: case, spaces, punctuation.

`checks` are the checks of checks.py, separated by ` ; `.
"""

import csv
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sheet.checks import CHECKS

FOLDER = Path(__file__).parent
COLUMNS = ["category", "from", "to", "source", "accepted", "checks"]

APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
WITHIN_A_NUMBER = re.compile(r"(?<=\d)\s?[.,:](?=\d)")
IGNORED = re.compile(r"[\s\-–—/.,;:!?¡¿…।॥\"“”„«»‹›()\[\]*\u200b-\u200d\ufe0f]")


def normalise(text: str) -> str:
    """A text without what a phrase is not graded on.

    Left out are case, white space, hyphens, and punctuation except within numbers; digits are ASCII, `10,5` is `10.5`,
    apostrophes are of one kind, `œ` is `oe`. In Hindi the nukta is left out, and chandrabindu is anusvara, as both are
    often written so.
    """
    text = unicodedata.normalize("NFC", text).translate(APOSTROPHES).casefold()
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    text = unicodedata.normalize("NFD", text).replace("\u093c", "").replace("\u0901", "\u0902")
    text = unicodedata.normalize("NFC", text).replace("œ", "oe")
    return IGNORED.sub("", WITHIN_A_NUMBER.sub("·", text))


def expression(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern of `accepted`, for normalised texts."""
    parts = [part if part in ("(", ")", "|") else re.escape(normalise(part)) for part in re.split(r"([()|])", pattern)]
    return re.compile("".join("(?:" if part == "(" else part for part in parts))


@dataclass(frozen=True)
class Case:
    """One text to translate, with what counts as right."""

    category: str
    source_language: str
    target_language: str
    source: str
    accepted: str
    checks: tuple[str, ...]
    place: str
    """File and line, for messages."""

    @property
    def direction(self) -> str:
        return f"{self.source_language}-{self.target_language}"

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return expression(self.accepted)

    def faults(self, translation: str) -> list[str]:
        """What is wrong with a translation; nothing if it passes."""
        found = ["not among the accepted translations"] if self._is_refused(translation) else []
        for check in self.checks:
            name, _, value = check.partition(":")
            if not CHECKS[name](self.source, translation, self.target_language, value):
                found.append(check)
        return found

    def _is_refused(self, translation: str) -> bool:
        return bool(self.accepted) and not self.expression.fullmatch(normalise(translation))


def read_cases(folder: Path = FOLDER) -> list[Case]:
    """All cases of the sheet, in the order of the files."""
    return [case for name in ("phrases.tsv", "properties.tsv") for case in _read(folder / name)]


def _read(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if next(rows) != COLUMNS:
            raise ValueError(f"{path}: the columns must be {', '.join(COLUMNS)}")
        for line, (category, source, target, text, accepted, checks) in enumerate(rows, 2):
            if text.startswith("@"):
                text = (path.parent / text[1:]).read_text(encoding="utf-8").strip()
            listed = tuple(check.strip() for check in checks.split(" ; ") if check.strip())
            place = f"{path.name}:{line}"
            if unknown := [check for check in listed if check.partition(":")[0] not in CHECKS]:
                raise ValueError(f"{place}: there is no check {unknown[0]!r}")
            yield Case(category, source, target, text.replace("\\n", "\n"), accepted, listed, place)
