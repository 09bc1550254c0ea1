"""DeepL's API for texts, languages and usage, as its clients use it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwise.serve.security.api_keys import ApiKeys
from headwise.serve.service import Service
from headwise.serve.service_errors import QuotaError
from headwise.serve.state.character_quota import CharacterQuota
from tests.serve.conftest import ready_client
from tests.taught import SOURCES, TARGETS

ASKED = {"text": [SOURCES[0]], "target_lang": "DE", "source_lang": "EN"}


def refused(answer: Any, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    return str(answer.json()["message"])


def translated(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["text"] for each in answer.json()["translations"]]


def test_texts_come_as_json_or_repeated_in_a_form(client: TestClient) -> None:
    for way in ("json", "data"):
        answer = client.post("/v2/translate", **{way: {**ASKED, "text": SOURCES[:3]}})
        assert translated(answer) == TARGETS[:3]
    first = answer.json()["translations"][0]
    assert first == {"detected_source_language": "EN", "text": TARGETS[0], "billed_characters": len(SOURCES[0])}


def test_the_source_language_is_detected_if_it_is_left_open(client: TestClient) -> None:
    answer = client.post("/v2/translate", json={"text": [TARGETS[0]], "target_lang": "en-gb"})
    assert answer.json()["translations"][0]["detected_source_language"] == "DE"
    assert translated(answer) == [SOURCES[0]]


def test_variants_are_the_language_that_they_are_of(client: TestClient) -> None:
    for target in ("EN-GB", "en-us", "EN"):
        assert translated(client.post("/v2/translate", json={"text": [TARGETS[0]], "target_lang": target}))


def test_tags_stay_and_ignored_elements_are_not_translated(client: TestClient) -> None:
    text = f"<Para>{SOURCES[0]}</Para><x id='1'/><Para>{SOURCES[1]}</Para><Keep>{SOURCES[2]}</Keep>"
    chosen = {**ASKED, "text": [text], "tag_handling": "xml", "ignore_tags": "Keep", "splitting_tags": ["Para", "x"]}
    [made] = translated(client.post("/v2/translate", json=chosen))
    kept = f"<Para>{TARGETS[0]}</Para><x id='1'/><Para>{TARGETS[1]}</Para><Keep>{SOURCES[2]}</Keep>"
    assert made == kept
    [page] = translated(client.post("/v2/translate", json={**ASKED, "text": [text], "tag_handling": "html"}))
    assert page.count("<Para>") == 2


def test_newlines_end_sentences_unless_the_request_says_no(client: TestClient) -> None:
    asked = {**ASKED, "text": [f"{SOURCES[0]}\n{SOURCES[1]}"]}
    assert translated(client.post("/v2/translate", json=asked)) == [f"{TARGETS[0]}\n{TARGETS[1]}"]
    [joined] = translated(client.post("/v2/translate", json={**asked, "split_sentences": "nonewlines"}))
    assert "\n" not in joined


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": None},
        {"text": []},
        {"text": [1]},
        {"text": {"a": 1}},
        {"target_lang": None},
        {"target_lang": "ZZ"},
        {"target_lang": 3},
        {"formality": "rude"},
        {"formality": "more"},
        {"tag_handling": "pdf"},
        {"split_sentences": "2"},
        {"preserve_formatting": "maybe"},
        {"tag_handling": "xml", "ignore_tags": [1]},
        {"source_lang": None, "glossary_id": "x"},
    ],
)
def test_what_makes_no_sense_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert refused(client.post("/v2/translate", json={**ASKED, **wrong}))


def test_a_preference_and_context_are_accepted(client: TestClient) -> None:
    chosen = {**ASKED, "formality": "prefer_less", "context": "A zoo.", "preserve_formatting": True}
    assert translated(client.post("/v2/translate", json=chosen)) == TARGETS[:1]


def test_languages_may_be_asked_for_in_a_body(client: TestClient) -> None:
    sources = client.get("/v2/languages").json()
    targets = client.request("GET", "/v2/languages", data={"type": "target"}).json()
    assert {"language": "DE", "name": "German"} in sources
    assert {"EN-GB", "EN-US", "DE"} <= {each["language"] for each in targets}
    assert "EN" not in {each["language"] for each in targets}
    assert targets == client.post("/v2/languages", json={"type": "target"}).json()
    assert refused(client.get("/v2/languages?type=both"))


def test_paths_and_methods_that_do_not_exist_are_errors_of_this_api(client: TestClient) -> None:
    assert refused(client.get("/v2/nothing"), 404)
    assert refused(client.get("/v2/translate"), 405)


def test_a_key_is_needed_where_the_settings_say_so_and_its_quota_holds(shared_service: Service, tmp_path: Path) -> None:
    settings = replace(shared_service.settings, state=str(tmp_path), key_required=True, quota=len(SOURCES[0]) + 1)
    key, other = (ApiKeys(tmp_path).add(name) for name in ("one", "two"))
    with ready_client(Service(settings)) as client:
        assert refused(client.post("/v2/translate", json=ASKED), 403)
        client.headers["Authorization"] = "DeepL-Auth-Key wrong"
        assert refused(client.get("/v2/usage"), 403)
        client.headers["Authorization"] = f"DeepL-Auth-Key {key}"
        assert translated(client.post("/v2/translate", json=ASKED)) == TARGETS[:1]
        used = client.get("/v2/usage").json()
        assert used == {"character_count": len(SOURCES[0]), "character_limit": len(SOURCES[0]) + 1}
        assert "Quota" in refused(client.post("/v2/translate", json=ASKED), 456)
        client.headers["Authorization"] = f"DeepL-Auth-Key {other}"
        assert client.get("/v2/usage").json()["character_count"] == 0


def test_requests_at_the_same_time_keep_a_quota_together(tmp_path: Path) -> None:
    quota = CharacterQuota(tmp_path, 10)
    with quota.counted("one", 6):
        with pytest.raises(QuotaError), quota.counted("one", 5):
            raise AssertionError("beyond the quota")
        with pytest.raises(KeyError), quota.counted("one", 4):
            raise KeyError  # what is not translated does not count
    assert (quota.used("one"), quota.used("two")) == (6, 0)
    quota.close()
