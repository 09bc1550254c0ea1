"""Routes of DeepL's API: texts, languages, usage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.serve.deepl.deepl_key import deepl_key
from headwise.serve.deepl.deepl_languages import deepl_code, source_languages, target_languages
from headwise.serve.deepl.document_jobs import DocumentJobs
from headwise.serve.deepl.document_routes import DocumentRoutes
from headwise.serve.deepl.glossary_routes import GlossaryRoutes, glossary_terms
from headwise.serve.deepl.translate_fields import (
    REPEATED,
    check_formality,
    check_switches,
    given_texts,
    languages,
    markup_options,
)
from headwise.serve.http.answers import Api, json_answer, while_connected
from headwise.serve.http.gate import Gate
from headwise.serve.http.given_fields import read_fields
from headwise.serve.service import Service
from headwise.serve.service_errors import InvalidRequestError, ServiceError
from headwise.serve.translate_request import TextTranslation


class DeepL:
    """Handlers of DeepL's routes."""

    def __init__(self, service: Service, gate: Gate, jobs: DocumentJobs) -> None:
        self._service = service
        self._gate = gate
        self._jobs = jobs

    def api(self) -> Api:
        """The routes, and errors as `{"message": ...}`."""
        routes = [
            Route("/v2/translate", self.translate, methods=["POST"]),
            Route("/v2/languages", self.languages, methods=["GET", "POST"]),
            Route("/v2/usage", self.usage, methods=["GET", "POST"]),
            *GlossaryRoutes(self._service, self._gate).routes(),
            *DocumentRoutes(self._service, self._gate, self._jobs).routes(),
        ]
        return Api("/v2/", routes, error_body)

    async def translate(self, request: Request) -> Response:
        """POST /v2/translate"""
        client = self._gate.admit(request, deepl_key(request))
        fields = await read_fields(request, self._service.settings, repeated=REPEATED)
        texts = given_texts(fields)
        source, target = languages(fields)
        check_formality(fields)
        check_switches(fields)
        options = replace(
            markup_options(fields), glossary=glossary_terms(self._service, client, fields, source, target)
        )
        with self._service.quota.counted(client.key, sum(map(len, texts))):
            found = await while_connected(request, self._service.translate(texts, source, target, options, client))
        return json_answer({"translations": [_translated(*each) for each in zip(texts, found, strict=True)]})

    async def languages(self, request: Request) -> Response:
        """GET /v2/languages, or POST, with the fields in the body"""
        self._gate.admit(request, deepl_key(request))
        fields = await read_fields(request, self._service.settings)
        kind = fields.text("type", "source")
        if kind not in ("source", "target"):
            raise InvalidRequestError("Value for 'type' must be source or target.")
        catalogue = self._service.catalogue
        if kind == "source":
            listed = [{"language": code, "name": name} for code, name in source_languages(catalogue).items()]
            return json_answer(listed)
        targets: list[dict[str, Any]] = [
            {"language": code, "name": name, "supports_formality": False}
            for code, name in target_languages(catalogue).items()
        ]
        return json_answer(targets)

    async def usage(self, request: Request) -> Response:
        """GET /v2/usage"""
        client = self._gate.admit(request, deepl_key(request))
        quota = self._service.quota
        return json_answer({"character_count": quota.used(client.key), "character_limit": quota.limit})


def error_body(error: ServiceError) -> dict[str, Any]:
    """An error in DeepL's shape."""
    return {"message": str(error)}


def _translated(text: str, found: TextTranslation) -> dict[str, Any]:
    return {
        "detected_source_language": deepl_code(found.source),
        "text": found.text,
        "billed_characters": len(text),
    }
