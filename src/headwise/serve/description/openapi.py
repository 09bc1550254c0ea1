"""The OpenAPI 3.1 description of all routes; a test compares it with the routes and with real answers."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
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


def description_route(settings: ServeSettings) -> Route:
    """GET /spec"""

    async def spec(request: Request) -> Response:
        return json_answer(openapi(settings))

    return Route("/spec", spec, methods=["GET"])
