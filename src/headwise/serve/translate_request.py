"""A request for translation and its results, in the terms of no API in particular."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from headwise.decode.auto_source import AUTO_SOURCE
from headwise.decode.translation import Translation
from headwise.documents.markup.element_roles import ElementRoles
from headwise.text.language.detect import Detection

AUTO: str = AUTO_SOURCE


@dataclass(frozen=True)
class RequestOptions:
    """Options of a translation request; None: as the settings say."""

    format: Literal["text", "html", "xml"] = "text"
    elements: ElementRoles = field(default_factory=ElementRoles)
    """Elements of the markup that are not translated, or that end a paragraph, beside the usual ones."""
    columns: tuple[str, ...] = ()
    """Columns of a table that are translated, by heading or number."""
    alternatives: int = 0
    beam: int | None = None
    alignments: bool = False
    pivot: bool | None = None
    model: str | None = None
    """The name of a model; without one, the first that has the direction translates."""

    length_penalty: float | None = None
    no_repeat: int = 0
    glossary: tuple[tuple[str, str], ...] = ()
    """Terms and their requested translations."""
    prefix: str = ""
    """What the translation of the first sentence begins with."""
    sentences: bool = False
    """Whether the sentences are wanted one by one, too."""

    def search(self, beam: int) -> str:
        """The search options as the workers take them; `beam` is the default width."""
        chosen: dict[str, object] = {"beam": self.beam or beam, "candidates": 1 + self.alternatives}
        if self.alignments:
            chosen["alignments"] = True
        if self.length_penalty is not None:
            chosen["length_penalty"] = self.length_penalty
        if self.no_repeat:
            chosen["no_repeat"] = self.no_repeat
        if self.glossary:
            chosen["glossary"] = dict(self.glossary)
        if self.prefix:
            chosen["prefix"] = self.prefix
        return json.dumps(chosen, sort_keys=True)


@dataclass(frozen=True)
class TranslatedSentence:
    """A sentence of a text, with its translation."""

    source: str
    separator: str
    """White space between this sentence and the next."""
    translation: Translation


@dataclass(frozen=True)
class TextTranslation:
    """The translation of one text of a request."""

    text: str
    source: str
    """Short code of the language that it was translated from."""
    target: str
    alternatives: tuple[str, ...] = ()
    detected: Detection | None = None
    """The detection of its language, where the request left that open."""
    pivot: str = ""
    """The language that it was translated through, if any."""
    corrected: bool = False
    """Whether it is a user's correction."""
    details: Translation | None = None
    """Scores, tokens and alignments; None where no model translated, or markup was put in."""
    sentences: tuple[TranslatedSentence, ...] = ()
    """The sentences that it was translated in; empty where one model alone did not translate plain text."""
    models: tuple[str, ...] = ()
    """Names of the models that translated it."""


@dataclass(frozen=True)
class WordsRequest:
    """A request for the words of a given translation of one sentence: how probable each is, and what else might be."""

    text: str
    translation: str
    source: str
    target: str
    model: str | None = None
    word: int | None = None
    """The word, from 0, in whose place others are wanted; None: none are."""
    choices: int = 6
    """How many others."""

    def options(self, beam: int) -> str:
        """The options as the workers take them; `beam` is the width of the search for the rest."""
        chosen: dict[str, object] = {"translation": self.translation}
        if self.word is not None:
            chosen |= {"word": self.word, "choices": self.choices, "beam": beam}
        return json.dumps(chosen, sort_keys=True)
