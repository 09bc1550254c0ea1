"""Routes of OpenAI's API."""

from __future__ import annotations

import array
import base64
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headwise.serve.catalogue import ServedModel
from headwise.serve.clients import Client
from headwise.serve.http.answers import Api, json_answer, while_connected
from headwise.serve.http.gate import Gate
from headwise.serve.http.json_object import JsonObject, read_object
from headwise.serve.openai.openai_errors import error_body
from headwise.serve.openai.openai_fields import chat_requests, include_usage, model_name, text_requests
from headwise.serve.openai.text_events import TextAnswer
from headwise.serve.service import Service
from headwise.serve.service_errors import ForbiddenError, InvalidRequestError, UnauthorizedError, UnknownPageError
from headwise.serve.text_models import TextRequest

CAUSAL = ("causal_lm",)
EMBEDDING = ("embed", "masked_lm", "classify", "causal_lm", "translation")


class OpenAI:
    """Handlers of OpenAI's routes."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate

    def api(self) -> Api:
        """The routes, and errors as `{"error": {...}}`."""
        routes = [
            Route("/v1/models", self.models, methods=["GET"]),
            Route("/v1/models/{name}", self.one_model, methods=["GET"]),
            Route("/v1/completions", self.completions, methods=["POST"]),
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/v1/embeddings", self.embeddings, methods=["POST"]),
        ]
        return Api("/v1/", routes, error_body)

    async def models(self, request: Request) -> Response:
        """GET /v1/models"""
        self._admit(request)
        return json_answer({"object": "list", "data": [_described(each) for each in self._service.catalogue.models]})

    async def one_model(self, request: Request) -> Response:
        """GET /v1/models/NAME"""
        self._admit(request)
        return json_answer(_described(self._model(request.path_params["name"])))

    async def completions(self, request: Request) -> Response:
        """POST /v1/completions"""
        fields = await self._fields(request)
        return await self._texts(request, fields, text_requests(fields, self._service.settings), is_chat=False)

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions"""
        fields = await self._fields(request)
        return await self._texts(request, fields, chat_requests(fields, self._service.settings), is_chat=True)

    async def embeddings(self, request: Request) -> Response:
        """POST /v1/embeddings"""
        fields, settings = await self._fields(request), self._service.settings
        value = fields.values.get("input")
        texts: list[Any] = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise InvalidRequestError("'input' must be a string or a list of strings; token ids are not supported")
        if len(texts) > settings.batch_limit or sum(map(len, texts)) > settings.char_limit:
            raise InvalidRequestError(
                f"'input' must have at most {settings.batch_limit} texts, with {settings.char_limit} characters in all"
            )
        form = fields.get("encoding_format", str, "float or base64") or "float"
        if form not in ("float", "base64"):
            raise InvalidRequestError("'encoding_format' must be float or base64")
        model = self._model(model_name(fields), EMBEDDING)
        vectors, tokens = await while_connected(request, self._service.texts.embed(model, texts))
        wanted = fields.whole("dimensions", 1, 1_000_000, len(vectors[0]))
        if wanted != len(vectors[0]):
            raise InvalidRequestError(f"'dimensions' must be {len(vectors[0])} for this model")
        listed = [
            {"object": "embedding", "index": index, "embedding": _packed(each) if form == "base64" else each}
            for index, each in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return json_answer({"object": "list", "data": listed, "model": model.name, "usage": usage})

    async def _texts(
        self, request: Request, fields: JsonObject, requests: list[TextRequest], *, is_chat: bool
    ) -> Response:
        characters = sum(len(each.prompt) + sum(len(m["content"]) for m in each.messages) for each in requests)
        if characters > self._service.settings.char_limit:
            raise InvalidRequestError(f"the request exceeds {self._service.settings.char_limit} characters")
        model = self._model(model_name(fields), CAUSAL)
        answer = TextAnswer(self._service.texts, model, requests, is_chat, include_usage(fields))
        if not fields.flag("stream"):
            return json_answer(await while_connected(request, answer.whole()))
        events = answer.events()
        # An error before any text is an answer with its own status.
        first = await while_connected(request, _first(events))
        if answer.failed is not None:
            raise answer.failed
        return StreamingResponse(_from_first(first, events), media_type="text/event-stream")

    async def _fields(self, request: Request) -> JsonObject:
        self._admit(request)
        return await read_object(request, self._service.settings)

    def _admit(self, request: Request) -> Client:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        try:
            return self._gate.admit(request, key.strip() if scheme.lower() == "bearer" else None)
        except ForbiddenError as error:
            raise UnauthorizedError(str(error)) from None

    def _model(self, name: str, kinds: tuple[str, ...] = ()) -> ServedModel:
        found = next((each for each in self._service.catalogue.models if each.name == name), None)
        if found is None:
            raise UnknownPageError(f"there is no model {name[:100]!r} here: GET /v1/models lists all")
        if kinds and found.kind not in kinds:
            raise InvalidRequestError(f"the model {name} cannot be used for this: it was made for {found.kind}")
        return found


def _described(model: ServedModel) -> dict[str, Any]:
    created = int(model.folder.stat().st_mtime) if model.folder.exists() else 0
    return {"id": model.name, "object": "model", "created": created, "owned_by": "headwise", "kind": model.kind}


def _packed(vector: list[float]) -> str:
    """A vector as base64 of its float32 values in little-endian order, which the official clients ask for."""
    values = array.array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return base64.b64encode(values.tobytes()).decode("ascii")


async def _first(events: AsyncGenerator[str, None]) -> str:
    return await anext(events)


async def _from_first(first: str, rest: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    async with aclosing(rest):
        yield first
        async for each in rest:
            yield each
