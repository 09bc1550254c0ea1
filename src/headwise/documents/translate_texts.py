"""Translation of texts with inline markup: markup in its place, placeholders as they were.

A kept part is first shown to the model as it is; most models copy `%s` or a URL. Where it does not come back, a made-up
name stands in for it, which models copy nearly always; and where even that fails, the sentence is translated without
it, and the part is put between the words where it belongs, like a mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headwise.decode.auto_source import AUTO_SOURCE
from headwise.decode.text_parts import TextPart, join_parts
from headwise.decode.translation import TranslateOptions, Translation
from headwise.documents.flat_text import FlatText, flatten, locate
from headwise.documents.foreign_words import keep_foreign
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.marks.spaces import with_spaces
from headwise.documents.placeholders import with_number_spaces, with_placeholders, without_placeholders
from headwise.documents.projection import project
from headwise.text.language.codes import Direction, short_code
from headwise.text.language.detect import detect, is_detectable
from headwise.text.sentences import split

LONGEST_SHOWN = 60
"""Characters of a kept part that the model is shown: it would lose its way in a longer one."""

SURELY_TARGET = 0.999
"""Probability of the target language at which a text is left as it is."""
FEWEST_WORDS = 4
"""Words that a text needs for that: single words are the same in many languages."""

_PROSE = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")


class TextTranslator(Protocol):
    """What translates the texts of a document: a `Translator`, or a server's workers."""

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction for these languages."""
        ...

    def translate(
        self,
        texts: list[str],
        *,
        source: str | None = None,
        target: str | None = None,
        options: TranslateOptions | None = None,
    ) -> list[Translation]:
        """The translation of each text."""
        ...


@dataclass(frozen=True)
class TranslatedText:
    """The translation of one text."""

    text: MarkedText
    found: Translation
    """What the model gave, with its score and what it could not do; marks and kept parts are in `text` alone."""
    is_copy: bool = False
    """Whether the text was left as it is: nothing to translate, or in the target language already."""


@dataclass(frozen=True)
class Languages:
    """The source and target language of a translation, as given."""

    source: str | None = None
    target: str | None = None


@dataclass
class _Task:
    """A text on its way through the attempts."""

    text: MarkedText
    flat: FlatText = field(default_factory=lambda: FlatText(""))
    done: TranslatedText | None = None


def translate_texts(
    translator: TextTranslator,
    texts: Iterable[MarkedText],
    languages: Languages = Languages(),  # noqa: B008  # a frozen value
    options: TranslateOptions | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[TranslatedText]:
    """Translate texts with markup; each result has every mark and kept part of its text once, rightly nested.

    `progress` receives the number of texts that are finished.
    """
    chosen = replace(options or TranslateOptions(), candidates=1)
    given = list(texts)
    sources = _source_languages(translator, languages)
    tasks = [_Task(without_placeholders(keep_foreign(text, sources))) for text in given]
    for task, text, is_target in zip(tasks, given, _in_target(translator, tasks, languages), strict=True):
        if is_target or not task.text.has_letters:
            task.done = TranslatedText(text, Translation(text.text, 0.0), is_copy=True)
    for attempt in (_as_it_is, _stand_in, None):
        waiting = [task for task in tasks if task.done is None]
        for task in waiting:
            task.flat = flatten(task.text, attempt) if attempt else flatten(_without_kept(task.text), _as_it_is)
        _translate(translator, waiting, languages, chosen)
        if progress is not None:
            progress(sum(task.done is not None for task in tasks))
    return [task.done for task in tasks if task.done is not None]


def _source_languages(translator: TextTranslator, languages: Languages) -> set[str]:
    """The language of the texts, or those that it is detected among; none if they are not known."""
    source = translator.direction(languages.source, languages.target)[0]
    if source and source != AUTO_SOURCE:
        return {short_code(source)}
    return {short_code(known) for known, _ in getattr(translator, "directions", ()) if known}


def _as_it_is(number: int, kept: Kept) -> str:
    """A kept part as the model sees it: itself, or a stand-in where the model might translate it."""
    if _PROSE.fullmatch(kept.text) or len(kept.text) > LONGEST_SHOWN or not kept.text.strip() or "<" in kept.text:
        return _stand_in(number, kept)
    return kept.text


def _stand_in(number: int, kept: Kept) -> str:
    """The stand-in for a kept part: a made-up name, which models copy."""
    return f"XYZ{number + 1}"


def _translate(
    translator: TextTranslator, tasks: Sequence[_Task], languages: Languages, options: TranslateOptions
) -> None:
    """Translate the flat texts of tasks, and finish those whose kept parts are all there."""
    for aligned in (False, True):  # alignments take another pass over a translation: only for those that need it
        group = [task for task in tasks if bool(task.flat.marks) == aligned]
        strings = list(dict.fromkeys(task.flat.text for task in group))  # documents repeat themselves
        if not strings:
            continue
        found = _by_sentence(translator, strings, languages, replace(options, alignments=aligned))
        by_string = dict(zip(strings, found, strict=True))
        source, target = translator.direction(languages.source, languages.target)
        for task in group:
            _finish(task, by_string[task.flat.text], (short_code(source or ""), short_code(target or "")))


def _by_sentence(
    translator: TextTranslator, strings: Sequence[str], languages: Languages, options: TranslateOptions
) -> list[Translation]:
    """Translate strings sentence by sentence: of two together, models may leave one out. Numbers alone are copied."""
    parts = [[TextPart(*piece, []) for piece in split(string) if piece.text.strip()] for string in strings]
    sentences = list(dict.fromkeys(part.text for each in parts for part in each if _has_letters(part.text)))
    found = translator.translate(sentences, source=languages.source, target=languages.target, options=options)
    known = dict(zip(sentences, found, strict=True))
    return [join_parts(each, [[known.get(part.text) or _copied(part.text)] for part in each]) for each in parts]


def _has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _copied(text: str) -> Translation:
    return Translation(text, 0.0, alignment=[(word, word) for word in range(len(text.split()))])


def _finish(task: _Task, found: Translation, languages: tuple[str, str]) -> None:
    spans = locate(found.text, task.flat)
    if spans is None:
        return
    string = task.flat.text
    leading = string[: len(string) - len(string.lstrip())]
    trailing = string[len(string.rstrip()) :] if string.strip() else ""
    moved = tuple(replace(span, start=span.start + len(leading), end=span.end + len(leading)) for span in spans)
    target = FlatText(leading + found.text + trailing, spans=moved)
    projected = with_spaces(project(task.flat, target, found.alignment, languages), task.flat)
    projected = with_number_spaces(_with_kept(projected), task.text)
    task.done = TranslatedText(with_placeholders(projected), found)


@dataclass(frozen=True)
class _Dropped:
    """Markup of a mark that holds the place of a kept part, with the spaces around it that went with it."""

    before: str
    kept: Kept
    after: str


def _without_kept(text: MarkedText) -> MarkedText:
    """The text with its kept parts as single marks. Each takes the spaces before it, or else those after it."""
    number = max((mark.number for mark in text.marks), default=-1) + 1
    parts: list[Part] = []
    spaces = ""
    for place, part in enumerate(text.parts):
        if not isinstance(part, Kept):
            parts.append(part[len(spaces) :] if isinstance(part, str) else part)
            spaces = ""
            continue
        last = parts[-1] if parts else None
        following = text.parts[place + 1] if place + 1 < len(text.parts) else None
        before = last[len(last.rstrip(" ")) :] if isinstance(last, str) else ""
        if before and isinstance(last, str):
            parts[-1] = last.rstrip(" ")
        elif isinstance(following, str):
            spaces = following[: len(following) - len(following.lstrip(" "))]
        parts.append(Mark(MarkKind.SINGLE, number + place, _Dropped(before, part, spaces)))
    return MarkedText(parts)


def _with_kept(text: MarkedText) -> MarkedText:
    """The text with kept parts in the place of the marks for them."""
    parts: list[Part] = []
    for part in text.parts:
        if isinstance(part, Mark) and isinstance(part.markup, _Dropped):
            parts += [part.markup.before, part.markup.kept, part.markup.after]
        else:
            parts.append(part)
    return MarkedText(parts)


def _in_target(translator: TextTranslator, tasks: Sequence[_Task], languages: Languages) -> list[bool]:
    """Which texts are surely in the target language already: they stay as they are. Placeholders have no say in it."""
    source, target = translator.direction(languages.source, languages.target)
    codes = [source, target]
    if short_code(source) == short_code(target) or not all(code and is_detectable(code) for code in codes):
        return [False] * len(tasks)
    strings = ["".join(part if isinstance(part, str) else _gap(part) for part in task.text.parts) for task in tasks]
    long = {number: string for number, string in enumerate(strings) if len(string.split()) >= FEWEST_WORDS}
    found = dict(zip(long, detect(list(long.values()), languages=codes), strict=True))
    return [
        number in found and found[number].language == target and found[number].probability >= SURELY_TARGET
        for number in range(len(tasks))
    ]


def _gap(part: Mark | Kept) -> str:
    return " " if isinstance(part, Kept) or part.separates else ""
