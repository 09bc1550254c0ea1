"""Characters that say nothing to a reader, or look like others, in the form that a model has learnt.

Pasted text is full of them: soft hyphens, zero-width spaces, ligatures of PDF files, no-break hyphens. A model that has
seen none of them reads their bytes, and makes a word of them.
"""

import re
import unicodedata

from headwise.text.tokenizer import Tokenizer

_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
)
"""Control characters, soft hyphens, zero-width spaces and direction marks. Joiners shape emoji and Hindi: they stay."""
_LETTERS = "\u0132\u0133\u0149\u01c4-\u01cc\u01f1-\u01f3\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d6a5"
"""Ligatures, full-width letters and mathematical alphabets, which Unicode itself calls forms of other letters."""
_ALIKE = {"\u2010": "-", "\u2011": "-", "\u2015": "—", "\u2212": "-", "‹": "«", "›": "»", "`": "'", "´": "'"}
_APOSTROPHE = r"(?<=[^\W\d_])[`´](?=[^\W\d_])"
_FOUND = re.compile(
    rf"(?<=\S)[{_INVISIBLE}]+|[{_INVISIBLE}]+(?=[^\s{_INVISIBLE}])"  # not a word of its own: words are counted
    rf"|[{_LETTERS}\u2010\u2011\u2015\u2212‹›]|{_APOSTROPHE}"
)


class ReadableForm:
    """Brings texts to the form that a model with this tokenizer can read; what the tokenizer knows stays."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._forms: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The text with as many words as before."""
        return _FOUND.sub(self._replaced, text) if _FOUND.search(text) else text

    def _replaced(self, found: re.Match[str]) -> str:
        return "".join(map(self._form, found[0]))

    def _form(self, character: str) -> str:
        form = self._forms.get(character)
        if form is None:
            form = character
            if self._tokenizer.uncovered(character):
                form = _ALIKE.get(character) or _plain_letters(character)
                form = character if self._tokenizer.uncovered(form) else form
            self._forms[character] = form
        return form


def _plain_letters(character: str) -> str:
    """The letters that a letter is a form of; nothing for an invisible character."""
    return unicodedata.normalize("NFKC", character) if character.isalpha() else ""
