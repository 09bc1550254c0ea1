"""Noise that teaches a model to use given terms: words of the source are annotated with a wanted translation.

What is wanted is the dictionary form of a word that the target has, perhaps in another form: so the model learns to
inflect what it is given. A dictionary is learnt from the training pairs (train/tasks/term_pairs.py).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwise.data.noise.dice import Dice
from headwise.data.noise.letters import Texts
from headwise.text.term_marks import MARK, annotated
from headwise.text.word_forms import is_form_of, word_in

Terms = Mapping[str, Sequence[str]]
"""The translations of words in lower case, likeliest first."""

MOST_TERMS = 3
"""Terms of a pair that are annotated, at most."""


class _Link(NamedTuple):
    """A word of the source that the target translates as the dictionary does."""

    start: int
    end: int
    translation: str
    """In its dictionary form."""
    place: int
    """The number of its translation among the words of the target."""


def with_terms(dice: Dice, texts: Texts, terms: Terms) -> Texts:
    """The pair with wanted translations in its source: those of up to three words, or of two that stand together."""
    source, target = texts
    links = [] if MARK in source else _links(source, target, terms)
    if not links:
        return texts
    wanted = dict[int, str]()
    """By the place where each term ends."""
    used = set[int]()
    """Places where annotated words begin."""
    for _ in range(1 + dice.below(MOST_TERMS)):
        at = dice.below(len(links))
        link, following = links[at], links[at + 1] if at + 1 < len(links) else None
        together = following is not None and _stand_together(link, following) and dice.one_in(2)
        chosen = [link, following] if together and following is not None else [link]
        if used.isdisjoint(each.start for each in chosen):
            used.update(each.start for each in chosen)
            in_order = sorted(chosen, key=lambda each: each.place)
            wanted[chosen[-1].end] = " ".join(each.translation for each in in_order)
    return annotated(source, wanted.items()), target


def _stand_together(link: _Link, following: _Link) -> bool:
    return following.start == link.end + 1 and abs(following.place - link.place) == 1


def _links(source: str, target: str, terms: Terms) -> list[_Link]:
    """The words of the source with a translation in the dictionary that the target has, in some form, exactly once."""
    words = [word_in(token) for token in target.split(" ")]
    links, place = list[_Link](), 0
    for token in source.split(" "):
        word = word_in(token)
        start = place + token.find(word)
        place += len(token) + 1
        for translation in terms.get(word.lower(), ()):
            places = [number for number, other in enumerate(words) if is_form_of(other, translation)]
            if len(places) == 1:
                links.append(_Link(start, start + len(word), translation, places[0]))
                break
    return links
