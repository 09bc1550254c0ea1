"""The edge of the application: every response has the security headers, every failure is JSON, every request counts.

The bodies of all running requests together have a limit: many clients that upload at once must not fill the memory.

The log has routes and statuses, never paths as sent, texts, keys or addresses.
"""

from __future__ import annotations

import logging
import time
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwise.serve.counters import Counters
from headwise.serve.service_errors import UnavailableError

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

RETRY = 2.0
"""Seconds after which a client that was refused may try again."""

_FAILED = b'{"error": "the server failed: see its log"}'


class Edge:
    """ASGI middleware: security headers, failures as JSON, counted requests, limited bodies."""

    def __init__(self, app: ASGIApp, counters: Counters, bodies: float, *, log_texts: bool = False) -> None:
        """`bodies`: bytes of the bodies of all running requests."""
        self._app = app
        self._counters = counters
        self._bodies = bodies
        self._held = 0
        self._log_texts = log_texts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, held = time.perf_counter(), 0, 0

        async def limited() -> Message:
            nonlocal held
            message = await receive()
            size = len(message.get("body", b""))
            held += size
            self._held += size
            if size and self._held > self._bodies:
                self._counters.refused("bodies")
                raise UnavailableError("the server is busy: too much is being sent to it", retry_after=RETRY)
            return message

        async def checked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                own = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(each for each in own if each[0] not in given)]
            await send(message)

        try:
            await self._app(scope, limited, checked)
        except Exception as error:
            log_failure("", error, log_texts=self._log_texts)
            if not status:
                head = [(b"content-type", b"application/json"), (b"content-length", str(len(_FAILED)).encode())]
                await checked({"type": "http.response.start", "status": 500, "headers": head})
                await checked({"type": "http.response.body", "body": _FAILED})
        finally:
            self._held -= held
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._counters.request(route, status or 499, seconds)
            LOG.debug("%s %s: %s in %.3f s", scope["method"], route, status or 499, seconds)


def log_failure(of: str, error: Exception, *, log_texts: bool) -> None:
    """Log where an error happened; its message may quote a user's text."""
    where = "".join(traceback.format_tb(error.__traceback__))
    what = str(error) if log_texts else "(message withheld)"
    LOG.error("%s%s: %s\n%s", of, type(error).__name__, what, where)
