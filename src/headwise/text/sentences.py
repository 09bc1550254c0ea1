"""Sentence splitting: long texts are split at sentence ends, and sentences that are too long are cut.

Nothing is dropped: each piece keeps the white space or divider that follows it, so that `join` gives the text back and
translations can be put between the separators of the original.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from headwise.errors import ConfigError


class Piece(NamedTuple):
    """Text to translate, and the white space, if any, between it and the next piece, perhaps with a divider such as |.

    The first piece has an empty text if the whole text begins with white space.
    """

    text: str
    separator: str = ""


_SPACED_ENDS = ".!?…।॥؟۔"  # end a sentence where white space follows
_UNSPACED_ENDS = "。！？｡"  # end one anywhere
_CLOSERS = "\"'”’“»«›‹)]}」』）】〉》〕］｝"  # stay with the sentence they close; “ and « close in German and Danish
_SPACED_CLOSERS = re.compile(r"[”’»›)\]}]+(?!\S)")  # close a sentence after a space too, as in French: « Bonjour. »
_OPENERS = "\"'“”„‘‚«»‹›([{「『（【〈《〔［｛¿¡-–—"

_PARTS = re.compile(r"\s+|\S+")
DIVIDER = re.compile(  # Home | About us | Contact; columns of a table
    r"(?:[ \t\u00a0]+[|¦‖•·]+)+[ \t\u00a0]+(?=\S)|[ \u00a0]*\t[ \t\u00a0]*(?=\S)|[ \u00a0]{4,}(?=\S)"
)
_SPACES = re.compile(r"(\s+)")
LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSPACED_END = re.compile(rf"[{_UNSPACED_ENDS}][{_UNSPACED_ENDS}!?…]*[{re.escape(_CLOSERS)}]*")
_CLAUSE_ENDS = ",;:،؛、，；：—–" + _SPACED_ENDS + _UNSPACED_ENDS
_UNSPACED_CLAUSE_END = re.compile(rf"[、，；：{_UNSPACED_ENDS}]+[{re.escape(_CLOSERS)}]*")
_TIMES = re.compile(r"[ap]\.m", re.IGNORECASE)
_AFTER_TIMES = re.compile(r"[A-Z]{2,4}\b|Mon|Tue|Wed|Thu|Fri|Sat|Sun")  # 5 p.m. EST, 5 p.m. Monday
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")  # z.B, e.g, U.S

# Abbreviations whose full stop rarely ends a sentence, as a name or the rest of a phrase follows ...
_TITLES = re.compile(
    "mr|mrs|ms|messrs|dr|drs|prof|st|ste|sr|jr|gen|col|capt|cpt|lt|sgt|maj|cmdr|rev|hon|gov|sen|rep|pres|supt"
    "|vs|cf|viz|approx|dept|univ|mt"
    "|hr|hrn|fr|frl|dipl|ing|bzw|bzgl|ca|evtl|ggf|inkl|exkl|sog|vgl|zzgl|geb|gest|röm"
    "|mme|mmes|mlle|mgr|sra|srta|sres|dra|dña|ud|uds|excmo|sig|sigg|dott|avv"
    "|г|ул|им|проф|акад|гр|тов",
    re.IGNORECASE,
)
# ... and abbreviations whose full stop does not end a sentence if a number follows.
_NUMBERED = re.compile(
    "no|nos|nr|núm|nº|vol|vols|fig|figs|eq|sec|ch|chap|p|pp|pg|art|abs|bd|kap|s|z|ziff|abb|tab|tel"
    "|pág|págs|cap|lám|pag|стр|рис|табл|гл|п|с|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|okt|nov|dec|dez",
    re.IGNORECASE,
)


def split(text: str) -> list[Piece]:
    """Split a text into sentences. A line break ends one too: it is part of the text's structure."""
    return list(_split(text))


def join(pieces: Iterable[Piece]) -> str:
    """Join pieces to the text that they were split from."""
    return "".join(text + separator for text, separator in pieces)


def cut(sentence: Piece, length_of: Callable[[str], int], limit: int) -> list[Piece]:
    """Cut a sentence into pieces of at most `limit`, as `length_of` measures them; `join` gives the sentence back.

    A sentence beyond the limit is cut at commas and similar marks, else at spaces, else between characters. A piece
    exceeds the limit only if it is a single character.
    """
    if limit < 1:
        raise ConfigError(f"the limit of a piece must be at least 1 token, not {limit}")
    return _cut(sentence, lambda text: length_of(text) <= limit, _CUTS)


def _split(text: str) -> Iterator[Piece]:
    """Walk over words and the spaces between them; `start` is where the current sentence begins."""
    start = 0
    word = last = ""  # `last`: the word before, if it is of the same sentence
    for part in _PARTS.finditer(text):
        if part.start() < start:
            continue  # in a divider
        if not part.group().isspace():
            for end in _UNSPACED_END.finditer(text, part.start(), part.end()):
                if end.end() < part.end():  # else the space after the word decides
                    yield Piece(text[start : end.end()])
                    start = end.end()
            if start > part.start():
                word = text[start : part.end()]
            else:
                word = (last if _SPACED_CLOSERS.fullmatch(part.group()) else "") + part.group()
            last = word
        elif word and (divider := DIVIDER.match(text, part.start())):
            yield Piece(text[start : part.start()], divider.group())
            start, last = divider.end(), ""
        else:
            after = text[part.end() : part.end() + 1]
            if not after or not word or LINE_BREAK.search(part.group()) or _ends_sentence(word, text, part.end()):
                yield Piece(text[start : part.start()], part.group())
                start, last = part.end(), ""
    if start < len(text):
        yield Piece(text[start:])


def _ends_sentence(word: str, text: str, following: int) -> bool:
    """Whether a sentence ends after `word`; the next word begins at `following`."""
    bare = word.rstrip(_CLOSERS)
    if not bare or bare[-1] not in _SPACED_ENDS + _UNSPACED_ENDS or _SPACED_CLOSERS.match(text, following):
        return False
    if bare[-1] in _UNSPACED_ENDS:
        return True
    closed = len(bare) < len(word)
    following_letter = text[following : following + 3].lstrip(_OPENERS)[:1]
    # "Really?" he asked; well... maybe; approx. half. But a bare ! or ? ends even a text without capitals.
    if following_letter.islower() and (closed or bare[-1] in ".…"):
        return False
    stem = bare[:-1].lstrip(_OPENERS)
    if bare[-1] != "." or closed or not stem or stem[-1] in _SPACED_ENDS:
        return True
    if _TIMES.fullmatch(stem):
        return not _AFTER_TIMES.match(text, following)
    return not _is_abbreviation(stem, following_letter)


def _is_abbreviation(stem: str, following: str) -> bool:
    """Whether the full stop after `stem` belongs to the word. In doubt it does: a missed end costs less."""
    stem = stem.rsplit("-", 1)[-1]
    if len(stem) == 1 and stem.isupper():
        return True
    if stem.isdecimal():  # 3. Mai, but not 1999. Then
        return len(stem) <= 2
    if _INITIALS.fullmatch(stem) or _TITLES.fullmatch(stem):
        return True
    return following.isdecimal() and _NUMBERED.fullmatch(stem) is not None


def _fill(pieces: list[Piece], fits: Callable[[str], bool]) -> list[Piece]:
    """Merge neighbours greedily into groups that fit; the last separator of a group becomes the group's own."""
    groups: list[Piece] = []
    start = 0
    while start < len(pieces):
        end, stride = start + 1, 1
        while stride:  # strides double and halve: a long word is cut in few calls, and each end was tried
            if end + stride <= len(pieces) and fits(_merged(pieces[start : end + stride]).text):
                end, stride = end + stride, stride * 2
            else:
                stride //= 2
        groups.append(_merged(pieces[start:end]))
        start = end
    return groups


def _merged(pieces: list[Piece]) -> Piece:
    return Piece(join(pieces[:-1]) + pieces[-1].text, pieces[-1].separator)


def _cut(piece: Piece, fits: Callable[[str], bool], cuts: list[Callable[[str], list[Piece]]]) -> list[Piece]:
    """Cut a sentence into parts that fit: with the first of `cuts` where that is enough, else with the next ones."""
    if not cuts or fits(piece.text):
        return [piece]
    parts: list[Piece] = []
    run: list[Piece] = []
    for part in cuts[0](piece.text):
        if fits(part.text):
            run.append(part)
        else:
            parts += [*_fill(run, fits), *_cut(part, fits, cuts[1:])]
            run = []
    parts += _fill(run, fits)
    if not parts:
        return [piece]
    return [*parts[:-1], Piece(parts[-1].text, parts[-1].separator + piece.separator)]


def _words(text: str) -> list[Piece]:
    chunks = [*_SPACES.split(text), ""]  # word, space, word, space, ..., word, ""
    pairs = zip(chunks[::2], chunks[1::2], strict=True)
    return [Piece(word, space) for word, space in pairs if word or space]


def _clauses(text: str) -> list[Piece]:
    """The clauses of a text: it is cut after marks that white space or, in scripts without spaces, anything follows."""
    clauses: list[Piece] = []
    run: list[Piece] = []
    for word, space in _words(text):
        begin = 0
        for mark in _UNSPACED_CLAUSE_END.finditer(word):
            if mark.end() < len(word):
                clauses.append(_merged([*run, Piece(word[begin : mark.end()])]))
                run, begin = [], mark.end()
        run.append(Piece(word[begin:], space))
        if word.rstrip(_CLOSERS).endswith(tuple(_CLAUSE_ENDS)):
            clauses.append(_merged(run))
            run = []
    return [*clauses, _merged(run)] if run else clauses


def _characters(text: str) -> list[Piece]:
    return [Piece(character) for character in text]


_CUTS: list[Callable[[str], list[Piece]]] = [_clauses, _words, _characters]
