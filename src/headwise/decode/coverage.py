"""Coverage of texts by a vocabulary: the characters that a model has no tokens for."""

from collections.abc import Iterable

from headwise.text.readable import ReadableForm
from headwise.text.sentences import DIVIDER
from headwise.text.tokenizer import Tokenizer

SHOWN = 8
"""Characters that a message lists."""


class CoverageCheck:
    """Counts texts with characters that no piece of the vocabulary contains."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._readable = ReadableForm(tokenizer)
        self._texts = 0
        self._characters: dict[str, None] = {}

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            # The model does not see dividers.
            found = self._tokenizer.uncovered(DIVIDER.sub(" ", self._readable.of(text)))
            self._texts += bool(found)
            if len(self._characters) <= SHOWN:
                self._characters.update(dict.fromkeys(found))

    @property
    def note(self) -> str:
        """A sentence about the texts that are not covered; empty if all are."""
        if not self._texts:
            return ""
        shown = " ".join(list(self._characters)[:SHOWN]) + (" ..." if len(self._characters) > SHOWN else "")
        texts = "1 text has" if self._texts == 1 else f"{self._texts:,} texts have"
        return f"{texts} characters that the model has not learnt, so it can only copy or guess them: {shown}"
