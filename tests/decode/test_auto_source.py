"""The source language `auto`."""

from pathlib import Path

import pytest

from headwise.decode.auto_source import auto_direction, by_source, common_source, source_or_auto
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.models.folder.description import Task
from tests.taught import SOURCES, TARGETS, taught

FIVE = ("en", "de", "fr", "it", "hi")
MANY = Task(tuple((source, target) for source in FIVE for target in FIVE if source != target), tags=True)
TOLD = Task((("", "eng_Latn"), ("", "deu_Latn")), tags=True, sources=("eng_Latn", "deu_Latn", "tum_Latn", "spa_Latn"))


@pytest.fixture(scope="module")
def both() -> Translator:
    return Translator(taught(both_directions=True), device="cpu")


def test_texts_are_grouped_by_their_language() -> None:
    texts = ["Guten Morgen", "Bonjour", "Buongiorno", "Guten Abend", "Good morning"]
    assert by_source(texts, MANY, "en") == {"de": [0, 3], "fr": [1], "it": [2], "en": [4]}


def test_a_text_without_words_has_the_first_language_that_is_translated() -> None:
    assert by_source(["123"], MANY, "de") == {"en": [0]}
    assert by_source(["123"], MANY, "en") == {"de": [0]}


def test_languages_that_do_not_lead_to_the_target_are_no_choice() -> None:
    task = Task((("en", "de"), ("fr", "en")), tags=True)
    assert by_source(["Bonjour, comment ça va ?"], task, "de") == {"en": [0]}


def test_a_model_of_one_source_detects_nothing() -> None:
    assert by_source(["Bonjour"], Task((("en", "de"),)), "de") == {"en": [0]}
    assert by_source(["Bonjour"], Task((("", "de"),)), "de") == {"": [0]}


def test_codes_of_published_models() -> None:
    """One of them, Tumbuka, cannot be detected: it is not a choice."""
    assert auto_direction(TOLD, "deu_latn") == ("auto", "deu_Latn")
    assert by_source(["¿Dónde está la estación?", "Guten Morgen"], TOLD, "deu_Latn") == {
        "spa_Latn": [0],
        "deu_Latn": [1],
    }


def test_the_target_must_be_known() -> None:
    assert auto_direction(MANY, "de") == ("auto", "de")
    assert auto_direction(Task((("en", "de"),)), None) == ("auto", "de")
    for task in (MANY, TOLD, Task((("en", "de"), ("de", "en")), tags=True)):
        with pytest.raises(ConfigError, match="name one with --to"):
            auto_direction(task, None)
    with pytest.raises(ConfigError, match="does not translate to ja"):
        auto_direction(MANY, "ja")


def test_languages_that_cannot_be_detected_must_be_named() -> None:
    with pytest.raises(ConfigError, match="name it with --from"):
        by_source(["x"], Task((("xa", "de"), ("xb", "de")), tags=True), "de")


def test_each_text_is_translated_from_its_language(both: Translator) -> None:
    found = both.translate([SOURCES[4], TARGETS[3], "", "12"], source="auto", target="de")
    assert [each.text for each in found[:3]] == [TARGETS[4], TARGETS[3], ""]
    assert [each.detected for each in found] == ["en", "de", "en", "en"]
    assert both.translate(SOURCES[4], source="auto", target="de").score == pytest.approx(
        both.translate(SOURCES[4], source="en", target="de").score, abs=1e-5
    )
    assert both.translate(SOURCES[4], source="en", target="de").detected == ""


def test_progress_counts_the_sentences_of_all_languages(both: Translator) -> None:
    seen: list[int] = []
    both.translate([*SOURCES[:3], TARGETS[3]], source="auto", target="de", batch_tokens=1, progress=seen.append)
    assert seen == [1, 2, 3]


def test_files_and_streams_detect_too(both: Translator, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{SOURCES[4]}\n{TARGETS[3]}\n", encoding="utf-8")
    both.translate_file(tmp_path / "in", tmp_path / "out", source="auto", target="de")
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines() == [TARGETS[4], TARGETS[3]]
    stream = both.translate_stream([SOURCES[4], TARGETS[3]], source="auto", target="de")
    assert [str(each) for each in stream] == [TARGETS[4], TARGETS[3]]
    assert both.translate_file(tmp_path / "in", tmp_path / "out", source="auto", target="de").already


# --- without a source ----------------------------------------------------------------------------------


def test_the_source_is_detected_where_several_are_possible() -> None:
    assert source_or_auto(MANY, None, "de") == "auto"
    assert source_or_auto(MANY, "fr", "de") == "fr"
    assert source_or_auto(Task((("de", "en"), ("fr", "en"))), None, None) == "auto"


def test_the_source_is_not_detected_where_it_is_known_or_must_be_named() -> None:
    assert source_or_auto(Task((("en", "de"), ("de", "en")), tags=True), None, "de") is None
    assert source_or_auto(Task((("", "de"),)), None, None) is None
    assert source_or_auto(TOLD, None, "deu_Latn") is None  # whose input names it
    assert source_or_auto(Task((("xa", "de"), ("fr", "de")), tags=True), None, "de") is None  # which cannot be detected
    with pytest.raises(ConfigError, match="name one with --to"):
        source_or_auto(MANY, None, None)


def test_a_translator_detects_without_being_asked() -> None:
    many = Translator(taught(both_directions=True, untaught=("fr",)), device="cpu")
    texts = [SOURCES[4], TARGETS[3], "Où est la gare ?"]
    expected, found = many.translate(texts, source="auto", target="de"), many.translate(texts, target="de")
    assert [each.detected for each in found] == ["en", "de", "fr"]
    assert [each.text for each in found] == [each.text for each in expected]
    assert [found[0].text, found[1].text] == [TARGETS[4], TARGETS[3]]
    assert many.direction(None, "de") == ("auto", "de")


def test_a_test_set_has_one_language() -> None:
    german = ["Guten Morgen", "Wo ist der Bahnhof?", "OK", "Hotel", "Ich habe einen Apfel gegessen."]
    assert common_source(german, MANY, "en") == "de"
    assert common_source([*german, "Good morning"], MANY, "fr") == "de"
    with pytest.raises(DataError, match="in the target language, de"):
        common_source(german, MANY, "de")
