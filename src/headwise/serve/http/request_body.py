"""Bodies of requests: read within limits of size and time; whatever is malformed is an error of the client."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.parse
from collections.abc import AsyncIterator
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from headwise.serve.service_errors import ClientGoneError, InvalidRequestError, SlowClientError, TooLargeError

MOST_FIELDS = 10_000
"""Fields of a form, repeated ones included."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


async def read_body(request: Request, limit: float, seconds: float) -> bytes:
    """The body of a request, of at most `limit` bytes, which must arrive within some seconds."""
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdecimal() and int(announced[:20]) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise SlowClientError(f"the body did not arrive within {seconds:g} seconds") from None
    except ClientDisconnect:
        raise ClientGoneError("the client closed the connection") from None
    return b"".join(parts)


def _too_large(limit: float) -> TooLargeError:
    return TooLargeError(f"the body is larger than {limit / 1e6:g} MB")


def parse_json(body: bytes) -> Any:
    """The JSON value of a body in UTF-8.

    NaN, numbers of thousands of digits, deep nesting and lone surrogates are refused.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # lone ones cannot be encoded
    except RecursionError:
        raise InvalidRequestError("Invalid request: the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise InvalidRequestError("Invalid request: the JSON is not UTF-8") from None
    except UnicodeEncodeError:
        raise InvalidRequestError("Invalid request: the JSON has a lone surrogate, which is not a character") from None
    except ValueError:
        raise InvalidRequestError("Invalid request: the body is not valid JSON") from None
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def parse_form(text: bytes) -> list[tuple[str, str]]:
    """The fields of a query string or of a form that is encoded like one; characters may also come as plain UTF-8."""
    try:
        return urllib.parse.parse_qsl(
            text.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise InvalidRequestError("Invalid request: the form is malformed, or not UTF-8") from None


class _InMemoryParser(MultiPartParser):
    """A parser whose files stay in memory, where the body already is: there may be no disk to write to."""

    spool_max_size = 2**40


_CHARSETS = {b"utf-8", b"utf8", b"us-ascii"}
"""Encodings of a multipart form. Python knows others that take minutes for a megabyte."""


async def parse_multipart(request: Request, body: bytes) -> tuple[list[tuple[str, str]], dict[str, tuple[str, bytes]]]:
    """The fields of a multipart form, and its files by field: the name that the client gives each, and its bytes."""

    async def whole() -> AsyncIterator[bytes]:
        yield body

    _, parameters = parse_options_header(request.headers["content-type"])
    if parameters.get(b"charset", b"utf-8").lower() not in _CHARSETS:
        raise InvalidRequestError("Invalid request: the form must be UTF-8")
    fields: list[tuple[str, str]] = []
    files: dict[str, tuple[str, bytes]] = {}
    try:
        form = await _InMemoryParser(request.headers, whole(), max_files=8, max_fields=100).parse()  # type: ignore[arg-type]
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                files[name] = value.filename or "", await value.read()
                await value.close()
            else:
                value.encode()
                fields.append((name, value))
    except (MultiPartException, KeyError, ValueError, AssertionError):
        raise InvalidRequestError("Invalid request: the multipart form is malformed") from None
    return fields, files


def media_type(request: Request) -> str:
    """The type of the body, without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
