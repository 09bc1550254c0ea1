"""Connections with deadlines: clients that send their headers slowly, or too many of them, are disconnected."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

LARGEST_HEAD = 65_536
"""Bytes of a request's first line and headers."""

LINGER = 1.0
"""Seconds in which what a refused client still sends is thrown away: with unread bytes, closing a connection would
reset it, and the client might lose the answer."""

MOST_LINGERING = 256
"""Refused connections that linger at a time; others are closed at once."""

_UPGRADE = re.compile(rb"(?<=\n)upgrade(?=:)", re.IGNORECASE)
"""The header by which a client offers another protocol, as Java's does: the parser would take the body for that."""


class _LingeringTransport:
    """A transport that is closed by a function of its connection."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class DeadlineProtocol(HttpToolsProtocol):
    """HTTP/1.1 protocol of one connection, with a deadline for headers: uvicorn itself would wait forever."""

    header_timeout = 10.0
    most_connections = 2048
    lingering: ClassVar[set[DeadlineProtocol]] = set()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._close_now = transport.close
        super().connection_made(_LingeringTransport(transport, self._close))  # type: ignore[arg-type]
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
            head, end, body = data.partition(b"\r\n\r\n")
            data = _UPGRADE.sub(b"x-upgrade", head) + end + body
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > LARGEST_HEAD:
            self._refuse(431, "the headers are too large")

    def on_message_begin(self) -> None:
        self._in_head = True  # also of a request that comes while another is answered
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_complete()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        if self.cycle.response_complete and self.cycle.more_body:  # nobody reads the rest of the body
            self._close()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _await_head(self) -> None:
        self._in_head = True
        self._deadline = self.loop.call_later(self.header_timeout, self._refuse, 408, "the headers did not arrive")

    def _head_complete(self) -> None:
        self._in_head, self._head = False, 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, message: str) -> None:
        self._head_complete()
        if self in self.lingering or self.transport.is_closing():
            return
        begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not begun and not self.pipeline:  # else it would be taken for a part of another answer
            body = f'{{"error": "{message}"}}'.encode()
            head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n" % len(body)
            later = b"retry-after: 2\r\n" if status == 503 else b""
            self.transport.write(STATUS_LINE[status] + head + later + b"\r\n" + body)
        self._linger()

    def _close(self) -> None:
        """Close the connection; an answer to a body that still arrives would be lost if that were done at once."""
        if self.cycle is not None and self.cycle.more_body and not self.transport.is_closing():
            self._linger()
        else:
            self._close_now()

    def _linger(self) -> None:
        if self in self.lingering:
            return
        self.connections.discard(self)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if len(self.lingering) < MOST_LINGERING and self.transport.can_write_eof():
            self.lingering.add(self)
            self.transport.write_eof()
            self.flow.resume_reading()
            self.loop.call_later(LINGER, self._close_now)
        else:
            self._close_now()


def deadline_protocol(header_timeout: float, most_connections: int) -> type[DeadlineProtocol]:
    """The class of connections with these limits."""
    limits = {"header_timeout": header_timeout, "most_connections": most_connections, "lingering": set()}
    return type("LimitedProtocol", (DeadlineProtocol,), limits)
