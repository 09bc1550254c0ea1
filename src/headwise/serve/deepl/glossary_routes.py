"""Routes of DeepL's glossaries. Each is stored for the key that made it, and applied by constrained search."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.serve.clients import Client
from headwise.serve.deepl.deepl_key import deepl_key
from headwise.serve.deepl.deepl_languages import deepl_code
from headwise.serve.http.answers import json_answer
from headwise.serve.http.gate import Gate
from headwise.serve.http.given_fields import GivenFields, read_fields
from headwise.serve.requested_terms import Terms, checked_terms
from headwise.serve.service import Service
from headwise.serve.service_errors import InvalidRequestError, UnsupportedLanguageError
from headwise.serve.state.glossary_store import StoredGlossary
from headwise.serve.translate_request import AUTO
from headwise.text.language.codes import short_code

LONGEST_NAME = 1_024
MOST_GLOSSARIES = 5
"""Glossaries of one request."""
TSV = "text/tab-separated-values"


class GlossaryRoutes:
    """Handlers of DeepL's glossary routes."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate

    def routes(self) -> list[Route]:
        """The routes of glossaries."""
        return [
            Route("/v2/glossary-language-pairs", self.pairs, methods=["GET"]),
            Route("/v2/glossaries", self.create, methods=["POST"]),
            Route("/v2/glossaries", self.list, methods=["GET"]),
            Route("/v2/glossaries/{id}", self.get, methods=["GET"]),
            Route("/v2/glossaries/{id}", self.delete, methods=["DELETE"]),
            Route("/v2/glossaries/{id}/entries", self.entries, methods=["GET"]),
        ]

    async def pairs(self, request: Request) -> Response:
        """GET /v2/glossary-language-pairs"""
        self._admit(request)
        pairs = [
            {"source_lang": deepl_code(source).lower(), "target_lang": deepl_code(target).lower()}
            for source, target in sorted(self._service.catalogue.directions)
        ]
        return json_answer({"supported_languages": pairs})

    async def create(self, request: Request) -> Response:
        """POST /v2/glossaries"""
        service = self._service
        client = self._admit(request)
        fields = await read_fields(request, service.settings)
        service.check_open()
        name = fields.text("name")
        if len(name) > LONGEST_NAME:
            raise InvalidRequestError(f"Invalid request: name must have at most {LONGEST_NAME} characters")
        source, target = (service.catalogue.code(fields.text(field)) for field in ("source_lang", "target_lang"))
        if (source, target) not in service.catalogue.directions:
            raise UnsupportedLanguageError("Unsupported glossary source and target language pair")
        rows = _rows(fields.text("entries"), fields.text("entries_format", "tsv"))
        terms = checked_terms(rows, service.settings.glossary_limit)
        return json_answer(_described(service.glossaries.add(client.key, name, source, target, terms)), 201)

    async def list(self, request: Request) -> Response:
        """GET /v2/glossaries"""
        found = self._service.glossaries.listed(self._admit(request).key)
        return json_answer({"glossaries": [_described(each) for each in found]})

    async def get(self, request: Request) -> Response:
        """GET /v2/glossaries/ID"""
        client = self._admit(request)
        return json_answer(_described(self._service.glossaries.get(client.key, request.path_params["id"])))

    async def delete(self, request: Request) -> Response:
        """DELETE /v2/glossaries/ID"""
        client = self._admit(request)
        self._service.glossaries.remove(client.key, request.path_params["id"])
        return Response(status_code=204)

    async def entries(self, request: Request) -> Response:
        """GET /v2/glossaries/ID/entries, as tab-separated values"""
        client = self._admit(request)
        found = self._service.glossaries.get(client.key, request.path_params["id"])
        return Response("\n".join(f"{source}\t{target}" for source, target in found.terms), media_type=TSV)

    def _admit(self, request: Request) -> Client:
        return self._gate.admit(request, deepl_key(request))


def glossary_terms(service: Service, client: Client, fields: GivenFields, source: str, target: str) -> Terms:
    """The terms of the glossaries that a request names, of which the first that has a term counts; none without one."""
    value = fields.values.get("glossary_ids") or fields.text("glossary_id", "")
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidRequestError("Parameter 'glossary_ids' must be a list of strings.")
    ids = [id.strip() for each in listed for id in each.split(",") if id.strip()]
    if not ids:
        return ()
    if source == AUTO:
        raise InvalidRequestError("Invalid request: a glossary needs source_lang")
    if len(ids) > MOST_GLOSSARIES:
        raise InvalidRequestError(f"Invalid request: glossary_ids must have at most {MOST_GLOSSARIES} glossaries")
    terms: dict[str, str] = {}
    for id in ids:
        found = service.glossaries.get(client.key, id)
        if (found.source, found.target) != (short_code(source), short_code(target)):
            raise InvalidRequestError("Invalid request: the glossary is of another language pair")
        terms = dict(found.terms) | terms
    return tuple(terms.items())


def _rows(text: str, form: str) -> Iterator[tuple[str, str]]:
    """The entries of a glossary: a source and a target term per line; CSV may name their languages in two more."""
    if form not in ("tsv", "csv"):
        raise InvalidRequestError("Invalid request: entries_format must be tsv or csv")
    try:
        rows = (
            list(csv.reader(io.StringIO(text))) if form == "csv" else [each.split("\t") for each in text.splitlines()]
        )
    except csv.Error as error:
        raise InvalidRequestError(f"Invalid request: the entries are not valid CSV: {error}") from None
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) < 2 or not cells[0] or not cells[1] or (form == "tsv" and len(cells) > 2):
            raise InvalidRequestError(f"Invalid request: line {number} of the entries needs a source and a target term")
        yield cells[0], cells[1]


def _described(glossary: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        "source_lang": deepl_code(glossary.source).lower(),
        "target_lang": deepl_code(glossary.target).lower(),
        "creation_time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(glossary.created)) + ".000000Z",
        "entry_count": len(glossary.terms),
    }
