"""The edge of the application: every response has the security headers, every failure is JSON, every request counts.

The log has routes and statuses, never paths as sent, texts, keys or addresses.
"""

from __future__ import annotations

import logging
import time
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwise.serve.counters import Counters

LOG = logging.getLogger("headwise.serve")

HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response that does not set its own."""

_FAILED = b'{"error": "the server failed: see its log"}'


class Edge:
    """ASGI middleware: security headers, failures as JSON, counted requests."""

    def __init__(self, app: ASGIApp, counters: Counters, *, log_texts: bool = False) -> None:
        self._app = app
        self._counters = counters
        self._log_texts = log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def checked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                own = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(each for each in own if each[0] not in given)]
            await send(message)

        try:
            await self._app(scope, receive, checked)
        except Exception as error:
            log_failure("", error, log_texts=self._log_texts)
            if not status:
                head = [(b"content-type", b"application/json"), (b"content-length", str(len(_FAILED)).encode())]
                await checked({"type": "http.response.start", "status": 500, "headers": head})
                await checked({"type": "http.response.body", "body": _FAILED})
        finally:
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._counters.request(route, status or 499, seconds)
            LOG.debug("%s %s: %s in %.3f s", scope["method"], route, status or 499, seconds)


def log_failure(of: str, error: Exception, *, log_texts: bool) -> None:
    """Log where an error happened; its message may quote a user's text."""
    where = "".join(traceback.format_tb(error.__traceback__))
    what = str(error) if log_texts else "(message withheld)"
    LOG.error("%s%s: %s\n%s", of, type(error).__name__, what, where)
