"""A translator for the document layer that gives not the best, but the n-th best translation of each sentence."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.decode.translation import TranslateOptions, Translation
from headwise.documents.translate_texts import TextTranslator
from headwise.text.language.codes import Direction


class RankedTranslator:
    """Asks another translator for each text once, whatever the ranks that are wanted of it."""

    def __init__(self, translator: TextTranslator) -> None:
        self._translator = translator
        self._known: dict[tuple[str, bool], Translation] = {}
        self.rank = 0
        """0 is the best translation; a text with fewer alternatives gives its last."""

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction of these languages."""
        return self._translator.direction(source, target)

    def translate(
        self,
        texts: Sequence[str],
        *,
        source: str | None = None,
        target: str | None = None,
        options: TranslateOptions | None = None,
    ) -> list[Translation]:
        """The translation of each text that has the rank. The languages must always be the same."""
        aligned = options is not None and options.alignments
        new = [text for text in texts if (text, aligned) not in self._known]
        found = self._translator.translate(new, source=source, target=target, options=options)
        self._known |= zip([(text, aligned) for text in new], found, strict=True)
        listed = [self._known[text, aligned].candidates for text in texts]
        return [candidates[min(self.rank, len(candidates) - 1)] for candidates in listed]
