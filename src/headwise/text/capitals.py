"""Text in capitals: normal case for the model, and capitals again for its translation.

Models see little text in capitals: it falls into many small tokens. In normal case they translate it far better.
"""

import re

from headwise.text.tokenizer import Tokenizer

_MACHINE = r"<[^<>]*>|\{+[^{}]*\}+|[^\s<>{}]*[@/\\%$_=&#|\d][^\s<>{}]*?(?=[.,:;!?…)\"'»]*(?:[\s<>{}]|$))"
"""A word for machines: a tag, a placeholder, a URL, a product number."""
_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
_MACHINE_OR_WORD = re.compile(rf"(?P<machine>{_MACHINE})|{_WORD}")
SHORTEST_MAJOR = 4
"""Letters of a word that has a capital initial in a title, whatever word it is."""
FEWEST_IN_TITLE = 3
"""Words of a title: two words with capital initials are as likely a name."""
_FIRST_LETTER = re.compile(r"(^|[.!?…]\s+)(\W*)([^\W\d_])")


def in_capitals(text: str) -> bool:
    """Whether all words of a text, of which one has two letters at least, are in capitals.

    Words for machines do not count: `VISIT https://example.org` is in capitals.
    """
    longest = 0
    for match in _MACHINE_OR_WORD.finditer(text):
        if match["machine"] is None:
            word = match[0]
            if word == word.lower() or word != word.upper():
                return False  # nearly always the first or second word
            longest = max(longest, len(word))
    return longest > 1


def in_title_case(text: str) -> bool:
    """Whether a text is written like an English title: all its longer words, two at least, have a capital initial."""
    words = [match[0] for match in _MACHINE_OR_WORD.finditer(text) if match["machine"] is None]
    major = [word for word in words if len(word) >= SHORTEST_MAJOR]
    return (
        len(words) >= FEWEST_IN_TITLE
        and len(major) > 1
        and all(word == word.capitalize() != word.lower() for word in major)
        and not text.rstrip().endswith((".", "…", "।"))
    )


class NormalCase:
    """Puts text in capitals into normal case, and translations of it into capitals."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[tuple[str, bool], str] = {}

    def of(self, text: str, nouns: bool) -> str:
        """A text in normal case; `nouns`: in a language with capital initials of nouns, German.

        The tokenizer knows how words are written: "BERLIN" is "Berlin", and "NATO" stays, since these have fewer tokens
        than "berlin" and "nato".
        """
        lower = _MACHINE_OR_WORD.sub(lambda match: match["machine"] or self._word(match[0], nouns), text)
        return _FIRST_LETTER.sub(lambda match: match[1] + match[2] + match[3].upper(), lower)

    def capitals(self, text: str, source: str) -> str:
        """A translation in capitals, but for the words for machines that its source has."""
        found = [match["machine"] for match in _MACHINE_OR_WORD.finditer(source) if match["machine"]]
        kept = {word.lower(): word for word in found}
        if not kept:
            return text.upper()
        longest_first = sorted(kept, key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", text, flags=re.IGNORECASE)
        return "".join(kept.get(part.lower()) or part.upper() for part in parts)

    def _word(self, word: str, nouns: bool) -> str:
        found = self._known.get((word, nouns))
        if found is None:
            forms = {form: self._tokenizer.encode(form) for form in (word.lower(), word.capitalize(), word)}
            # In the vocabulary, frequent tokens come first, which tells nouns from other words, and "EU" from "eu".
            fewest = min(map(len, forms.values()))
            best = [form for form, ids in forms.items() if len(ids) == fewest]
            if not nouns and word.lower() in best:
                best = [form for form in best if form in (word.lower(), word)]
            found = min(best, key=lambda form: sum(forms[form]))
            self._known[word, nouns] = found
        return found
