"""Routes of Headwise's own API: translations with scores, alignments and terms; models; the inside of a translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.decode.translation import Translation
from headwise.serve.clients import Client
from headwise.serve.http.answers import Api, json_answer, while_connected
from headwise.serve.http.gate import Gate
from headwise.serve.http.json_object import read_object
from headwise.serve.libretranslate.routes import error_body
from headwise.serve.own.inside_routes import InsideRoutes
from headwise.serve.own.own_fields import (
    given_languages,
    given_texts,
    request_options,
    words_request,
)
from headwise.serve.service import Service
from headwise.serve.translate_request import RequestOptions, TextTranslation, TranslatedSentence


class OwnApi:
    """Handlers of Headwise's own routes."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate

    def api(self) -> Api:
        """The routes, and errors as `{"error": message}`."""
        routes = [
            Route("/api/translate", self.translate, methods=["POST"]),
            Route("/api/words", self.words, methods=["POST"]),
            Route("/api/models", self.models, methods=["GET"]),
            *InsideRoutes(self._service, self._admit).routes(),
        ]
        return Api("/api/", routes, error_body)

    async def translate(self, request: Request) -> Response:
        """POST /api/translate"""
        fields = await read_object(request, self._service.settings)
        client = self._admit(request)
        texts = given_texts(fields)
        options = request_options(fields, self._service.settings.glossary_limit)
        source, target = given_languages(fields)
        found = await while_connected(request, self._service.translate(texts, source, target, options, client))
        return json_answer({"translations": [_described(each, options) for each in found]})

    async def words(self, request: Request) -> Response:
        """POST /api/words"""
        fields = await read_object(request, self._service.settings)
        client = self._admit(request)
        asked = words_request(fields)
        return json_answer(await while_connected(request, self._service.words(asked, client)))

    async def models(self, request: Request) -> Response:
        """GET /api/models"""
        self._admit(request)
        catalogue = self._service.catalogue
        translated: dict[str, list[list[str]]] = {}
        for direction, step in catalogue.directions.items():
            translated.setdefault(step.model.name, []).append(list(direction))
        described = [
            {
                "name": each.name,
                "kind": each.kind,
                "directions": translated.get(each.name, []),
                "checkpoints": each.checkpoints,
            }
            for each in catalogue.models
        ]
        return json_answer({"models": described})

    def _admit(self, request: Request) -> Client:
        """The client of a request, whose key is a bearer token."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return self._gate.admit(request, key.strip() if scheme.lower() == "bearer" else None)


def _described(found: TextTranslation, options: RequestOptions) -> dict[str, Any]:
    answer: dict[str, Any] = {"text": found.text, "source": found.source, "target": found.target}
    answer["models"] = list(found.models)
    if found.detected is not None:
        answer["detected"] = {"language": found.detected.language, "probability": found.detected.probability}
    if found.pivot:
        answer["pivot"] = found.pivot
    if found.corrected:
        answer["corrected"] = True
    if found.details is not None:
        answer |= _details(found.details, options, found.sentences)
    elif found.alternatives:
        answer["alternatives"] = [{"text": each} for each in found.alternatives]
    return answer


def _sentence(found: TranslatedSentence, options: RequestOptions) -> dict[str, Any]:
    answer = {"source": found.source, "separator": found.separator, "text": found.translation.text}
    return answer | _details(found.translation, replace(options, sentences=False))


def _details(
    found: Translation, options: RequestOptions, sentences: Sequence[TranslatedSentence] = ()
) -> dict[str, Any]:
    answer: dict[str, Any] = {"score": found.score, "tokens": found.tokens, "complete": found.complete}
    if found.missing_numbers:
        answer["missing_numbers"] = list(found.missing_numbers)
    if options.alignments:
        answer["alignment"] = [list(pair) for pair in found.alignment]
    if options.alternatives:
        answer["alternatives"] = [
            {"text": each.text, "score": each.score, "tokens": each.tokens} for each in found.alternatives
        ]
    if options.sentences:
        answer["sentences"] = [_sentence(each, options) for each in sentences]
    if options.glossary:
        answer["terms"] = [asdict(each) for each in found.terms]
    return answer
