"""Routes of LibreTranslate's API, version 1.9."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.serve.http.answers import Api, json_answer, while_connected
from headwise.serve.http.gate import Gate
from headwise.serve.http.given_fields import GivenFields, read_fields
from headwise.serve.service import Service
from headwise.serve.service_errors import ForbiddenError, InvalidRequestError, ServiceError
from headwise.serve.translate_request import RequestOptions, TextTranslation


class LibreTranslate:
    """Handlers of LibreTranslate's routes."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate

    def api(self) -> Api:
        """The routes, and errors as `{"error": message}`."""
        routes = [
            Route("/translate", self.translate, methods=["POST"]),
            Route("/detect", self.detect, methods=["POST"]),
            Route("/languages", self.languages, methods=["GET", "POST"]),
            Route("/translate_file", self.translate_file, methods=["POST"]),
            Route("/download_file/{name}", self.download_file, methods=["GET"]),
            Route("/suggest", self.suggest, methods=["POST"]),
            Route("/frontend/settings", self.frontend_settings, methods=["GET"]),
        ]
        return Api("/", routes, error_body)

    async def translate(self, request: Request) -> Response:
        """POST /translate"""
        fields = await read_fields(request, self._service.settings)
        client = self._gate.admit(request, fields.key)
        texts, is_list = fields.texts("q")
        source, target = fields.text("source"), fields.text("target")
        options = _options(fields)
        found = await while_connected(request, self._service.translate(texts, source, target, options, client))
        return json_answer(_translated(found, is_list, options.alternatives))

    async def detect(self, request: Request) -> Response:
        """POST /detect"""
        fields = await read_fields(request, self._service.settings)
        self._gate.admit(request, fields.key)
        texts, _ = fields.texts("q")
        found = await self._service.detect("\n".join(texts))
        return json_answer(
            [{"confidence": _percent(probability), "language": code} for code, probability in found]
            or [{"confidence": 0, "language": "en"}]
        )

    async def languages(self, request: Request) -> Response:
        """GET /languages, and POST, as old clients do"""
        return json_answer(
            [
                {"code": each.code, "name": each.name, "targets": list(each.targets)}
                for each in self._service.catalogue.languages.values()
            ]
        )

    async def translate_file(self, request: Request) -> Response:
        """POST /translate_file"""
        settings = self._service.settings
        if not settings.files:
            raise ForbiddenError("Files translation are disabled on this server.")
        fields = await read_fields(request, settings, files=True)
        client = self._gate.admit(request, fields.key)
        source, target = fields.text("source"), fields.text("target")
        if "file" not in fields.files:
            raise InvalidRequestError("Invalid request: missing file parameter")
        name, data = fields.files["file"]
        if not name:
            raise InvalidRequestError("Invalid request: empty file")
        options = RequestOptions(pivot=fields.flag("pivot"), columns=fields.names("columns"))
        work = self._service.documents.translate_file(data, name, source, target, options, client)
        made, suffix = await while_connected(request, work)
        stored = self._service.documents.stored.add(made, suffix)
        return json_answer({"translatedFileUrl": str(request.url_for("download_file", name=stored))})

    async def download_file(self, request: Request) -> Response:
        """GET /download_file/NAME"""
        name = request.path_params["name"]
        data = self._service.documents.stored.get(name)
        suffix = name.rpartition(".")[2]
        disposition = f'attachment; filename="translation.{suffix}"'
        return Response(data, media_type="application/octet-stream", headers={"Content-Disposition": disposition})

    async def suggest(self, request: Request) -> Response:
        """POST /suggest"""
        fields = await read_fields(request, self._service.settings)
        self._gate.admit(request, fields.key)
        if not self._service.settings.suggestions:
            raise ForbiddenError("Suggestions are disabled on this server.")
        texts, translations = fields.text("q"), fields.text("s")
        self._service.suggest(texts, translations, fields.text("source"), fields.text("target"))
        return json_answer({"success": True})

    async def frontend_settings(self, request: Request) -> Response:
        """GET /frontend/settings"""
        service, settings = self._service, self._service.settings
        sources = service.catalogue.sources
        source = "en" if "en" in sources or not sources else sources[0]
        known = service.catalogue.languages
        targets = [code for code in known[source].targets if code != source] if source in known else []
        shown = {code: known[code].name for code in [source, *targets[:1]] if code in known}
        return json_answer(
            {
                "charLimit": settings.char_limit,
                "frontendTimeout": 500,
                "apiKeys": settings.key_required,
                "keyRequired": settings.key_required,
                "suggestions": settings.suggestions,
                "filesTranslation": settings.files,
                "supportedFilesFormat": service.documents.suffixes if settings.files else [],
                "language": {
                    "source": {"code": source, "name": shown.get(source, source)},
                    "target": {"code": targets[0], "name": shown[targets[0]]} if targets else {"code": "", "name": ""},
                },
            }
        )


def error_body(error: ServiceError) -> dict[str, Any]:
    """An error in LibreTranslate's shape."""
    return {"error": str(error)}


def _options(fields: GivenFields) -> RequestOptions:
    kind = fields.text("format", "text")
    if kind not in ("text", "html"):
        raise InvalidRequestError(f"{kind[:40]} format is not supported")
    return RequestOptions(
        format="html" if kind == "html" else "text",
        alternatives=fields.count("alternatives"),
        pivot=fields.flag("pivot"),
    )


def _translated(found: list[TextTranslation], is_list: bool, alternatives: int) -> dict[str, Any]:
    """The answer of /translate. `pivot` is an addition: the language that texts were translated through."""
    answer: dict[str, Any] = {"translatedText": _one_or_all([each.text for each in found], is_list)}
    detected = [
        {"confidence": _percent(each.detected.probability), "language": each.detected.language}
        for each in found
        if each.detected
    ]
    if detected:
        answer["detectedLanguage"] = _one_or_all(detected, is_list)
    if alternatives:
        answer["alternatives"] = _one_or_all([list(each.alternatives) for each in found], is_list)
    if any(each.pivot for each in found):
        answer["pivot"] = next(each.pivot for each in found if each.pivot)
    return answer


def _one_or_all(values: list[Any], is_list: bool) -> Any:
    return values if is_list else values[0]


def _percent(probability: float) -> float:
    return round(100 * probability, 1)
