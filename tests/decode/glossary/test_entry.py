"""Entries of a direction, out of rows with columns for languages or for source and target."""

import pytest

from headwise.decode.glossary.entry import SOURCE, TARGET, GlossaryConcept

CONCEPT = GlossaryConcept({"en-GB": ("lorry", "truck"), "de": ("Laster",), "fr": ("camion",)}, place="terms.tsv:2")


@pytest.mark.parametrize("direction", [("en", "de"), ("en-GB", "de"), ("eng_Latn", "deu_Latn")])
def test_each_term_of_the_source_language_is_an_entry(direction: tuple[str, str]) -> None:
    entries = CONCEPT.entries(direction)
    assert [(entry.source, entry.targets) for entry in entries] == [("lorry", ("Laster",)), ("truck", ("Laster",))]
    assert {entry.place for entry in entries} == {"terms.tsv:2"}


def test_terms_of_the_target_are_alternatives() -> None:
    [entry] = CONCEPT.entries(("fr", "en"))
    assert (entry.source, entry.targets, entry.keeps) == ("camion", ("lorry", "truck"), False)


def test_a_language_that_is_not_there_has_no_entries() -> None:
    assert CONCEPT.entries(("it", "de")) == CONCEPT.entries(("en", "it")) == []


def test_source_and_target_are_for_every_direction() -> None:
    concept = GlossaryConcept({SOURCE: ("cat",), TARGET: ("Kater",)})
    assert concept.entries(("", "")) == concept.entries(("en", "de")) != []


def test_what_is_kept_needs_no_translation() -> None:
    [entry] = GlossaryConcept({"en": ("Headwise",)}, keeps=True).entries(("en", "de"))
    assert entry.keeps
