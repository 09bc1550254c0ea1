"""Answers: JSON for results and errors alike, and work that ends when its client is gone."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from headwise.serve.service_errors import ClientGoneError, ServiceError

T = TypeVar("T")


@dataclass(frozen=True)
class Api:
    """One of the APIs that the server speaks: its routes, and how it renders errors below its prefix."""

    prefix: str
    routes: Sequence[BaseRoute]
    error_body: Callable[[ServiceError], Any]


def json_answer(value: Any, status: int = 200) -> Response:
    """A JSON response, in UTF-8."""
    return Response(json.dumps(value, ensure_ascii=False), status, media_type="application/json")


def error_answer(error: ServiceError, body: Any) -> Response:
    """An error with its status, and when to come back; after some, the connection is closed."""
    answer = json_answer(body, error.status)
    if error.retry_after is not None:
        answer.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status in (408, 413, 431):  # the rest of the body is not waited for
        answer.headers["Connection"] = "close"
    return answer


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the client closes the connection."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_closed(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGoneError("the client closed the connection")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _closed(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
