"""Translators that are functions of a string: what a model may do to a text, made on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from headwise.decode.alignment import Alignment
from headwise.decode.translation import TranslateOptions, Translation
from headwise.decode.translator import Translator


class FunctionTranslator:
    """Translates from English to German with a function, and links words in order, or as `links` says."""

    def __init__(self, function: Callable[[str], str], links: Callable[[str, str], Alignment] | None = None) -> None:
        self.function = function
        self.links = links or in_order
        self.seen: list[str] = []

    def direction(self, source: str | None = None, target: str | None = None) -> tuple[str, str]:
        return "en", "de"

    def translate(
        self, texts: Sequence[str], *, source: str | None, target: str | None, options: TranslateOptions
    ) -> list[Translation]:
        self.seen += texts
        found = [self.function(text) for text in texts]
        return [
            Translation(after, 0.0, alignment=self.links(text, after) if options.alignments else [])
            for text, after in zip(texts, found, strict=True)
        ]


def translator_of(function: Callable[[str], str], links: Callable[[str, str], Alignment] | None = None) -> Translator:
    """A translator that applies a function to each sentence."""
    return cast(Translator, FunctionTranslator(function, links))


def in_order(source: str, target: str) -> Alignment:
    """Each word linked to that in the same place."""
    return [(place, place) for place in range(min(len(source.split()), len(target.split())))]
