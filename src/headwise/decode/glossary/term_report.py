"""Reports of terms: how many of a glossary's terms translations have, and the first that they lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwise.decode.glossary.rendering import INFLECTED, MISSING, USED, TermUse

SHOWN = 5
"""Missing terms that are named."""


@dataclass(frozen=True)
class TermReport:
    """What became of the terms of some texts. Reports of parts can be added."""

    used: int = 0
    inflected: int = 0
    missing: int = 0
    first_missing: tuple[tuple[int, str], ...] = ()
    """Numbers of the first texts that lack a term, and the term with what was requested for it."""

    @classmethod
    def of(cls, uses: Iterable[tuple[int, TermUse]]) -> TermReport:
        """The report of terms, each with the number of its text."""
        counts, missing = {USED: 0, INFLECTED: 0, MISSING: 0}, list[tuple[int, str]]()
        for number, use in uses:
            counts[use.status] += 1
            if use.status == MISSING:
                missing.append((number, str(use)))
        return cls(counts[USED], counts[INFLECTED], counts[MISSING], tuple(sorted(missing)[:SHOWN]))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> TermReport:
        """A report that was stored as JSON."""
        missing = tuple((int(number), str(term)) for number, term in table["first_missing"])
        return cls(int(table["used"]), int(table["inflected"]), int(table["missing"]), missing)

    def __add__(self, other: TermReport) -> TermReport:
        missing = tuple(sorted((*self.first_missing, *other.first_missing))[:SHOWN])
        return TermReport(
            self.used + other.used, self.inflected + other.inflected, self.missing + other.missing, missing
        )

    def __str__(self) -> str:
        total = self.used + self.inflected + self.missing
        if not total:
            return "terms: none of the glossary's terms occurs"
        return (
            f"terms: {total:,} found, {self.used:,} rendered as requested, {self.inflected:,} inflected, "
            f"{self.missing:,} missing"
        )

    def named(self, what: str) -> list[str]:
        """One line for each missing term that is named, with the kind and number of its text."""
        lines = [f"missing in {what} {number}: {term}" for number, term in self.first_missing]
        more = self.missing - len(lines)
        return [*lines, f"{more:,} more missing"] if more > 0 else lines
