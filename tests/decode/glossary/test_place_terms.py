"""The placement of terms, with a search by rule that writes down what it is asked."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headwise.decode.glossary.entry import GlossaryEntry
from headwise.decode.glossary.place_terms import Candidates, TermSentence, place_terms
from headwise.decode.glossary.rendering import MISSING, USED
from headwise.decode.glossary.term_index import TermIndex
from headwise.decode.translation import Translation

SOURCE = "the cat sees the dog ."


class WordByWord:
    """Continues a translation after the words that it begins with; each word attends to the one at its place."""

    def __init__(self, rule: Callable[[str], str], *follows: str) -> None:
        """`follows`: what it makes of the annotated sentence."""
        self.rule, self.follows = rule, follows
        self.asked: list[str] = []

    def annotated(self, sentences: Sequence[TermSentence]) -> list[Candidates]:
        return [[Translation(text, -2.0) for text in self.follows] for _ in sentences]

    def continued(self, sources: list[list[int]], beginnings: list[str]) -> list[Candidates]:
        self.asked += beginnings
        return [[Translation(self.rule(beginning), -1.0)] for beginning in beginnings]

    def attention(self, sources: list[list[int]], texts: list[str]) -> list[tuple[list[str], list[str], Any]]:
        words = SOURCE.split()
        return [(words, text.split(), np.eye(len(text.split()), len(words))) for text in texts]

    def rewritten(self, source: str, text: str, found: Translation) -> Translation:
        return Translation(text, found.score)

    def fault(self, source: str, found: Translation) -> tuple[Any, ...]:
        return ()


def go_on(beginning: str) -> str:
    """The beginning, and the rest of the usual translation."""
    usual = ["die", "Katze", "sieht", "den", "Hund", "."]
    return " ".join([*beginning.split(), *usual[len(beginning.split()) :]])


def placed(search: WordByWord, *drafts: str, **terms: str) -> Candidates:
    index = TermIndex([GlossaryEntry(term, tuple(filter(None, target.split("|")))) for term, target in terms.items()])
    sentence = TermSentence(SOURCE, [], tuple(index.find(SOURCE)))
    [found] = place_terms([sentence], [[Translation(draft, -0.5) for draft in drafts]], search)
    return found


def test_a_term_takes_the_place_of_its_translation() -> None:
    search = WordByWord(go_on)
    [best] = placed(search, "die Katze sieht den Hund .", cat="Mieze")
    assert best.text == "die Mieze sieht den Hund ."
    assert [use.status for use in best.terms] == [USED]
    assert search.asked[0] == "die Mieze"


def test_a_translation_of_the_annotated_sentence_comes_first() -> None:
    search = WordByWord(go_on, "der Kater sieht", "der Kater sieht den Hund .", "nichts")
    [best] = placed(search, "die Katze sieht den Hund .", cat="Kater")
    assert best.text == "der Kater sieht"
    assert [use.status for use in best.terms] == [USED]
    assert not search.asked


def test_terms_that_annotations_do_not_give_are_searched() -> None:
    search = WordByWord(go_on, "die Katze sieht den Kater .")
    [best] = placed(search, "die Katze sieht den Hund .", cat="Mieze", dog="Kater")
    assert best.text == "die Mieze sieht den Kater ."
    assert placed(WordByWord(go_on, "das Haus ."), "die Katze .", cat="Mieze")[0].text.startswith("die Mieze")


def test_several_terms_are_placed_from_left_to_right() -> None:
    search = WordByWord(go_on)
    [best] = placed(search, "die Katze sieht den Hund .", dog="Köter", cat="Mieze")
    assert best.text == "die Mieze sieht den Köter ."


def test_what_has_its_terms_is_not_searched_again() -> None:
    search = WordByWord(go_on)
    first, second = placed(search, "die Mieze sieht ihn .", "die Katze sieht den Hund .", dog="Hund")
    assert (first.text, second.text) == ("die Katze sieht den Hund .", "die Mieze sieht ihn .")
    assert [use.status for use in (*first.terms, *second.terms)] == [USED, MISSING]
    assert not search.asked


def test_each_of_the_alternatives_is_tried_at_both_places() -> None:
    search = WordByWord(go_on)
    placed(search, "die Katze sieht den Hund .", cat="Mieze|Kater")
    assert search.asked[:2] == ["die Mieze", "die Kater"]
    assert len(search.asked) == 4


def test_what_is_kept_is_copied() -> None:
    [best] = placed(WordByWord(go_on), "die Katze sieht den Hund .", cat="")
    assert best.text == "die cat sieht den Hund ."


def test_a_term_that_no_search_gives_replaces_the_word() -> None:
    search = WordByWord(lambda beginning: f"{beginning}nkatze")
    [best] = placed(search, "die Katze sieht den Hund .", cat="Mieze", dog="")
    assert best.text == "die Mieze sieht den dog ."
    assert [use.status for use in best.terms] == [USED, USED]


def test_a_search_that_makes_a_fault_is_not_taken() -> None:
    search = WordByWord(lambda beginning: f"{beginning} sieht")
    search.fault = lambda source, found: ("Hund" not in found.text,)  # type: ignore[method-assign]
    [best] = placed(search, "die Katze sieht den Hund .", cat="Mieze")
    assert best.text == "die Mieze sieht den Hund ."


def test_a_search_that_is_too_long_gives_nothing() -> None:
    search = WordByWord(go_on)
    search.continued = lambda sources, beginnings: [[] for _ in beginnings]  # type: ignore[method-assign]
    [best] = placed(search, "die Katze sieht den Hund .", cat="Mieze")
    assert best.text == "die Mieze sieht den Hund ."


def test_the_first_word_keeps_its_capital() -> None:
    search = WordByWord(go_on)
    [best] = placed(search, "Die Katze sieht den Hund .", the="jene")
    assert best.text.startswith("Jene ")
