"""Long texts: split into sentences that a model can take, and joined again after translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headwise.decode.alignment import Alignment
from headwise.decode.translation import Translation
from headwise.text.sentences import cut, split


@dataclass(frozen=True)
class TextPart:
    """A piece of an input text that is translated as one sentence."""

    text: str
    separator: str
    """White space between this part and the next."""
    source: list[int]
    """Encoder input: the ids with language tag and `<eos>`."""


def split_pieces(text: str, length_of: Callable[[str], int], longest: int) -> list[tuple[str, str]]:
    """The sentences of a text with the white space after each.

    Each sentence is translated by itself, as most models were trained: given two together, they may leave one out. A
    sentence is cut only if it is longer than any that the model was trained on.
    """
    pieces = [piece for sentence in split(text) for piece in cut(sentence, length_of, longest)]
    return [(piece.text, piece.separator) for piece in pieces if piece.text.strip()]


def join_parts(parts: Sequence[TextPart], found: Sequence[list[Translation]]) -> Translation:
    """The translation of a text from the candidates of each of its parts."""
    if not parts:
        return Translation("", 0.0)
    if len(parts) == 1:
        best, *others = found[0]
        return replace(best, alternatives=others)
    best_parts = [candidates[0] for candidates in found]
    text = ""
    alignment: Alignment = []
    source_words = target_words = 0  # words before this part; one that it continues is counted with its end
    for part, best in zip(parts, best_parts, strict=True):
        alignment += [(s + source_words, t + target_words) for s, t in best.alignment]
        source_words += _words_ended(part.text + part.separator)
        target_words += _words_ended(best.text + part.separator)
        text += best.text + part.separator
    return Translation(
        text=text.strip(),
        score=sum(best.score for best in best_parts) / len(best_parts),
        tokens=[token for best in best_parts for token in best.tokens],
        alignment=sorted(set(alignment)),
        complete=all(best.complete for best in best_parts),
        missing_numbers=tuple(run for best in best_parts for run in best.missing_numbers),
        terms=tuple(term for best in best_parts for term in best.terms),
    )


def _words_ended(text: str) -> int:
    """The number of words that end within the text: its last word continues after it unless a space follows."""
    return len(f"{text}.".split()) - 1
