"""The official PyPI client of DeepL."""

from pathlib import Path

import pytest

from tests.taught import SOURCES, TARGETS

deepl = pytest.importorskip("deepl", reason="pip install deepl")


@pytest.fixture
def translator(url: str):  # type: ignore[no-untyped-def]
    made = deepl.DeepLClient("any", server_url=url)
    yield made
    made.close()


def test_texts(translator) -> None:  # type: ignore[no-untyped-def]
    found = translator.translate_text(SOURCES[:2], target_lang="DE", formality="prefer_more", context="animals")
    assert [each.text for each in found] == TARGETS[:2]
    assert found[0].detected_source_lang == "EN"
    assert found[0].billed_characters == len(SOURCES[0])
    page = translator.translate_text(f"<p>{SOURCES[0]}</p>", source_lang="EN", target_lang="DE", tag_handling="html")
    assert page.text == f"<p>{TARGETS[0]}</p>"
    with pytest.raises(deepl.DeepLException, match="not supported"):
        translator.translate_text("x", target_lang="ZZ")


def test_languages_and_usage(translator) -> None:  # type: ignore[no-untyped-def]
    assert "EN" in {each.code for each in translator.get_source_languages()}
    assert "EN-GB" in {each.code for each in translator.get_target_languages()}
    assert translator.get_usage().character.valid
    assert ("en", "de") in {(each.source_lang, each.target_lang) for each in translator.get_glossary_languages()}


def test_glossaries(translator) -> None:  # type: ignore[no-untyped-def]
    made = translator.create_glossary("Animals", "EN", "DE", {"cat": "Hund"})
    assert made.glossary_id in {each.glossary_id for each in translator.list_glossaries()}
    assert translator.get_glossary_entries(made) == {"cat": "Hund"}
    assert "Hund" in translator.translate_text_with_glossary(SOURCES[0], made).text
    translator.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        translator.get_glossary(made.glossary_id)


def test_documents(translator, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page, made = tmp_path / "page.html", tmp_path / "made.html"
    page.write_text(f"<p>{SOURCES[0]}</p>")
    assert translator.translate_document_from_filepath(page, made, target_lang="DE").done
    assert made.read_text() == f"<p>{TARGETS[0]}</p>"
