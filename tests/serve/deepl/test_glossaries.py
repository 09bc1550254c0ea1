"""DeepL's glossaries: stored durably for the key that made them, and applied to translations."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwise.serve.security.api_keys import ApiKeys
from headwise.serve.service import Service
from tests.serve.conftest import ready_client
from tests.serve.deepl.test_texts import refused, translated

NEW = {"name": "Animals", "source_lang": "en", "target_lang": "de", "entries": "cat\tHund\nhouse\tHaus"}


def made(client: TestClient, **other: Any) -> str:
    answer = client.post("/v2/glossaries", json={**NEW, **other})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["glossary_id"])


def test_a_glossary_is_made_listed_read_and_deleted(client: TestClient) -> None:
    id = made(client)
    found = client.get(f"/v2/glossaries/{id}").json()
    assert found["entry_count"] == 2
    assert found["ready"] is True
    assert found in client.get("/v2/glossaries").json()["glossaries"]
    assert client.get(f"/v2/glossaries/{id}/entries").text == NEW["entries"]
    assert client.delete(f"/v2/glossaries/{id}").status_code == 204
    assert refused(client.get(f"/v2/glossaries/{id}"), 404)
    assert refused(client.delete(f"/v2/glossaries/{id}"), 404)
    assert {"source_lang": "en", "target_lang": "de"} in client.get("/v2/glossary-language-pairs").json()[
        "supported_languages"
    ]


def test_a_translation_has_the_terms_of_its_glossary(client: TestClient) -> None:
    asked = {"text": ["The cat sees the house."], "source_lang": "EN", "target_lang": "DE"}
    assert "Hund" not in translated(client.post("/v2/translate", json=asked))[0]
    id = made(client)
    assert "Hund" in translated(client.post("/v2/translate", json={**asked, "glossary_id": id}))[0]
    page = {**asked, "text": ["<p>The cat sees the house.</p>"], "tag_handling": "html", "glossary_id": id}
    assert "Hund" in translated(client.post("/v2/translate", json=page))[0]
    other = {**asked, "source_lang": "DE", "target_lang": "EN-GB", "glossary_id": id}
    assert "another language pair" in refused(client.post("/v2/translate", json=other))
    assert refused(client.post("/v2/translate", json={**asked, "glossary_id": "unknown"}), 404)


def test_a_request_may_name_several_glossaries(client: TestClient) -> None:
    """The official clients send a list with texts, and one field with commas with documents."""
    first, second = made(client, entries="cat\tHund"), made(client, entries="cat\tMaus\nhouse\tZelt")
    asked = {"text": ["The cat sees the house."], "source_lang": "EN", "target_lang": "DE"}
    for ids in ([first, second], f"{first},{second}"):
        [text] = translated(client.post("/v2/translate", json={**asked, "glossary_ids": ids}))
        assert "Hund" in text
        assert "Zelt" in text
        assert "Maus" not in text
    assert "at most 5" in refused(client.post("/v2/translate", json={**asked, "glossary_ids": [first] * 6}))
    for wrong in ({"a": 1}, 5, [None]):
        assert "list of strings" in refused(client.post("/v2/translate", json={**asked, "glossary_ids": wrong}))


def test_entries_may_be_comma_separated_and_name_their_languages(client: TestClient) -> None:
    id = made(client, entries='"cat, small",Katze,en,de\n', entries_format="csv")
    assert client.get(f"/v2/glossaries/{id}/entries").text == "cat, small\tKatze"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"entries": ""},
        {"entries": "cat"},
        {"entries": "cat\tHund\ncat\tKatze"},
        {"entries": "cat\tHund\tdog"},
        {"entries": "..\t!!"},
        {"entries": 'a,"b', "entries_format": "json"},
        {"entries_format": "xlsx"},
        {"target_lang": "en"},
        {"target_lang": "zz"},
        {"entries": "a" * 60_000 + "\t" + "b" * 60_000},
    ],
)
def test_a_glossary_that_makes_no_sense_is_refused(client: TestClient, wrong: dict[str, Any]) -> None:
    assert refused(client.post("/v2/glossaries", json={**NEW, **wrong}))


def test_glossaries_outlive_the_server_and_belong_to_their_keys(shared_service: Service, tmp_path: Path) -> None:
    settings = replace(shared_service.settings, state=str(tmp_path))
    headers = [{"Authorization": f"DeepL-Auth-Key {ApiKeys(tmp_path).add(name)}"} for name in ("one", "two")]
    with ready_client(Service(settings)) as client:
        client.headers.update(headers[0])
        id = made(client)
    with ready_client(Service(settings)) as client:
        assert client.get(f"/v2/glossaries/{id}", headers=headers[0]).json()["name"] == "Animals"
        assert refused(client.get(f"/v2/glossaries/{id}", headers=headers[1]), 404)
        assert client.get("/v2/glossaries", headers=headers[1]).json() == {"glossaries": []}
