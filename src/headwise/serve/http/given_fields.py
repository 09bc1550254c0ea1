"""Fields of a request, which come as a form, in the query string, or as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from headwise.serve.http.request_body import media_type, parse_form, parse_json, parse_multipart, read_body
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.settings import MEGABYTE, ServeSettings

LONG_FORM = 100_000
"""Bytes of a form from which on it is decoded in a thread: eight megabytes of %C3%A4 would stop the server for seconds.
"""


@dataclass(frozen=True)
class GivenFields:
    """The fields of one request."""

    values: dict[str, Any] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def text(self, name: str, default: str | None = None) -> str:
        """A field that must be a string and not empty, unless it has a default."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise InvalidRequestError(f"Invalid request: missing {name} parameter")
            return default
        if not isinstance(value, str):
            raise InvalidRequestError(f"Invalid request: {name} must be a string")
        return value

    def texts(self, name: str) -> tuple[list[str], bool]:
        """A field that is a string or a list of strings, and whether it is a list."""
        value = self.values.get(name)
        if value is None or value in ("", []):
            raise InvalidRequestError(f"Invalid request: missing {name} parameter")
        if isinstance(value, str):
            return [value], False
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidRequestError(f"Invalid request: {name} must be a string or a list of strings")
        return value, True

    def flag(self, name: str) -> bool | None:
        """A field that is true or false; None if it is missing."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        known = {"true": True, "1": True, "false": False, "0": False}
        if isinstance(value, bool | str | int) and str(value).lower() in known:
            return known[str(value).lower()]
        raise InvalidRequestError(f"Invalid request: {name} must be true or false")

    def count(self, name: str) -> int:
        """A field that is a whole number, 0 if it is missing."""
        value = self.values.get(name)
        if value is None or value == "":
            return 0
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 10:
            return int(value)
        if type(value) is not int:
            raise InvalidRequestError(f"Invalid request: {name} must be a whole number")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """A field of names that are separated by commas; none if it is missing."""
        return tuple(each.strip() for each in self.text(name, "").split(",") if each.strip())

    @property
    def key(self) -> str | None:
        """The API key, if one is given."""
        value = self.values.get("api_key")
        if value is not None and not isinstance(value, str):
            raise InvalidRequestError("Invalid request: api_key must be a string")
        return value


async def read_fields(
    request: Request, settings: ServeSettings, *, files: bool = False, repeated: Collection[str] = ()
) -> GivenFields:
    """The fields of a request. Those of the query string count before those of a form; JSON stands alone.

    `repeated` names fields of which a form may have several: they are lists.
    """
    limit = max(settings.body_limit, settings.file_limit + 1) if files else settings.body_limit
    body = await read_body(request, limit * MEGABYTE, settings.body_timeout)
    kind = media_type(request)
    if kind == "application/json" or kind.endswith("+json"):
        value = parse_json(body)
        if not isinstance(value, dict):
            raise InvalidRequestError("Invalid request: the JSON must be an object")
        return GivenFields(value)
    given: list[tuple[str, str]] = []
    uploads: dict[str, tuple[str, bytes]] = {}
    if kind == "multipart/form-data":
        given, uploads = await parse_multipart(request, body)
    elif kind in ("application/x-www-form-urlencoded", ""):
        given = await asyncio.to_thread(parse_form, body) if len(body) > LONG_FORM else parse_form(body)
    elif body:
        raise InvalidRequestError("Invalid request: the body must be a form or JSON")
    query = parse_form(request.scope["query_string"])
    values: dict[str, Any] = dict(reversed([*query, *given]))  # the first of repeated fields counts
    values |= {name: [text for each, text in [*query, *given] if each == name] for name in repeated if name in values}
    return GivenFields(values, uploads)
