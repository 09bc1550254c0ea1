"""Language detection."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.errors import ConfigError
from headwise.text.language.detect import Detection, detect, is_detectable

FIVE = ("en", "de", "fr", "it", "hi")

SENTENCES = {
    "I ate an apple and went to the station.": "en",
    "Ich habe einen Apfel gegessen.": "de",
    "J'ai mangé une pomme hier soir.": "fr",
    "Ho mangiato una mela e sono uscito.": "it",
    "मैंने एक सेब खाया।": "hi",
}
WORDS = {
    "hello": "en", "apple": "en", "street": "en", "Hallo": "de", "Apfel": "de", "Straße": "de", "merci": "fr",
    "pomme": "fr", "rue": "fr", "ciao": "it", "mela": "it", "grazie": "it", "नमस्ते": "hi", "पानी": "hi",
}  # fmt: skip
OTHERS = {
    "¿Dónde está la estación de tren?": "es",
    "Waar is het station, alstublieft?": "nl",
    "Gdzie jest dworzec kolejowy?": "pl",
    "Где находится вокзал?": "ru",
    "駅はどこですか。": "ja",
    "ரயில் நிலையம் எங்கே?": "ta",
}
WITHOUT_WORDS = [
    "",
    "  \n",
    "123 456,78",
    "https://example.com/guten-morgen",
    "tom@example.com",
    "😀🎉",
    "...!?",
    "{0} %s",
]


@pytest.mark.parametrize(("text", "language"), {**SENTENCES, **WORDS}.items())
def test_the_five_languages(text: str, language: str) -> None:
    found = detect(text, languages=FIVE)
    assert found.language == language
    assert found.determined
    assert str(found) == language


@pytest.mark.parametrize(("text", "language"), {**SENTENCES, **OTHERS}.items())
def test_all_languages_without_a_choice(text: str, language: str) -> None:
    assert detect(text).language == language


@pytest.mark.parametrize("text", WITHOUT_WORDS)
@pytest.mark.parametrize("languages", [None, FIVE, ("de",)])
def test_a_text_without_words_is_undetermined(text: str, languages: tuple[str, ...] | None) -> None:
    assert detect(text, languages=languages) == Detection("und", 0.0)
    assert not detect(text, languages=languages).determined


def test_a_script_that_no_candidate_has_is_undetermined() -> None:
    assert not detect("Привет, мир", languages=FIVE).determined


def test_what_is_equally_probable_in_many_languages_is_undetermined() -> None:
    found = detect("xqzptk")
    assert found.language == "und"
    assert 0 < found.probability < 0.15
    assert len(found.probabilities) == 5


@pytest.mark.parametrize(("text", "language"), [item for item in SENTENCES.items() if item[1] != "hi"])
def test_capitals_and_missing_accents_do_not_matter(text: str, language: str) -> None:
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    for variant in (text.upper(), text.title(), bare, text.rstrip("."), f"{text} 😀 https://example.com"):
        assert detect(variant, languages=FIVE).language == language


@pytest.mark.parametrize(("word", "language"), [("fuer", "de"), ("fur", "de"), ("etre", "fr"), ("perche", "it")])
def test_frequent_words_are_known_without_accents(word: str, language: str) -> None:
    assert detect(word, languages=FIVE).language == language


def test_most_of_a_mixed_text_decides() -> None:
    assert detect("The word नमस्ते means hello.").language == "en"
    assert detect("मुझे Facebook पर add करो", languages=FIVE).language == "hi"
    assert detect("I love Paris. Ich liebe Paris sehr und möchte dort wohnen.", languages=FIVE).language == "de"


def test_one_text_gives_one_result_and_several_a_list() -> None:
    assert isinstance(detect("hello", languages=FIVE), Detection)
    assert [str(found) for found in detect(iter(["hello", "merci"]), languages=FIVE)] == ["en", "fr"]
    assert detect([], languages=FIVE) == []


def test_probabilities_are_of_the_languages_given_best_first() -> None:
    found = detect("merci", languages=FIVE)
    assert list(found.probabilities.values()) == sorted(found.probabilities.values(), reverse=True)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert found.probabilities.keys() == set(FIVE)
    assert found.probability == found.probabilities["fr"]


def test_a_language_keeps_the_code_that_it_was_given_by() -> None:
    assert detect("Guten Morgen", languages=["eng_Latn", "deu_Latn"]).language == "deu_Latn"
    assert detect("Guten Morgen", languages=["en", "de-AT", "de"]).language == "de-AT"
    assert detect("Waar is het station?", languages=["en_XX", "nl_XX"]).language == "nl_XX"


def test_the_choice_restricts_the_result() -> None:
    text = "Waar is het station?"
    assert detect(text).language == "nl"
    assert detect(text, languages=["de", "fr"]).language == "de"
    assert detect(text, languages=["de"]).probability == 1


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="'tlh' cannot be detected"):
        detect("nuqneH", languages=["en", "tlh"])
    with pytest.raises(ConfigError, match="no languages to choose from"):
        detect("hello", languages=[])
    assert is_detectable("deu_Latn")
    assert not is_detectable("tlh")


def test_texts_must_be_text() -> None:
    with pytest.raises(TypeError, match="not bytes"):
        detect(b"hello", languages=FIVE)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"texts\[1\]"):
        detect(["hello", 3], languages=FIVE)  # type: ignore[list-item]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.sampled_from([FIVE, ("de", "es"), None]))
def test_any_text_has_a_result(text: str, languages: tuple[str, ...] | None) -> None:
    found = detect(text, languages=languages)
    assert 0 <= found.probability <= 1 + 1e-9
    assert found.language == "und" or is_detectable(found.language)


def test_threads_may_detect_together() -> None:
    texts = [*SENTENCES, *OTHERS] * 20
    alone = detect(texts)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(detect, texts)) == alone


def test_a_long_text_is_judged_by_its_beginning() -> None:
    assert detect("Guten Morgen. " * 100_000, languages=FIVE).language == "de"
