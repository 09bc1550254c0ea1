"""The OpenAPI description against the server: the same paths and methods, and answers of the shapes that it names."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route
from starlette.testclient import TestClient

from headwise.serve.app import make_app
from headwise.serve.description.openapi import openapi
from headwise.serve.http.edge import Edge
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings
from tests.taught import SOURCES

SPEC = openapi(ServeSettings())
DIRECTION = {"source": "en", "target": "de"}
DEEPL = {"source_lang": "EN", "target_lang": "DE"}
NEW = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "cat\tHund"}


def valid(value: Any, schema: dict[str, Any]) -> bool:
    found: bool = Draft202012Validator({**schema, "components": SPEC["components"]}).is_valid(value)
    return found


def test_it_has_the_paths_and_methods_of_the_server(shared_service: Service) -> None:
    app = make_app(shared_service)
    assert isinstance(app, Edge)
    routes = {
        (route.path, method.lower())
        for route in app._app.routes  # type: ignore[attr-defined]
        if isinstance(route, Route) and route.include_in_schema
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, operations in SPEC["paths"].items() for method in operations}
    assert described == routes


def test_its_schemas_are_valid_and_its_references_lead_somewhere(client: TestClient) -> None:
    assert client.get("/spec").json() == SPEC
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"<code>{path}</code>" in page.text for path in SPEC["paths"])
    for path, operations in SPEC["paths"].items():
        for method, described in operations.items():
            contents = [*described["responses"].values(), described.get("requestBody", {})]
            for each in (content for group in contents for content in group.get("content", {}).values()):
                Draft202012Validator.check_schema(each["schema"])
                reference = each["schema"].get("$ref", "").rpartition("/")[2]
                assert not reference or reference in SPEC["components"]["schemas"], (path, method)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/health", None),
        ("get", "/spec", None),
        ("get", "/languages", None),
        ("get", "/frontend/settings", None),
        ("post", "/translate", {"q": SOURCES[:2], **DIRECTION, "alternatives": 1}),
        ("post", "/translate", {"q": SOURCES[0], "source": "auto", "target": "de", "format": "html"}),
        ("post", "/translate", {"q": 5, **DIRECTION}),
        ("post", "/detect", {"q": SOURCES[0]}),
        ("post", "/detect", {}),
        ("post", "/suggest", {"q": "a", "s": "b", **DIRECTION}),
        ("post", "/v2/translate", {"text": SOURCES[:1], **DEEPL}),
        ("post", "/v2/translate", {"text": [1], **DEEPL}),
        ("post", "/v2/languages", {"type": "target"}),
        ("get", "/v2/usage", None),
        ("get", "/v2/glossary-language-pairs", None),
        ("get", "/v2/glossaries", None),
        ("post", "/v2/glossaries", NEW),
        ("post", "/v2/glossaries", {"name": "a"}),
        ("get", "/v1/models", None),
        ("post", "/v1/completions", {"prompt": "x"}),
        ("post", "/v1/chat/completions", {"model": "x", "messages": []}),
        ("post", "/v1/embeddings", {"model": "x"}),
        ("get", "/api/models", None),
        ("post", "/api/translate", {"texts": SOURCES[:1], **DIRECTION, "format": "html", "alternatives": 1}),
        ("post", "/api/translate", {"texts": SOURCES[:1], **DIRECTION, "alternatives": 1, "alignments": True}),
        ("post", "/api/translate", {"texts": "x", **DIRECTION}),
        ("post", "/api/inside/trace", {"text": 1, **DIRECTION}),
        ("post", "/api/inside/trace", {"text": SOURCES[0], **DIRECTION}),
        ("post", "/api/inside/trace", {"text": SOURCES[0], **DIRECTION, "detail": "all"}),
        ("post", "/api/inside/trace", {"text": SOURCES[0], **DIRECTION, "detail": "brief"}),
        ("post", "/api/inside/decode", {"text": SOURCES[0], **DIRECTION, "beam": 2}),
        ("post", "/api/inside/compare", {"text": SOURCES[0], **DIRECTION, "left": {"beam": 1}, "right": {}}),
        ("post", "/api/inside/roles", {"texts": SOURCES[:2], **DIRECTION}),
        ("post", "/api/inside/checkpoints", {"text": SOURCES[0], "target": "de"}),
        ("post", "/api/inside/positions", {"kind": "rotary", "width": 4, "length": 3}),
        ("get", "/ready", None),  # as it is by now
    ],
)
def test_answers_have_the_shapes_that_it_names(client: TestClient, method: str, path: str, body: Any) -> None:
    """Requests that fit their schema succeed, those that do not are refused, each with an answer as described."""
    described = SPEC["paths"][path][method]
    answer = client.request(method, path, json=body)
    fits = body is None or valid(body, described["requestBody"]["content"]["application/json"]["schema"])
    assert answer.is_success == fits, answer.text
    schema = described["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    assert valid(answer.json(), schema), answer.text
