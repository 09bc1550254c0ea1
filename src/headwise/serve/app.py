"""The ASGI application: the routes of all APIs, with errors in the shape of each."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp

from headwise.serve.deepl.deepl_routes import DeepL
from headwise.serve.deepl.document_jobs import DocumentJobs
from headwise.serve.description.openapi import description_routes
from headwise.serve.http.answers import Api, error_answer
from headwise.serve.http.edge import Edge
from headwise.serve.http.gate import Gate
from headwise.serve.http.status_pages import StatusPages
from headwise.serve.libretranslate.routes import LibreTranslate
from headwise.serve.openai.openai_routes import OpenAI
from headwise.serve.own.own_routes import OwnApi
from headwise.serve.page.page_routes import Page
from headwise.serve.service import Service
from headwise.serve.service_errors import (
    InternalError,
    InvalidRequestError,
    ServiceError,
    UnknownPageError,
    WrongMethodError,
)
from headwise.serve.settings import MEGABYTE


def make_app(service: Service) -> ASGIApp:
    """The application of a service, which runs from the application's start to its end."""
    gate = Gate(service)
    jobs = DocumentJobs(service)
    apis = [
        LibreTranslate(service, gate).api(),
        DeepL(service, gate, jobs).api(),
        OpenAI(service, gate).api(),
        OwnApi(service, gate).api(),
    ]
    routes = [
        *Page().routes(),
        *StatusPages(service).routes(),
        *description_routes(service.settings),
        *(route for api in apis for route in api.routes),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with service.running():
            yield
            await jobs.close()

    def render(request: Request, error: Exception) -> Response:
        found = _as_service_error(error)
        answer = error_answer(found, _api_of(request.url.path, apis).error_body(found))
        if isinstance(found, WrongMethodError):
            answer.headers["Allow"] = ", ".join(_methods(request, routes))
        return answer

    handlers = {ServiceError: render, HTTPException: render, Exception: render}  # the last is raised again, and logged
    app: ASGIApp = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    if origins := [each.strip() for each in service.settings.cors.split(",") if each.strip()]:
        app = CORSMiddleware(app, allow_origins=origins, allow_methods=["GET", "POST", "DELETE"], allow_headers=["*"])
    settings = service.settings
    return Edge(app, service.counters, settings.bodies_total * MEGABYTE, log_texts=settings.log_texts)


def _methods(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """The methods that the path of a request has."""
    found = (each for each in routes if isinstance(each, Route) and each.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in found for method in route.methods or ()})


def _api_of(path: str, apis: Sequence[Api]) -> Api:
    """The API that a path belongs to: the one with the longest prefix."""
    return max((api for api in apis if path.startswith(api.prefix)), key=lambda api: len(api.prefix))


def _as_service_error(error: Exception) -> ServiceError:
    if isinstance(error, ServiceError):
        return error
    if not isinstance(error, HTTPException):
        return InternalError("the server failed: see its log")
    if error.status_code == 404:
        return UnknownPageError("Not Found")
    if error.status_code == 405:
        return WrongMethodError("Method Not Allowed")
    return InvalidRequestError("Invalid request")
