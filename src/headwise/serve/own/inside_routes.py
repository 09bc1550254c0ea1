"""Routes to the inside of models: traces, decoding trees, comparisons, roles and importance of heads, checkpoints."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headwise.serve.catalogue import ModelStep, ServedModel
from headwise.serve.clients import Client
from headwise.serve.http.answers import while_connected
from headwise.serve.http.json_object import JsonObject, read_object
from headwise.serve.own import inside_fields as fields_of
from headwise.serve.service import Service
from headwise.serve.service_errors import InvalidRequestError, ServiceError
from headwise.serve.text_models import place_of
from headwise.serve.translate_request import RequestOptions

Json = dict[str, Any]

LONGEST_IMAGE = 6_000_000
"""Characters of an image in base64."""
KEPT = 64_000_000
"""Characters of answers that are kept for the next request."""
LINES = "application/x-ndjson"


class InsideRoutes:
    """Handlers of the routes below /api/inside/."""

    def __init__(self, service: Service, admit: Callable[[Request], Client]) -> None:
        self._service = service
        self._admit = admit
        self._kept = KeptAnswers(KEPT)

    def routes(self) -> list[Route]:
        """The routes, all of them POST."""
        handlers = {
            "trace": self.trace,
            "decode": self.decode,
            "compare": self.compare,
            "roles": self.roles,
            "importance": self.importance,
            "checkpoints": self.checkpoints,
            "family": self.family,
            "positions": self.positions,
            "page": self.page,
        }
        return [Route(f"/api/inside/{name}", handler, methods=["POST"]) for name, handler in handlers.items()]

    async def trace(self, request: Request) -> Response:
        """POST /api/inside/trace"""
        given = await self._read(request)
        asked = {**self._question(given), **fields_of.shown(given)}
        return await self._translated(request, given, "trace", asked)

    async def decode(self, request: Request) -> Response:
        """POST /api/inside/decode"""
        given = await self._read(request)
        return await self._translated(request, given, "decode", self._question(given))

    async def checkpoints(self, request: Request) -> Response:
        """POST /api/inside/checkpoints"""
        given = await self._read(request)
        return await self._translated(request, given, "checkpoints", self._question(given))

    async def roles(self, request: Request) -> Response:
        """POST /api/inside/roles"""
        given = await self._read(request)
        return await self._translated(request, given, "roles", {"texts": fields_of.given_sentences(given)})

    async def compare(self, request: Request) -> Response:
        """POST /api/inside/compare"""
        given = await self._read(request)
        text = fields_of.sentence(given)
        message: Json = {"fields": fields_of.shown(given)}
        for side in ("left", "right"):
            own = JsonObject(given.get(side, dict, "an object") or {})
            step = self._step(given, own.get("model", str, "the name of a model"))
            asked = {"text": text, "source": step.source, "target": step.target}
            translation = own.get("translation", str, "a string")
            asked |= {"translation": translation} if translation is not None else {}
            asked |= fields_of.settings(own, self._service.settings.beam_limit)
            message[side] = {"fields": asked, **place_of(step.model)}
        return await self._answer(request, None, "compare", message)

    async def importance(self, request: Request) -> Response:
        """POST /api/inside/importance: JSON lines of progress, the last of which is the result."""
        given = await self._read(request)
        pairs = fields_of.test_pairs(given)
        step = self._step(given)
        asked = {"pairs": pairs, "source": step.source, "target": step.target, "heads": []}
        first = await while_connected(request, self._bleu(step.model, asked))  # an error is an answer of its own
        return StreamingResponse(self._importance(step.model, asked, first["bleu"]), media_type=LINES)

    async def family(self, request: Request) -> Response:
        """POST /api/inside/family"""
        given = await self._read(request)
        name = given.get("model", str, "the name of a model")
        if not name:
            raise InvalidRequestError("'model' is missing")
        asked: Json = {"generate": given.whole("generate", 0, 64, 0)}
        if image := given.get("image", str, "an image file in base64"):
            if len(image) > LONGEST_IMAGE:
                raise InvalidRequestError(f"'image' must have at most {LONGEST_IMAGE} characters")
            asked["image"] = image
        else:
            asked["text"] = fields_of.sentence(given)
        model = self._service.catalogue.model(name)
        return await self._answer(request, model, "family", {"fields": asked})

    async def positions(self, request: Request) -> Response:
        """POST /api/inside/positions"""
        given = await self._read(request)
        kind = given.get("kind", str, "sinusoidal, learned or rotary") or "sinusoidal"
        name = given.get("model", str, "the name of a model")
        asked = {"kind": kind, "width": given.whole("width", 1, 1024, 64), "length": given.whole("length", 1, 512, 64)}
        model = self._service.catalogue.model(name) if name else None
        return await self._answer(request, model, "positions", {"fields": asked})

    async def page(self, request: Request) -> Response:
        """POST /api/inside/page"""
        given = await self._read(request)
        answer = await self._translated(request, given, "page", self._question(given))
        name = {"Content-Disposition": 'attachment; filename="headwise.html"'}
        return Response(json.loads(bytes(answer.body)), media_type="text/html", headers=name)

    async def _read(self, request: Request) -> JsonObject:
        fields = await read_object(request, self._service.settings)
        self._admit(request)
        return fields

    def _question(self, given: JsonObject) -> Json:
        return fields_of.question(given, self._service.settings.beam_limit)

    def _step(self, given: JsonObject, model: str | None = None) -> ModelStep:
        """The one model that translates the direction of a request."""
        source, target = fields_of.languages(given)
        name = model or given.get("model", str, "the name of a model")
        steps = self._service.steps(source, target, RequestOptions(model=name, pivot=False))
        if not steps:
            raise InvalidRequestError("'source' and 'target' are the same language")
        return steps[0]

    async def _translated(self, request: Request, given: JsonObject, what: str, asked: Json) -> Response:
        """The answer of the model that translates the direction of a request."""
        step = self._step(given)
        fields = {**asked, "source": step.source, "target": step.target}
        return await self._answer(request, step.model, what, {"fields": fields})

    async def _answer(self, request: Request, model: ServedModel | None, what: str, message: Json) -> Response:
        """The worker's answer, which is kept: a view that is opened again need not wait."""
        place = place_of(model) if model else {}
        key = json.dumps([what, message, place], sort_keys=True)
        found = self._kept.get(key)
        if found is None:
            found = await while_connected(request, self._service.texts.inside(model, what, message))
            self._kept.put(key, found)
        return Response(found, media_type="application/json")

    async def _bleu(self, model: ServedModel, asked: Json) -> Json:
        found: Json = json.loads(await self._service.texts.inside(model, "bleu_without", {"fields": asked}))
        return found

    async def _importance(self, model: ServedModel, asked: Json, whole: float) -> AsyncIterator[str]:
        """One question per head, so that other requests need not wait for all of them."""
        found: list[Json] = []
        try:
            heads = json.loads(await self._service.texts.inside(model, "heads", {}))
            for head in heads:
                found.append(await self._bleu(model, {**asked, "heads": [head], "whole": whole}))
                yield _line({"done": len(found), "of": len(heads), "head": found[-1]})
            yield _line({"bleu": whole, "heads": found})
        except ServiceError as error:
            yield _line({"error": str(error)})


def _line(value: Json) -> str:
    return json.dumps(value) + "\n"


class KeptAnswers:
    """A cache of answers with a limit in characters; the least recently used ones are dropped first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._kept: OrderedDict[str, str] = OrderedDict()

    def get(self, key: str) -> str | None:
        """The answer to a question, if it is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, answer: str) -> None:
        """Keep an answer."""
        self._used += len(answer) - len(self._kept.pop(key, ""))
        self._kept[key] = answer
        while self._used > self._size:
            self._used -= len(self._kept.popitem(last=False)[1])
