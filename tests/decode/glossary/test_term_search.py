"""Translation with a glossary, on every engine."""

import dataclasses

import pytest

from headwise import Glossary
from headwise.decode.glossary.rendering import INFLECTED, USED
from headwise.decode.search.options import SamplingOptions
from headwise.decode.translation import TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from tests.decode.engines.test_engines import HERE, engine
from tests.taught import FORM, SOURCES, TARGETS, TERM, translator

TERMS = {"cat": "Hund", "fish": "Apfel|Haus", "house": "", "sister": "Schwester", "zebra": "Zebra"}
OTHER = Glossary(TERMS)
ABSENT = Glossary({"zebra": "Zebra", "quagga": "Quagga"})


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("beam", [1, 4])
def test_terms_are_in_the_translations(name: str, beam: int) -> None:
    found = engine(name).translate(SOURCES, beam=beam, glossary=OTHER)
    for source, one in zip(SOURCES, found, strict=True):
        words = one.text.rstrip(".").split()
        assert "cat" not in source or "Hund" in words
        assert "fish" not in source or {"Apfel", "Haus"} & set(words)
        assert "house" not in source or "house" in words
        listed = [use.source for use in one.terms]
        assert listed == [word for word in source.rstrip(".").split() if word in TERMS]
        assert {use.status for use in one.terms} <= {USED}


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("glossary", [None, ABSENT, Glossary({"cat": "Katze", "dog": "Hund"})])
def test_translations_that_have_their_terms_stay_as_they_are(name: str, glossary: Glossary | None) -> None:
    plain = engine(name).translate(SOURCES)
    found = engine(name).translate(SOURCES, glossary=glossary)
    assert [one.text for one in found] == TARGETS
    assert [dataclasses.replace(one, terms=()) for one in found] == plain


@pytest.mark.parametrize("name", HERE)
def test_a_batch_is_its_sentences(name: str) -> None:
    texts = [*SOURCES[::2], "", "The zebra. The cat sees an apple. A dog eats the house."]
    together = engine(name).translate(texts, glossary=OTHER)
    apart = [engine(name).translate(text, glossary=OTHER) for text in texts]
    assert [(one.text, one.terms) for one in together] == [(one.text, one.terms) for one in apart]


def test_alternatives_alignments_and_a_prefix() -> None:
    found = translator().translate(SOURCES[0], candidates=3, alignments=True, prefix="Die Katze", glossary=OTHER)
    assert len(found.candidates) == 3
    assert found.alignment
    assert found.text.startswith("Die Katze")
    assert all(one.terms for one in found.candidates)


def test_a_model_that_was_trained_with_annotated_terms_inflects_them() -> None:
    glossary = Glossary({"cat": TERM})
    found = translator(terms=True).translate(SOURCES, glossary=glossary, alignments=True)
    assert [one.text for one in found] == [target.replace("Die Katze", f"Die {FORM}") for target in TARGETS]
    assert [use.status for use in found[0].terms] == [INFLECTED]
    assert max(source for source, _ in found[0].alignment) < len(SOURCES[0].split()), "of the source without marks"
    assert FORM not in translator().translate(SOURCES[0], glossary=glossary).text


def test_terms_of_several_sentences_are_listed_in_order() -> None:
    found = translator().translate("The cat sees the house. My sister finds a small fish.", glossary=OTHER)
    assert [use.source for use in found.terms] == ["cat", "house", "sister", "fish"]


def test_a_text_in_capitals() -> None:
    found = translator().translate("THE CAT SEES AN APPLE.", glossary=OTHER)
    assert "HUND" in found.text.split()
    assert found.text == found.text.upper()


def test_a_glossary_for_two_directions() -> None:
    both = Translator(translator(both_directions=True)._served.loaded, device="cpu")
    found = both.translate(
        "Die Katze sieht einen Apfel.", source="de", target="en", glossary=Glossary({"Katze": "dog"})
    )
    assert "dog" in found.text.split()


def test_samples_have_no_glossary() -> None:
    with pytest.raises(ConfigError, match="cannot be used with sampling"):
        TranslateOptions(sampling=SamplingOptions(), glossary=OTHER)


def test_options_as_a_table_have_the_digest() -> None:
    assert "glossary" not in TranslateOptions().as_table()
    assert TranslateOptions(glossary=OTHER).as_table()["glossary"] == OTHER.digest
    assert Translation("x", 0.0).terms == ()
