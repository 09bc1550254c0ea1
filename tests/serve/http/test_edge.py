"""Failures at the edge of the application: JSON for the client, and where they happened for the log."""

import pytest
from starlette.testclient import TestClient

from headwise.serve.service import Service


@pytest.mark.parametrize(
    ("path", "name"), [("/translate", "error"), ("/v2/translate", "message"), ("/api/translate", "error")]
)
def test_an_unexpected_failure_is_json_without_details(
    client: TestClient,
    shared_service: Service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    name: str,
) -> None:
    async def fail(*given: object) -> None:
        raise KeyError("a text of a user")

    monkeypatch.setattr(shared_service, "translate", fail)
    asked = {"q": "a", "text": ["a"], "texts": ["a"], "source": "en", "target": "de", "target_lang": "DE"}
    answer = client.post(path, json=asked)
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {name: "the server failed: see its log"}
    assert "KeyError: (message withheld)" in caplog.text
    assert "in fail" in caplog.text
    assert "a text of a user" not in caplog.messages[-1].partition("\n")[0]
