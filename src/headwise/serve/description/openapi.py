"""The OpenAPI 3.1 description of all routes; a test compares it with the routes and with real answers."""

from __future__ import annotations

import html

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headwise import __version__
from headwise.serve.description.deepl_paths import deepl_paths
from headwise.serve.description.inside_paths import inside_paths
from headwise.serve.description.libretranslate_paths import libretranslate_paths, status_paths
from headwise.serve.description.openai_paths import openai_paths
from headwise.serve.description.own_paths import own_paths
from headwise.serve.description.schema_parts import STRING, Schema, fields, maybe
from headwise.serve.http.answers import json_answer
from headwise.serve.settings import ServeSettings


def openapi(settings: ServeSettings) -> Schema:
    """The description of a server with these settings, as a JSON value."""
    plain = fields({"error": STRING})
    detailed = fields({"message": STRING, "type": STRING, "param": maybe(STRING), "code": maybe(STRING)})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headwise", "version": __version__, "description": "Translation, generation, embeddings."},
        "paths": {
            **status_paths(),
            **libretranslate_paths(settings),
            **deepl_paths(),
            **openai_paths(settings),
            **own_paths(settings),
            **inside_paths(settings),
        },
        "components": {
            "schemas": {
                "LibreTranslateError": plain,
                "HeadwiseError": plain,
                "DeepLError": fields({"message": STRING}),
                "OpenAIError": fields({"error": detailed}),
            }
        },
    }


def description_routes(settings: ServeSettings) -> list[Route]:
    """GET /spec, and /docs for people"""

    async def spec(request: Request) -> Response:
        return json_answer(openapi(settings))

    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(openapi(settings)))

    return [Route("/spec", spec, methods=["GET"]), Route("/docs", docs, methods=["GET"], include_in_schema=False)]


def docs_page(description: Schema) -> str:
    """A page with all routes of a description, without scripts and styles: the server's policy allows none."""
    rows = "\n".join(
        f"<tr><td>{method.upper()}<td><code>{html.escape(path)}</code><td>{html.escape(operation['summary'])}"
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Headwise API</title>\n<h1>Headwise API</h1>\n'
        '<p>Fields and answers are in the <a href="spec">OpenAPI description</a>.\n'
        f"<table>\n{rows}\n</table>\n"
    )
