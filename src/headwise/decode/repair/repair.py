"""Repair of translations that lost numbers or kept words, run in circles or are far too long.

Translations are checked in a few microseconds each; only those with a fault are translated again. Every engine can do
what this takes: wider searches, and searches of other texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headwise.decode.repair.kept_words import lost_words
from headwise.decode.repair.length_guard import (
    SHORTEST_LIMIT,
    cut_to,
    has_loop,
    longest_allowed,
    longest_ratio,
    without_loops,
)
from headwise.decode.repair.second_search import Candidates, SecondSearch
from headwise.decode.repair.stand_ins import (
    Substituted,
    SubstitutedWords,
    join_pieces,
    pieces_around,
    substitute,
    substitute_words,
)
from headwise.decode.text_parts import TextPart
from headwise.decode.translation import Translation
from headwise.text.normalise import well_formed
from headwise.text.numbers import has_digits, lost_afternoons, missing_runs, same_runs, surplus_runs, with_24_hours

BROKEN = "\ufffd"
"""What stands for bytes of a model that are no character."""


@dataclass(frozen=True)
class SourceSentence:
    """A sentence that was translated."""

    text: str
    begins: bool
    """Whether it is the first of its text."""
    kept: list[str] = field(default_factory=list)
    """Words that its translation must have as they are."""

    def longest(self, second: SecondSearch) -> int:
        """The most characters that its translation may have."""
        prefix = len(second.prefix) if self.begins else 0
        return longest_allowed(self.text, longest_ratio(second.direction[0])) + prefix


class Fault(NamedTuple):
    """What is wrong with a translation; smaller is better."""

    missing: int
    """Runs of digits of the source that the translation does not have."""
    lost: int
    """Kept words of the source that the translation does not have."""
    babble: bool
    """It repeats itself, is too long, has broken characters, or is anything but a copy of mere punctuation."""
    surplus: int
    """Runs of digits that the source does not have."""
    hours: int = 0
    """Times after noon that seem to be before it."""


def find_fault(sentence: SourceSentence, found: Translation, second: SecondSearch) -> Fault:
    """The fault of a translation; all its parts are false if there is none."""
    source, text = sentence.text, found.text
    babble = (
        len(text) > sentence.longest(second)
        or has_loop(source, text, found.tokens)
        or (BROKEN in text and BROKEN not in well_formed(source))
        or (text != source and not second.prefix and is_punctuation(source) and text.split() != source.split())
    )
    lost = len(lost_words(sentence.kept, text))
    if not has_digits(source):
        return Fault(0, lost, babble, 0)
    language = second.direction[1]
    hours = lost_afternoons(source, text, language)
    if same_runs(source, text):
        return Fault(0, lost, babble, 0, hours)
    return Fault(len(missing_runs(source, text, language)), lost, babble, len(surplus_runs(source, text)), hours)


def is_punctuation(text: str) -> bool:
    """Whether a text has neither letters nor digits."""
    return not any(character.isalnum() for character in text)


def repair_texts(
    texts: Sequence[Sequence[TextPart]], lengths: Sequence[int], found: list[Candidates], second: SecondSearch
) -> list[Candidates]:
    """The candidates of the parts of all texts, one after the other, repaired.

    `lengths` are those of the texts as they were given, in characters: a readable form may be longer.
    """
    sentences = [
        SourceSentence(part.text, place == 0, second.kept(part.text))
        for parts in texts
        for place, part in enumerate(parts)
    ]
    repaired = iter(repair(sentences, found, second))
    return [
        each
        for parts, length in zip(texts, lengths, strict=True)
        for each in _shorten_parts(parts, length, [next(repaired) for _ in parts], second)
    ]


def repair(sentences: Sequence[SourceSentence], found: list[Candidates], second: SecondSearch) -> list[Candidates]:
    """The candidates of each sentence, with a better first one where the first has a fault.

    The candidates of a second, wider search are tried first; then, for lost words and missing numbers, stand-ins in
    their place; then the pieces around them; then other hours. Where the first search ran into its limit, so would the
    others, and only stand-ins for words and the pieces are tried. Numbers that are missing all the same are named in
    the result. In the end, loops and broken characters are removed, and what is too long is cut.
    """
    faults = {
        place: fault
        for place, (sentence, candidates) in enumerate(zip(sentences, found, strict=True))
        if any(fault := find_fault(sentence, candidates[0], second))
    }
    if not faults:
        return found
    result = list(found)
    for attempt in (_wider, _words_replaced, _missing_replaced, _all_replaced, _in_pieces, _copied, _hours_corrected):
        places = [
            place for place, fault in faults.items() if _is_due(attempt, fault, sentences[place], found[place][0])
        ]
        if not places:
            continue
        tried = attempt([(sentences[place], result[place][0]) for place in places], second)
        for place, options in zip(places, tried, strict=True):
            for option in options:
                if (fault := find_fault(sentences[place], option, second)) < faults[place]:
                    faults[place], result[place] = fault, _put_first(option, result[place])
    for place in faults:
        best, *others = result[place]
        best = _shortened(sentences[place], best, second)
        missing = missing_runs(sentences[place].text, best.text, second.direction[1])
        result[place] = [replace(best, missing_numbers=tuple(missing)), *others]
    return result


def _is_due(attempt: Attempt, fault: Fault, sentence: SourceSentence, first: Translation) -> bool:
    """Whether an attempt is made at a sentence that still has this fault."""
    has_letters = any(character.isalpha() for character in sentence.text)
    if attempt is _wider:
        return any(fault[:-1]) and first.complete and has_letters  # hours need no search
    if attempt is _words_replaced:
        return fault.lost > 0
    if attempt is _hours_corrected:
        return fault.hours > 0
    if attempt is _in_pieces and fault.lost:
        return True
    if (has_letters and not has_digits(sentence.text)) or not (fault.missing or fault.babble):
        return False
    return (first.complete and has_letters) or attempt in (_in_pieces, _copied)  # what is cut could lose digits


def _shorten_parts(
    parts: Sequence[TextPart], length: int, found: list[Candidates], second: SecondSearch
) -> list[Candidates]:
    """The candidates of the parts of one text, cut where all together would be far longer than the text.

    Each short part may be longer than three times its source, but not hundreds of them one after the other.
    """
    if not parts:
        return found
    ratio, room = longest_ratio(second.direction[0]), len(second.prefix)
    share = min(1.0, length / sum(len(part.text) for part in parts))  # of the readable form that counts
    limits = [int(ratio * share * len(part.text)) + (0 if place else room) for place, part in enumerate(parts)]
    if len(parts) == 1:
        limits = [max(limits[0], SHORTEST_LIMIT + room)]
    if sum(len(each[0].text) for each in found) <= sum(limits):
        return found
    return [
        [_cut_part(part.text, best, limit, second), *others]
        for part, limit, (best, *others) in zip(parts, limits, found, strict=True)
    ]


def _cut_part(source: str, best: Translation, limit: int, second: SecondSearch) -> Translation:
    """A translation cut to a limit; the source itself, where numbers would be lost."""
    cut = _cut(best, limit, second)
    if cut is best or not missing_runs(source, cut.text, second.direction[1]):
        return cut
    return replace(_rewritten(source, source, best, second), complete=False)


# --- attempts ----------------------------------------------------------------------------------------------

Faulty = list[tuple[SourceSentence, Translation]]
"""Sentences, and their translations so far."""
AnySubstituted = Substituted | SubstitutedWords | None
Attempt = Callable[[Faulty, SecondSearch], list[Candidates]]


def _wider(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """All candidates of a wider search."""
    return second.search([sentence.text for sentence, _ in faulty], [sentence.begins for sentence, _ in faulty])


def _words_replaced(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """Translations with stand-ins for the kept words; the sentence itself, where it has no others."""
    changed = [substitute_words(sentence.text, sentence.kept) for sentence, _ in faulty]
    result = _replaced(faulty, changed, second)
    for place, (sentence, found) in enumerate(faulty):
        rest = _rest(sentence)
        if not second.prefix and not any(character.isalpha() for character in rest):
            result[place] = [_rewritten(sentence.text, sentence.text.strip(), found, second)]
    return result


def _rest(sentence: SourceSentence) -> str:
    """A sentence without its kept words."""
    return "".join(piece.text for piece in pieces_around(sentence.text, sentence.kept) if not piece.copied)


def _hours_corrected(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """The translations, with hours up to 24."""
    return [
        [_rewritten(sentence.text, with_24_hours(sentence.text, found.text), found, second)]
        for sentence, found in faulty
    ]


def _missing_replaced(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """Translations with stand-ins for the numbers that are missing."""
    missing = [missing_runs(sentence.text, found.text, second.direction[1]) for sentence, found in faulty]
    changed = [substitute(sentence.text, runs) for (sentence, _), runs in zip(faulty, missing, strict=True)]
    return _replaced(faulty, changed, second)


def _all_replaced(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """Translations with stand-ins for all numbers."""
    return _replaced(faulty, [substitute(sentence.text) for sentence, _ in faulty], second)


def _replaced(faulty: Faulty, changed: Sequence[AnySubstituted], second: SecondSearch) -> list[Candidates]:
    given = [(each.text, sentence.begins) for each, (sentence, _) in zip(changed, faulty, strict=True) if each]
    found = iter(second.search([text for text, _ in given], [begins for _, begins in given]))
    result: list[Candidates] = []
    for substituted, (sentence, _) in zip(changed, faulty, strict=True):
        pairs = [(substituted.restore(each.text), each) for each in next(found)] if substituted else []
        restored = [(text, each) for text, each in pairs if text is not None][:1]
        result.append([_rewritten(sentence.text, text, each, second) for text, each in restored])
    return result


def _in_pieces(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """The pieces between the words with digits, translated one by one, and these words copied: the last resort."""
    cut = [
        [] if sentence.begins and second.prefix else pieces_around(sentence.text, sentence.kept)
        for sentence, _ in faulty
    ]
    wanted = [piece.text for pieces in cut for piece in pieces if not piece.copied]
    found = iter(second.search(wanted, [False] * len(wanted)))
    result: list[Candidates] = []
    for (sentence, _), pieces in zip(faulty, cut, strict=True):
        candidates = [next(found) for piece in pieces if not piece.copied]
        text = join_pieces(pieces, [[each.text for each in some] for some in candidates])
        score = sum(some[0].score for some in candidates if some) / max(1, len(candidates))
        result.append([_rewritten(sentence.text, text, Translation(text, score), second)] if pieces else [])
    return result


def _copied(faulty: Faulty, second: SecondSearch) -> list[Candidates]:
    """The sentence itself, where cutting its translation would lose digits: something that cannot be translated."""
    return [
        [] if second.prefix else [replace(_rewritten(sentence.text, sentence.text, found, second), complete=False)]
        for sentence, found in faulty
    ]


# --- results -----------------------------------------------------------------------------------------------


def _put_first(option: Translation, candidates: Candidates) -> Candidates:
    """As many candidates as before, with this one first."""
    others = [each for each in candidates if each.text != option.text]
    return [option, *others][: len(candidates)]


def _shortened(sentence: SourceSentence, found: Translation, second: SecondSearch) -> Translation:
    """A translation without loops and broken characters, and not too long."""
    if BROKEN in found.text and BROKEN not in well_formed(sentence.text):
        found = _rewritten(sentence.text, " ".join(found.text.replace(BROKEN, "").split()), found, second)
    if has_loop(sentence.text, found.text, found.tokens):
        found = _rewritten(sentence.text, without_loops(found.text), found, second)
    return _cut(found, sentence.longest(second), second)


def _cut(found: Translation, limit: int, second: SecondSearch) -> Translation:
    text = cut_to(found.text, limit)
    if text == found.text:
        return found
    words = len(text.split())
    alignment = [(source, target) for source, target in found.alignment if target < words]
    return replace(found, text=text, tokens=second.pieces(text), alignment=alignment, complete=False)


def _rewritten(source: str, text: str, found: Translation, second: SecondSearch) -> Translation:
    return replace(found, text=text, tokens=second.pieces(text), alignment=second.align(source, text))
