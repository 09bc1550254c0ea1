"""Cleaning reports: how many pairs of a corpus were kept and dropped, for people and for the model card."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from headwise.data.read.pairs import Pair

EXAMPLES = 3
SHOWN_CHARACTERS = 40

REASONS = {
    "cut": "cut off at the length limit",
    "empty": "with an empty side",
    "control": "with control characters",
    "long": "too long",
    "ratio": "of too different lengths",
    "copy": "copies of the source",
    "duplicate": "duplicates",
    "validation": "with a side that is in the validation data",
    "tokens": "with too many tokens",
}
"""Every reason to drop a pair, in the order in which they apply, and its text in reports."""


@dataclass
class Dropped:
    """The pairs that were dropped for one reason."""

    count: int = 0
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    """File, line and beginning of the text of the first few."""


@dataclass
class CleaningReport:
    """Counts for one corpus: every pair that is read is kept, dropped for one reason, or held out."""

    read: int = 0
    held_out: int = 0
    """Pairs taken out of the training data for validation."""
    dropped: dict[str, Dropped] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        return self.read - self.held_out - sum(each.count for each in self.dropped.values())

    def drop(self, reason: str, pair: Pair) -> None:
        self.drop_all(reason, 1, [pair])

    def drop_all(self, reason: str, count: int, first: Sequence[Pair]) -> None:
        """Count `count` pairs as dropped for one reason; the `first` few serve as examples."""
        if reason not in REASONS:
            raise KeyError(reason)
        dropped = self.dropped.setdefault(reason, Dropped())
        dropped.count += count
        for pair in first[: EXAMPLES - len(dropped.examples)]:
            dropped.examples.append((pair.file, pair.line, _shortened(pair)))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}

    @classmethod
    def from_json(cls, table: dict[str, Any]) -> "CleaningReport":
        dropped = {
            reason: Dropped(each["count"], [(file, line, text) for file, line, text in each["examples"]])
            for reason, each in table["dropped"].items()
        }
        return cls(table["read"], table["held_out"], dropped)

    def __str__(self) -> str:
        text = f"{self.read:,} pairs read, {self.kept:,} kept"
        if self.held_out:
            text += f", {self.held_out:,} held out for validation"
        reasons = []
        for reason, each in self._ordered():
            file, line, example = each.examples[0]
            reasons.append(f"{each.count:,} {REASONS[reason]} (e.g. {file}:{line} {example!r})")
        return f"{text}; dropped: {', '.join(reasons)}" if reasons else text

    def _ordered(self) -> list[tuple[str, Dropped]]:
        return [(reason, self.dropped[reason]) for reason in REASONS if reason in self.dropped]


def total(reports: Iterable[CleaningReport]) -> CleaningReport:
    """The sum of several reports, with the examples of the first."""
    whole = CleaningReport()
    for report in reports:
        whole.read += report.read
        whole.held_out += report.held_out
        for reason, each in report.dropped.items():
            dropped = whole.dropped.setdefault(reason, Dropped())
            dropped.count += each.count
            dropped.examples = (dropped.examples + each.examples)[:EXAMPLES]
    return whole


def _shortened(pair: Pair) -> str:
    """The beginning of the source, or of the target if that is empty; lone surrogates are escaped for printing."""
    text = (pair.source if pair.source.strip() else pair.target).strip()
    if len(text) > SHOWN_CHARACTERS:
        text = text[: SHOWN_CHARACTERS - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
