"""Texts with markup through translators that behave, and through some that do not."""

import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.decode.alignment import Alignment
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part
from headwise.documents.translate_texts import translate_texts
from tests.documents.marked_texts import LINKS, marked_texts
from tests.documents.pseudo_translator import FunctionTranslator, translator_of

HOSTILE: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "empty": lambda text: "",
    "loses": lambda text: re.sub(r"[%{}`]|XYZ\d*", "", text),
    "doubles": lambda text: f"{text} {text}",
    "mangles": lambda text: text.replace("{", "(").replace("%", "% ").replace("XYZ", "xyz "),
    "reverses": lambda text: " ".join(reversed(text.split())),
    "babbles": lambda text: "bla " * 9,
    "breaks lines": lambda text: text.replace(" ", "\n"),
}


@pytest.mark.parametrize("name", HOSTILE)
@settings(deadline=None, max_examples=40)
@given(text=marked_texts(), links=LINKS)
def test_no_mark_or_kept_part_is_lost(name: str, text: MarkedText, links: Alignment) -> None:
    [found] = translate_texts(translator_of(HOSTILE[name], lambda *_: links), [text])
    assert found.text.fault() == ""
    assert Counter(map(repr, found.text.marks)) == Counter(map(repr, text.marks))
    assert Counter(map(repr, found.text.kept)) == Counter(map(repr, text.kept))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "placeholder",
    ["{name}", "%1$s", "${x}", "{{ x }}", "{n, plural, one {# day} other {# days}}", "<ph/>", "https://a.org/b",
     "a@b.org", "/usr/share/doc", "`ls -l`", "🎉"],
)  # fmt: skip
def test_placeholders_survive(name: str, placeholder: str) -> None:
    [found] = translate_texts(translator_of(HOSTILE[name]), [MarkedText([f"Open {placeholder} and wait."])])
    assert found.text.text.count(placeholder) == 1


SPACES = st.sampled_from([" ", "  ", "   ", "\t", "\n", "\n\n", " \t ", " 🎉 "])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["one", "two.", "Three", "four!"]), SPACES), min_size=1, max_size=6), SPACES)
def test_white_space_and_emoji_survive(words: list[tuple[str, str]], before: str) -> None:
    text = before + "".join(word + space for word, space in words)
    [found] = translate_texts(translator_of(str.upper), [MarkedText([text])])
    assert found.text.text == text.upper()


def test_spaces_around_single_marks_survive() -> None:
    image = Mark(MarkKind.SINGLE, 1, "<img>")

    def shown(parts: list[Part], function: Callable[[str], str]) -> str:
        [found] = translate_texts(translator_of(function), [MarkedText(parts)])
        return "".join(part if isinstance(part, str) else str(part.markup) for part in found.text.parts)

    squeezed = " ".join
    assert shown(["a ", image, " b"], lambda text: squeezed(text.split())) == "a <img> b"
    assert shown([image, " a b"], str.lower) == "<img> a b"
    assert shown(["a b ", image], str.lower) == "a b <img>"
    assert shown(["a b ", image, "."], lambda text: "A. B C") == "A. B <img> C"
    assert shown(["a", image, " b"], str.lower) == "a<img> b"
    assert shown(["a,", image, " b"], lambda text: "A B") == "A<img> B"


def test_an_emoji_after_a_kept_part_leaves_its_space() -> None:
    translator = FunctionTranslator(str.upper)
    [found] = translate_texts(translator, [MarkedText(["see ", Kept("%s"), " 🎉 now"])])  # type: ignore[arg-type]
    assert found.text.text == "SEE %s 🎉 NOW"
    assert "see %s now" in translator.seen


def test_a_number_has_a_space_behind_it_and_a_name_may_have_a_hyphen() -> None:
    hyphened = translator_of(lambda text: re.sub(r"([d}]) (?=\w)", r"\1-", text))
    found = translate_texts(hyphened, [MarkedText(["{count} files, %d-fold"]), MarkedText(["the {name} file"])])
    assert [each.text.text for each in found] == ["{count} files, %d-fold", "the {name}-file"]


def test_sentences_are_translated_one_by_one_and_once() -> None:
    translator = FunctionTranslator(str.upper)
    texts = [MarkedText(["One is here. Two is there."]), MarkedText(["Two is there."]), MarkedText(["12. 13."])]
    found = translate_texts(translator, texts)  # type: ignore[arg-type]
    assert [each.text.text for each in found] == ["ONE IS HERE. TWO IS THERE.", "TWO IS THERE.", "12. 13."]
    assert translator.seen == ["One is here.", "Two is there."]


def test_text_in_the_target_language_is_left_alone() -> None:
    german = "Das ist ein ganz gewöhnlicher deutscher Satz mit vielen Wörtern."
    english = "The value of {n, plural, one {ein ganz gewöhnlicher Satz} other {viele Sätze mit Wörtern}} is not right."
    found = translate_texts(translator_of(str.upper), [MarkedText([german]), MarkedText([english])])
    assert found[0].is_copy
    assert found[0].text.text == german
    assert not found[1].is_copy, "placeholders have no say in the language"


def test_progress_ends_with_all_texts() -> None:
    seen: list[int] = []
    texts = [MarkedText(["a word"]), MarkedText([Kept("x")]), MarkedText(["b ", Kept("%s")])]
    translate_texts(translator_of(HOSTILE["loses"]), texts, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 3


def test_a_mark_follows_its_word() -> None:
    def reverse(source: str, target: str) -> Alignment:
        count = len(source.split())
        return [(place, count - 1 - place) for place in range(count)]

    text = MarkedText(["see the <b>red</b> house"])
    [found] = translate_texts(translator_of(HOSTILE["reverses"], reverse), [text])
    assert found.text.text == "house <b>red</b> the see"
    assert not [part for part in found.text.parts if isinstance(part, Mark)]
