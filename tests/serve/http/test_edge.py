"""Failures at the edge of the application: JSON for the client, and where they happened for the log."""

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from headwise.serve.app import make_app
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings
from tests.serve.conftest import ready_client


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


def test_the_bodies_of_all_requests_together_have_a_limit(small_folder: Path, tmp_path: Path) -> None:
    service = Service(ServeSettings(models=str(small_folder), state=str(tmp_path), bodies_total=0.01))
    client = TestClient(make_app(service))
    for _ in range(3):
        assert client.post("/detect", json={"q": "a" * 8_000}).status_code == 200
        answer = client.post("/detect", json={"q": "a" * 12_000})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert "too much is being sent" in answer.json()["error"]
    assert service.counters.refusals["bodies"] == 3


@pytest.mark.parametrize(("origin", "allowed"), [("https://a.example", True), ("https://b.example", False)])
def test_pages_of_named_origins_may_use_every_method(
    shared_service: Service, tmp_path: Path, origin: str, allowed: bool
) -> None:
    settings = replace(shared_service.settings, state=str(tmp_path), cors="https://a.example")
    with ready_client(Service(settings)) as client:
        for method in ("GET", "POST", "DELETE"):
            headers = {"Origin": origin, "Access-Control-Request-Method": method}
            answer = client.options("/v2/glossaries/1", headers=headers)
            assert (answer.status_code == 200) is allowed
            assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
