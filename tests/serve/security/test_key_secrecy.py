"""API keys stay secret: they are compared in constant time, and never shown in an answer, a metric or the log."""

import hmac
import logging
from pathlib import Path
from typing import Any

import pytest

from headwise.serve.security import api_keys
from headwise.serve.security.api_keys import ApiKeys
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings
from tests.serve.conftest import ready_client
from tests.taught import SOURCES

ASKED = {"q": SOURCES[0], "source": "en", "target": "de"}
WRONG = "hw_" + "W" * 43


def test_every_stored_key_is_compared_whichever_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ApiKeys(tmp_path)
    made = [keys.add(name) for name in ("first", "second", "third")]
    compared: list[tuple[str, str]] = []

    def compare(one: str, two: str) -> bool:
        compared.append((one, two))
        return hmac.compare_digest(one, two)

    monkeypatch.setattr(api_keys, "hmac", type("Recorder", (), {"compare_digest": staticmethod(compare)}))
    for given in (*made, WRONG):
        compared.clear()
        keys.find(given)
        assert len(compared) == 3
        assert all(len(one) == len(two) == 64 for one, two in compared), "digests, whose length tells nothing"


def exchanges(key: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Requests with a key in every place where one can be: methods, paths and what else is sent."""
    body = {**ASKED, "api_key": key}
    deepl, bearer = {"authorization": f"DeepL-Auth-Key {key}"}, {"authorization": f"Bearer {key}"}
    return [
        ("POST", "/translate", {"json": body}),
        ("POST", "/translate", {"data": body}),
        ("POST", "/translate", {"params": body}),
        ("POST", "/translate", {"json": {**body, "source": key}}),
        ("POST", "/translate", {"json": {**body, "q": 5}}),
        ("POST", "/translate", {"content": f'{{"api_key": "{key}", '}),
        ("POST", "/detect", {"data": {"q": "x", "api_key": key}}),
        ("POST", "/suggest", {"data": {**body, "s": "y"}}),
        ("POST", "/translate_file", {"data": body, "files": {"file": ("a.html", b"<p>x</p>")}}),
        ("POST", "/v2/translate", {"data": {"text": "x", "target_lang": "DE"}, "headers": deepl}),
        ("POST", "/v2/translate", {"data": {"text": "x", "target_lang": "ZZ"}, "headers": deepl}),
        ("GET", "/v2/usage", {"headers": deepl}),
        ("GET", "/v1/models", {"headers": bearer}),
        ("POST", "/v1/completions", {"json": {"model": "none", "prompt": "x"}, "headers": bearer}),
        ("POST", "/api/translate", {"json": {"texts": ["x"], "target": "de"}, "headers": bearer}),
        ("GET", f"/{key}", {}),
        ("GET", f"/download_file/{key}", {}),
        ("PUT", f"/translate?api_key={key}", {}),
    ]


def test_no_key_is_in_an_answer_a_metric_or_the_log(
    small_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    right = ApiKeys(tmp_path).add("someone")
    settings = ServeSettings(models=str(small_folder), state=str(tmp_path), workers=1, threads=1, key_required=True)
    seen = []
    with caplog.at_level(logging.DEBUG), ready_client(Service(settings)) as client:
        for key in (right, WRONG):
            for method, path, given in exchanges(key):
                answer = client.request(method, path, **given)
                statuses = (400, 403, 404, 405) if key == WRONG else (200, 400, 403, 404, 405)
                assert answer.status_code in (*statuses, 401), (method, path, answer.text)
                if "source" not in answer.text:
                    seen.append(f"{answer.text} {answer.headers}")
        metrics = client.get("/metrics").text
    assert "headwise_refused_total" in metrics
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("headwise", "uvicorn"))]
    assert any("/translate" in line for line in ours), "the log must say something"
    for text in (metrics, *ours, *seen):
        assert right not in text
        assert WRONG not in text
        assert "someone" not in text
