"""Paths of LibreTranslate's API and of the pages about the server itself."""

from __future__ import annotations

from headwise.serve.description.schema_parts import (
    ANY_FORM,
    ANYTHING,
    COLUMNS,
    FLAG,
    MULTIPART,
    STRING,
    TEXT,
    WHOLE,
    Schema,
    between,
    choice,
    fields,
    listed,
    maybe,
    one_or_list,
    operation,
    path_parameter,
)
from headwise.serve.settings import ServeSettings

ERROR = "LibreTranslateError"
KEY = {"api_key": maybe(STRING)}
DETECTED = fields({"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": STRING})
LANGUAGES = listed(fields({"code": STRING, "name": STRING, "targets": listed(STRING)}))
STATUS = fields({"status": STRING})


def libretranslate_paths(settings: ServeSettings) -> Schema:
    """The paths by their templates, with the limits of the server."""
    languages = operation("Languages, with what each can be translated to", LANGUAGES, ERROR, errors=())
    direction = {"source": TEXT, "target": TEXT}
    return {
        "/translate": {
            "post": operation(
                "Translate a text or a list of texts",
                fields(
                    {"translatedText": one_or_list(STRING)},
                    {
                        "detectedLanguage": one_or_list(DETECTED),
                        "alternatives": listed(ANYTHING),
                        "pivot": STRING,
                    },
                ),
                ERROR,
                body=fields(
                    {"q": one_or_list(STRING), **direction},
                    {
                        "format": choice("text", "html"),
                        "alternatives": between(0, settings.alternatives_limit),
                        "pivot": FLAG,
                        **KEY,
                    },
                ),
                kinds=ANY_FORM,
            )
        },
        "/detect": {
            "post": operation(
                "Detect the language of a text",
                listed(DETECTED),
                ERROR,
                body=fields({"q": one_or_list(STRING)}, KEY),
                kinds=ANY_FORM,
            )
        },
        "/languages": {"get": languages, "post": languages},
        "/translate_file": {
            "post": operation(
                "Translate a document",
                fields({"translatedFileUrl": STRING}),
                ERROR,
                body=fields(
                    {"file": {"type": "string", "format": "binary"}, **direction},
                    {"columns": COLUMNS, "pivot": FLAG, **KEY},
                ),
                kinds=(MULTIPART,),
            )
        },
        "/download_file/{name}": {
            "get": operation(
                "Download a translated document",
                {"type": "string", "format": "binary"},
                ERROR,
                errors=(404,),
                parameters=[path_parameter("name", "The last part of translatedFileUrl")],
                answer_kind="application/octet-stream",
            )
        },
        "/suggest": {
            "post": operation(
                "Store a correction, which answers the next request for the same text",
                fields({"success": FLAG}),
                ERROR,
                body=fields({"q": TEXT, "s": TEXT, **direction}, KEY),
                kinds=ANY_FORM,
            )
        },
        "/frontend/settings": {
            "get": operation(
                "Limits and abilities of the server",
                fields(
                    {
                        "charLimit": WHOLE,
                        "frontendTimeout": WHOLE,
                        "apiKeys": FLAG,
                        "keyRequired": FLAG,
                        "suggestions": FLAG,
                        "filesTranslation": FLAG,
                        "supportedFilesFormat": listed(STRING),
                        "language": fields({"source": ANYTHING, "target": ANYTHING}),
                    }
                ),
                ERROR,
                errors=(),
            )
        },
    }


def status_paths() -> Schema:
    """The pages that tell how the server is, none of which needs a key."""
    ready = operation("Whether the server can translate now", STATUS, ERROR, errors=())
    ready["responses"]["503"] = {**ready["responses"]["200"], "description": "It cannot"}
    return {
        "/health": {"get": operation("Whether the server runs", STATUS, ERROR, errors=())},
        "/ready": {"get": ready},
        "/metrics": {"get": operation("Counters for Prometheus", STRING, ERROR, errors=(), answer_kind="text/plain")},
        "/spec": {"get": operation("This description", fields({"openapi": STRING}), ERROR, errors=())},
    }
