"""The OpenAPI description of LibreTranslate's API, as this server speaks it."""

from __future__ import annotations

from typing import Any

from headwise import __version__
from headwise.serve.settings import ServeSettings

_ERRORS = {
    "400": "The request is malformed, beyond a limit, or names an unknown language.",
    "403": "The API key is missing or wrong, or this is switched off.",
    "408": "The request did not arrive in time.",
    "413": "The body is too large.",
    "429": "Too many requests; see Retry-After.",
    "503": "The server is busy or stopping; see Retry-After.",
}
_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"oneOf": [{"type": "string"}, {"type": "array", "items": _TEXT}]}
_KEY: dict[str, Any] = {"type": ["string", "null"]}
_DETECTED: dict[str, Any] = {
    "type": "object",
    "properties": {"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": _TEXT},
    "required": ["confidence", "language"],
}


def describe_api(settings: ServeSettings) -> dict[str, Any]:
    """The description, with the limits of this server."""
    alternatives = {"type": "integer", "minimum": 0, "maximum": settings.alternatives_limit}
    languages = {"source": _TEXT, "target": _TEXT}
    translate = {
        "q": _TEXTS,
        **languages,
        "format": {"enum": ["text", "html"]},
        "alternatives": alternatives,
        "pivot": {"type": "boolean"},
        "api_key": _KEY,
    }
    translated = {
        "translatedText": _TEXTS,
        "detectedLanguage": {"oneOf": [_DETECTED, {"type": "array", "items": _DETECTED}]},
        "alternatives": {"type": "array"},
        "pivot": _TEXT,
    }
    listed = {"code": _TEXT, "name": _TEXT, "targets": {"type": "array", "items": _TEXT}}
    file = {"file": {"type": "string", "format": "binary"}, **languages, "api_key": _TEXT}
    need = ["q", "source", "target"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headwise", "version": __version__},
        "paths": {
            "/translate": {"post": _post(translate, need, _object(translated, ["translatedText"]))},
            "/detect": {"post": _post({"q": _TEXTS, "api_key": _KEY}, ["q"], {"type": "array", "items": _DETECTED})},
            "/languages": {"get": _answers({"type": "array", "items": _object(listed, list(listed))})},
            "/suggest": {
                "post": _post(
                    {"q": _TEXT, "s": _TEXT, **languages, "api_key": _KEY},
                    [*need, "s"],
                    _object({"success": {"type": "boolean"}}, ["success"]),
                )
            },
            "/translate_file": {
                "post": {
                    "requestBody": _body(file, ["file", "source", "target"], ["multipart/form-data"]),
                    **_answers(_object({"translatedFileUrl": _TEXT}, ["translatedFileUrl"]), _ERRORS),
                }
            },
            "/frontend/settings": {"get": _answers({"type": "object"})},
            "/health": {"get": _answers(_object({"status": _TEXT}, ["status"]))},
        },
    }


def _post(fields: dict[str, Any], need: list[str], answer: dict[str, Any]) -> dict[str, Any]:
    kinds = ["application/json", "application/x-www-form-urlencoded"]
    return {"requestBody": _body(fields, need, kinds), **_answers(answer, _ERRORS)}


def _body(fields: dict[str, Any], need: list[str], kinds: list[str]) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": _object(fields, need)} for kind in kinds}}


def _answers(schema: dict[str, Any], errors: dict[str, str] | None = None) -> dict[str, Any]:
    error = {"application/json": {"schema": _object({"error": _TEXT}, ["error"])}}
    failures = {status: {"description": text, "content": error} for status, text in (errors or {}).items()}
    return {
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}, **failures}
    }


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}
