"""Headwise's own API: translations with all that is known about them."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.taught import SOURCES, TARGETS

ASKED = {"texts": SOURCES[:2], "source": "en", "target": "de"}


def refused(answer: Any, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"])


def test_a_translation_comes_with_its_score_and_tokens(client: TestClient) -> None:
    found = client.post("/api/translate", json=ASKED).json()["translations"]
    assert [each["text"] for each in found] == TARGETS[:2]
    assert all(each["score"] < 0 and each["tokens"] and each["complete"] for each in found)
    assert all("alignment" not in each and "alternatives" not in each for each in found)
    assert found[0]["models"]


def test_alternatives_alignments_and_terms_come_if_they_are_asked_for(client: TestClient) -> None:
    [found, _] = client.post("/api/translate", json={**ASKED, "glossary": {"cat": "Hund"}}).json()["translations"]
    assert "Hund" in found["text"]
    assert found["terms"] == [{"source": "cat", "requested": ["Hund"], "status": "used"}]
    chosen = {"alternatives": 2, "alignments": True, "beam": 5, "length_penalty": 0.5}
    [found, _] = client.post("/api/translate", json={**ASKED, **chosen}).json()["translations"]
    assert len(found["alternatives"]) == 2
    assert all(each["score"] <= found["score"] for each in found["alternatives"])
    words = len(SOURCES[0].split()), len(found["text"].split())
    assert found["alignment"]
    assert all(source < words[0] and target < words[1] for source, target in found["alignment"])


def test_alternatives_with_markup_are_texts(client: TestClient) -> None:
    asked = {**ASKED, "texts": [f"<p>{SOURCES[0]}</p>"], "format": "html", "alternatives": 2}
    [found] = client.post("/api/translate", json=asked).json()["translations"]
    assert len({found["text"], *(each["text"] for each in found["alternatives"])}) == 3


def test_the_source_language_is_detected(client: TestClient) -> None:
    found = client.post("/api/translate", json={"texts": SOURCES[:1], "target": "de"}).json()["translations"][0]
    assert found["detected"]["language"] == found["source"] == "en"


@pytest.mark.parametrize(
    "wrong",
    [
        {"texts": []},
        {"texts": "x"},
        {"texts": [1]},
        {"target": None},
        {"target": "zz"},
        {"format": "pdf"},
        {"beam": 9},
        {"beam": "4"},
        {"alternatives": 9},
        {"alternatives": 10**9},
        {"length_penalty": -1},
        {"no_repeat": 1.5},
        {"glossary": ["a"]},
        {"glossary": {"a": 1}},
        {"glossary": {"": "a"}},
        {"model": "none"},
        {"pivot": 1},
    ],
)
def test_what_makes_no_sense_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert refused(client.post("/api/translate", json={**ASKED, **wrong}))


def test_models_are_listed_with_their_directions(client: TestClient) -> None:
    [model] = client.get("/api/models").json()["models"]
    assert model["kind"] == "translation"
    assert ["en", "de"] in model["directions"]


def test_a_translation_begins_as_it_is_told(client: TestClient) -> None:
    for text, prefix in ((SOURCES[0], "Ein Hund"), (" ".join([*SOURCES[:9]] * 2), "Meine Schwester")):  # short and long
        asked = {**ASKED, "texts": [text], "prefix": prefix, "sentences": True}
        [found] = client.post("/api/translate", json=asked).json()["translations"]
        assert found["text"].startswith(prefix)
        [plain] = client.post("/api/translate", json={**asked, "prefix": None}).json()["translations"]
        assert [each["text"] for each in found["sentences"][1:]] == [each["text"] for each in plain["sentences"][1:]]
        assert not plain["text"].startswith(prefix)


def test_sentences_make_up_the_text(client: TestClient) -> None:
    text = f"{' '.join(SOURCES[:8])}\n\n{SOURCES[8]}"
    asked = {**ASKED, "texts": [text], "sentences": True, "alignments": True, "alternatives": 2}
    [found] = client.post("/api/translate", json=asked).json()["translations"]
    sentences = found["sentences"]
    assert len(sentences) == 9
    assert "".join(each["source"] + each["separator"] for each in sentences) == text
    assert "".join(each["text"] + each["separator"] for each in sentences) == found["text"]
    assert [each["text"] for each in sentences] == TARGETS[:9]
    assert all(each["alignment"] and each["score"] < 0 and len(each["alternatives"]) == 2 for each in sentences)


@pytest.mark.parametrize("wrong", [{"prefix": 1}, {"prefix": "x" * 1001}, {"prefix": "x", "format": "html"}])
def test_a_beginning_that_cannot_be_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert refused(client.post("/api/translate", json={**ASKED, **wrong}))


def test_words_have_probabilities_and_others_in_their_place(client: TestClient) -> None:
    asked = {"text": SOURCES[0], "translation": TARGETS[0], "source": "en", "target": "de"}
    found = client.post("/api/words", json=asked).json()
    assert [each["word"] for each in found["words"]] == TARGETS[0].split()
    assert all(0 < each["probability"] <= 1 for each in found["words"])
    assert found["model"]
    choices = client.post("/api/words", json={**asked, "word": 1, "choices": 3}).json()["choices"]
    assert choices[0]["word"] == TARGETS[0].split()[1]
    assert choices[0]["text"] == TARGETS[0]
    assert len(choices) <= 3
    other = client.post("/api/words", json={**asked, "translation": TARGETS[5]}).json()["words"]
    assert min(each["probability"] for each in other) < min(each["probability"] for each in found["words"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""},
        {"text": "x" * 2000},
        {"translation": None},
        {"translation": " "},
        {"source": "auto"},
        {"source": None},
        {"target": "en"},
        {"target": "zz"},
        {"word": 99},
        {"word": -1},
        {"word": "0"},
        {"word": 0, "choices": 0},
        {"word": 0, "choices": 13},
        {"model": "none"},
    ],
)
def test_words_of_what_makes_no_sense_are_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    asked = {"text": SOURCES[0], "translation": TARGETS[0], "source": "en", "target": "de"}
    assert refused(client.post("/api/words", json={**asked, **wrong}))
