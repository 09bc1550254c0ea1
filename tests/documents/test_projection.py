"""Projection of marks: well-formed whatever the alignment, and on the right words if that is right."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.documents.flat_text import FlatText, flatten, locate
from headwise.documents.marked_text import Kept, Mark, MarkedText
from headwise.documents.marks.linked_words import Links
from headwise.documents.placeholders import with_placeholders, without_placeholders
from headwise.documents.projection import project
from tests.documents.marked_texts import LINKS, STRINGS, marked_texts


def shown(number: int, kept: Kept) -> str:
    return f"XYZ{number} of two words"


def again(text: MarkedText) -> Callable[[int, Kept], str]:
    """What was shown for each kept part, wherever it is now."""
    names = {id(kept): shown(number, kept) for number, kept in enumerate(text.kept)}
    return lambda _, kept: names[id(kept)]


@given(marked_texts(), st.lists(STRINGS, max_size=20), st.randoms(use_true_random=False), LINKS)
def test_any_alignment_gives_the_same_marks_and_kept_parts(
    text: MarkedText, words: list[str], random: Random, links: Links
) -> None:
    source = flatten(text, shown)
    pieces = [*words, *(f" {shown(number, kept)} " for number, kept in enumerate(text.kept))]
    random.shuffle(pieces)
    string = "".join(pieces)
    spans = locate(string, source)
    assert spans is not None
    found = project(source, FlatText(string, spans=spans), links, ("en", "fr"))
    assert found.fault() == ""
    assert sorted(map(repr, found.marks)) == sorted(map(repr, text.marks))
    assert sorted(map(repr, found.kept)) == sorted(map(repr, text.kept))
    assert flatten(MarkedText(part for part in found.parts if not isinstance(part, Mark)), again(text)).text == string


WORDS = st.lists(st.sampled_from(["one", "two", "three", "four,", "five."]), min_size=1, max_size=6)


@given(WORDS, st.data())
def test_the_identity_gives_the_text_back(words: list[str], data: st.DataObject) -> None:
    """Pairs around whole words, nested or side by side, stay where they are."""
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start, len(words) - 1))
    inner = data.draw(st.integers(start, end))
    tagged = list(words)
    tagged[inner] = f"<i>{tagged[inner]}</i>"
    tagged[start] = f"<b>{tagged[start]}"
    tagged[end] = f"{tagged[end]}</b>"
    text = " ".join(tagged)
    assert projected(text, " ".join(words), [(word, word) for word in range(len(words))]) == text


def projected(source: str, target: str, links: Links, languages: tuple[str, str] = ("", "")) -> str:
    flat = flatten(without_placeholders(MarkedText([source])), lambda _, kept: kept.text)
    spans = locate(target, flat)
    assert spans is not None
    return with_placeholders(project(flat, FlatText(target, spans=spans), links, languages)).text


@pytest.mark.parametrize(
    ("source", "links", "target"),
    [
        ("a <b>red</b> car", "0-0 1-2 2-1", "une voiture <b>rouge</b>"),
        ("a <b>red</b> <i>car</i>", "0-0 1-2 2-1", "une <i>voiture</i> <b>rouge</b>"),
        ("a <b>red <i>sports</i> car</b>", "0-0 1-4 2-3 3-1", "une <b>voiture de <i>sport</i> rouge</b>"),
        ("the <b>plane</b> left", "1-0 2-1 2-2", "l'<b>avion</b> est parti"),
        ("it is <b>not</b> a link", "0-0 2-1 2-2 3-3 4-4", "ce <b>n'est pas</b> un lien"),
        ("effects during <b>evaluation</b>", "0-0 1-1 1-2 2-3 2-4", "effets au cours de l'<b>évaluation</b>"),
        ("calls <b>from</b> code", "0-0 1-1 1-2 1-3 2-4", "appels <b>à partir de</b> code"),
        ("<b>nobody</b> can answer", "0-0 0-1 1-2 2-3", "<b>personne</b> ne peut répondre"),
        ("he <b>finally</b> left", "0-0 2-1 1-2 2-3", "il est <b>finalement</b> parti"),
        ("he finally <b>left</b>", "0-0 2-1 1-2 2-3", "il est finalement <b>parti</b>"),
        ("<p>honey is good</p>", "0-0 0-1 1-2 2-3", "<p>Le miel est bon</p>"),
        ("pay <b>€25.50</b> now", "0-0 1-1 1-2 1-3 2-4", "payez de <b>25,50 €</b> maintenant"),
        ("she said <b>“go away”</b>.", "0-0 1-1 2-4 3-4", "elle dit : <b>« partez »</b>."),
        ("the <b>%s</b> file", "0-0 1-0 1-2 2-1", "le fichier <b>%s</b>"),
        ("word<img/> and more", "0-0 1-1 2-2", "mot<img/> et plus"),
        ("the big hill,<img/> which is", "0-0 1-1 2-1 3-3 4-4", "la colline grande,<img/> qui est"),
        ("<b>buying power<img/></b> fell", "0-2 1-1 2-3", "le <b>pouvoir d'achat<img/></b> baisse"),
        ("nothing <b></b> here", "0-0 1-1", "rien <b></b>ici"),
    ],
)  # fmt: skip
def test_marks_are_on_the_right_words(source: str, links: str, target: str) -> None:
    pairs = [(int(first), int(second)) for first, second in (link.split("-") for link in links.split())]
    plain = "".join(part for part in without_placeholders(MarkedText([target])).parts if isinstance(part, str))
    string = target if "%s" in target else plain
    string = string.replace("<b>", "").replace("</b>", "")
    assert projected(source, string, pairs, ("en", "fr")) == target


@pytest.mark.parametrize(
    ("source", "links", "target"),
    [
        ("H<sub>2</sub>O is water", "0-0 1-1 2-2", "H<sub>2</sub>O ist Wasser"),
        ("H<sub>2</sub>SO<sub>4</sub> burns", "0-0 1-1", "H<sub>2</sub>SO<sub>4</sub> brennt"),
        ("100<sup>0</sup> is one", "0-0 1-1 2-2", "१००<sup>०</sup> एक है"),
        ("a comment inside<sup><a>[1]</a></sup>.", "0-0 1-1 2-2", "ein Kommentar innen<sup><a>[1]</a></sup>."),
        ("the 1<sup>st</sup> floor", "0-0 1-1 2-2", "le 1<sup>er</sup> étage"),
        ("the 1<sup>st</sup> floor", "0-0 1-1 2-2", "der 1<sup></sup>. Stock"),
        ("Mc<b>Donald</b> came", "0-0 1-1", "Mc<b>Donald</b> kam"),
        ("Un<b>believ</b>able!", "0-0", "<b>Unglaublich</b>!"),
    ],
)  # fmt: skip
def test_a_part_of_a_word_stays_one_where_the_translation_has_it(source: str, links: str, target: str) -> None:
    pairs = [(int(first), int(second)) for first, second in (link.split("-") for link in links.split())]
    plain = MarkedText(part for part in without_placeholders(MarkedText([target])).parts if isinstance(part, str)).text
    assert projected(source, plain, pairs) == target


def test_vowel_signs_at_the_end_of_a_word_are_not_punctuation() -> None:
    assert projected("<b>read</b> the file.", "फ़ाइल पढ़ें।", [(0, 1), (1, 0), (2, 0)]) == "फ़ाइल <b>पढ़ें</b>।"


def test_a_word_without_a_link_takes_a_spare_one() -> None:
    found = projected(
        "a boat <b>suddenly</b> appeared", "un bateau est soudainement sorti", [(0, 0), (1, 1), (3, 2), (3, 3), (3, 4)]
    )
    assert found == "un bateau est <b>soudainement</b> sorti"


def test_no_mark_splits_a_kept_part() -> None:
    assert projected("`a b c`1<img/>D", "`a b c`1D", []) == "`a b c`<img/>1D"
    assert projected("<b>see</b> `a b`", "`a b`", [(0, 1)]) == "<b>`a b`</b>"


def test_an_empty_translation_keeps_the_marks() -> None:
    assert projected("a <b>b</b> <img/>", "", []) == "<b></b><img/>"
