"""Sentences whose numbers or kept words got lost, changed for another attempt: with stand-ins, or in pieces."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headwise.decode.repair.length_guard import longest_allowed
from headwise.text.numbers import NUMBER, ascii_digits, digit_runs, has_digits

_YEARS = ("2015", "1995", "2012", "1998", "2017", "1993", "2011", "1997", "2016", "1991")
_SMALL = ("25", "40", "15", "60", "18", "35", "70", "24", "45", "80", "16", "55", "28", "90", "65", "75", "36", "48")
"""Numbers that every model knows how to copy, and that take the plural."""

_RUN = re.compile(r"\d+")
_YEAR = re.compile(r"1[1-9]\d\d|20\d\d")
_TOKEN = re.compile(r"\S*\d\S*")
_FINAL_MARKS = ".!?…।"
_NAME = "XYZ"
"""A made-up name, which models copy."""
_NAMED = re.compile(rf"{_NAME}(\d+)")


@dataclass(frozen=True)
class Substituted:
    """A sentence with stand-ins in the place of numbers."""

    text: str
    numbers: dict[str, str]
    """The numbers by their stand-ins."""

    def restore(self, translation: str) -> str | None:
        """The translation with the numbers put back; None if it does not have every stand-in once."""
        plain = ascii_digits(translation)
        if any(digit_runs(plain)[stand_in] != 1 for stand_in in self.numbers):
            return None
        restored, end = "", 0
        for run in _RUN.finditer(plain):
            restored += translation[end : run.start()] + self.numbers.get(run[0], translation[run.start() : run.end()])
            end = run.end()
        return restored + translation[end:]


def substitute(text: str, missing: Collection[str] | None = None) -> Substituted | None:
    """The sentence with stand-ins for its numbers, for those that have a `missing` run only if these are given.

    None if there is nothing to replace, or not enough stand-ins.
    """
    present = digit_runs(text)
    years, small = (iter([each for each in kind if each not in present]) for kind in (_YEARS, _SMALL))
    numbers: dict[str, str] = {}
    result, end = "", 0
    for found in NUMBER.finditer(text):
        number = found[0]
        if missing is not None and not any(run in missing for run in digit_runs(number)):
            continue
        stand_in = next(years if _YEAR.fullmatch(ascii_digits(number)) else small, None)
        if stand_in is None:
            return None
        numbers[stand_in] = number
        result += text[end : found.start()] + stand_in
        end = found.end()
    return Substituted(result + text[end:], numbers) if numbers else None


@dataclass(frozen=True)
class SubstitutedWords:
    """A sentence with made-up names in the place of words that stay as they are."""

    text: str
    words: list[str]
    """The words, by the number in their stand-in, from 1."""

    def restore(self, translation: str) -> str | None:
        """The translation with the words put back; None if it does not have every stand-in once."""
        found = [int(number) for number in _NAMED.findall(translation)]
        if sorted(found) != list(range(1, len(self.words) + 1)):
            return None
        return _NAMED.sub(lambda name: self.words[int(name[1]) - 1], translation)


def substitute_words(text: str, words: Collection[str]) -> SubstitutedWords | None:
    """The sentence with stand-ins for these words of it; None if it has such names of its own."""
    if not words or _NAME in text:
        return None
    replaced: list[str] = []

    def stand_in(found: re.Match[str]) -> str:
        replaced.append(found[0])
        return f"{_NAME}{len(replaced)}"

    return SubstitutedWords(_any_of(words).sub(stand_in, text), replaced)


def _any_of(words: Collection[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


@dataclass(frozen=True)
class PieceOfSentence:
    """A piece of a sentence that is translated alone, or copied."""

    text: str
    copied: bool


def pieces_around(text: str, words: Collection[str] = ()) -> list[PieceOfSentence]:
    """The sentence in pieces: these words and those with digits, which are copied, and what is between them."""
    pieces, end = list[PieceOfSentence](), 0
    copied = re.compile(f"{_any_of(words).pattern}|{_TOKEN.pattern}") if words else _TOKEN
    for token in copied.finditer(text):
        pieces += _piece(text[end : token.start()], copied=False)
        pieces += _piece(token[0], copied=True)
        end = token.end()
    pieces += _piece(text[end:], copied=False)
    return pieces


def _piece(text: str, copied: bool) -> list[PieceOfSentence]:
    bare = text.strip()
    return [PieceOfSentence(bare, copied or not any(c.isalpha() for c in bare))] if bare else []


def join_pieces(pieces: Sequence[PieceOfSentence], translations: Sequence[Sequence[str]]) -> str:
    """The sentence from the candidate translations of the pieces that are not copied."""
    candidates = iter(translations)
    return " ".join(piece.text if piece.copied else _chosen(piece.text, next(candidates)) for piece in pieces)


def _chosen(source: str, candidates: Sequence[str]) -> str:
    """The first candidate that is not too long and has no digits, as its source; without a full stop of its own."""
    longest = longest_allowed(source, 3)
    chosen = next((text for text in candidates if 0 < len(text) <= longest and not has_digits(text)), source)
    return chosen if source[-1] in _FINAL_MARKS else chosen.rstrip(_FINAL_MARKS + " ")
