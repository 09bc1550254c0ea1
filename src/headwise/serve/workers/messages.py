"""Messages between the server and its workers: JSON values, each after its length, over a pipe.

JSON holds no code: a text of a client is a string on the other side, whatever is in it.
"""

from __future__ import annotations

import json
import struct
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_LENGTH = struct.Struct("<I")


def pack(message: dict[str, Any]) -> bytes:
    """A message as bytes. Escapes keep lone surrogates, which UTF-8 does not have."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(body)) + body


def read_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    body = stream.read(size)
    return json.loads(body) if len(body) == size else None


async def receive(stream: asyncio.StreamReader) -> dict[str, Any]:
    """The next message; an `asyncio.IncompleteReadError` at the end."""
    head = await stream.readexactly(_LENGTH.size)
    message: dict[str, Any] = json.loads(await stream.readexactly(_LENGTH.unpack(head)[0]))
    return message
