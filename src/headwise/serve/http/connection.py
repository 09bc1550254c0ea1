"""Connections with deadlines: clients that send their headers slowly, or too many of them, are disconnected."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

LARGEST_HEAD = 65_536
"""Bytes of a request's first line and headers."""

LINGER = 1.0
"""Seconds in which what a refused client still sends is thrown away: with unread bytes, closing a connection would
reset it, and the client might lose the answer."""

MOST_LINGERING = 256
"""Refused connections that linger at a time; others are closed at once."""


class DeadlineProtocol(HttpToolsProtocol):
    """HTTP/1.1 protocol of one connection, with a deadline for headers: uvicorn itself would wait forever."""

    header_timeout = 10.0
    most_connections = 2048
    lingering: ClassVar[set[DeadlineProtocol]] = set()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._refuse(503, "too many connections")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_complete()
        self.lingering.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self in self.lingering or self.transport.is_closing():
            return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        if self._deadline is not None:
            self._head += len(data)
        super().data_received(data)
        if self._deadline is not None and self._head > LARGEST_HEAD:
            self._refuse(431, "the headers are too large")

    def on_headers_complete(self) -> None:
        self._head_complete()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _await_head(self) -> None:
        self._head = 0
        self._deadline = self.loop.call_later(self.header_timeout, self._refuse, 408, "the headers did not arrive")

    def _head_complete(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, message: str) -> None:
        self._head_complete()
        if self in self.lingering or self.transport.is_closing():
            return
        body = f'{{"error": "{message}"}}'.encode()
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n" % len(body)
        later = b"retry-after: 2\r\n" if status == 503 else b""
        self.transport.write(STATUS_LINE[status] + head + later + b"\r\n" + body)
        self.connections.discard(self)
        if len(self.lingering) < MOST_LINGERING and self.transport.can_write_eof():
            self.lingering.add(self)
            self.transport.write_eof()
            self.loop.call_later(LINGER, self.transport.close)
        else:
            self.transport.close()


def deadline_protocol(header_timeout: float, most_connections: int) -> type[DeadlineProtocol]:
    """The class of connections with these limits."""
    limits = {"header_timeout": header_timeout, "most_connections": most_connections, "lingering": set()}
    return type("LimitedProtocol", (DeadlineProtocol,), limits)
