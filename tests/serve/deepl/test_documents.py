"""DeepL's documents: uploaded, translated in the background, fetched once."""

import time
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwise.serve import document_service
from tests.serve.deepl.test_texts import refused
from tests.taught import SOURCES, TARGETS

PAGE = f"<html><body><p>{SOURCES[0]}</p></body></html>".encode()


def upload(client: TestClient, name: str = "page.html", data: bytes = PAGE, **fields: str) -> Any:
    return client.post("/v2/document", data={"target_lang": "DE", **fields}, files={"file": (name, data)})


def finished(client: TestClient, handle: dict[str, str]) -> dict[str, Any]:
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found: dict[str, Any] = client.post(path, json=key).json()
        if found["status"] in ("done", "error"):
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_a_document_is_translated_and_can_be_fetched_once(client: TestClient) -> None:
    handle = upload(client, source_lang="EN").json()
    found = finished(client, handle)
    assert found["status"] == "done"
    assert found["billed_characters"] == len(SOURCES[0])
    path, key = f"/v2/document/{handle['document_id']}/result", {"document_key": handle["document_key"]}
    answer = client.post(path, data=key)
    assert TARGETS[0].encode() in answer.content
    assert answer.headers["content-disposition"] == 'attachment; filename="translation.html"'
    assert refused(client.post(path, data=key), 404)


def test_another_key_does_not_open_a_document(client: TestClient) -> None:
    handle = upload(client).json()
    finished(client, handle)
    for way in ("", "/result"):
        path = f"/v2/document/{handle['document_id']}{way}"
        assert refused(client.post(path, json={"document_key": "ü"}), 404)
        assert refused(client.post(path, json={}))


def test_a_document_that_cannot_be_read_says_so_in_its_status(client: TestClient) -> None:
    found = finished(client, upload(client, name="letter.docx").json())
    assert found["status"] == "error"
    assert found["error_message"]


def test_what_cannot_be_translated_is_refused_at_once(client: TestClient) -> None:
    assert refused(upload(client, name="program.exe"))
    assert refused(upload(client, name="../../etc/passwd"))
    assert refused(upload(client, target_lang="ZZ"))
    assert refused(upload(client, output_format="pdf"))
    assert refused(client.post("/v2/document", data={"target_lang": "DE"}))
    assert "missing columns parameter" in refused(upload(client, name="prices.csv"))


def test_a_format_whose_package_is_missing_is_refused_at_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_service, "installed", lambda package: False)
    assert "headwise[documents]" in refused(upload(client, name="letter.pdf"), 503)


def test_a_table_is_translated_by_the_columns_that_are_named(client: TestClient) -> None:
    table = f"id\tText\n1\t{SOURCES[0]}\n".encode()
    handle = upload(client, name="prices.tsv", data=table, source_lang="EN", columns="Text").json()
    assert finished(client, handle)["status"] == "done"
    path = f"/v2/document/{handle['document_id']}/result"
    assert TARGETS[0] in client.post(path, data={"document_key": handle["document_key"]}).text


def test_an_unexpected_failure_is_in_the_status_and_its_place_in_the_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(document_service, "open_document", lambda *given: 1 // 0)
    found = finished(client, upload(client).json())
    assert found["error_message"] == "the server failed: see its log"
    assert "a document failed: ZeroDivisionError" in caplog.text
    assert "1 // 0" in caplog.text
