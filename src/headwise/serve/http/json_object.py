"""Requests that are JSON objects: their fields, by type and within limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from headwise.serve.http.request_body import parse_json, read_body
from headwise.serve.service_errors import InvalidRequestError
from headwise.serve.settings import MEGABYTE, ServeSettings


class JsonObject:
    """The JSON object of a request."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def get(self, name: str, kind: type | tuple[type, ...], what: str) -> Any:
        """A field of this type, or None where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InvalidRequestError(f"'{name}' must be {what}")
        return value

    def whole(self, name: str, least: int, most: int, usual: int) -> int:
        """A whole number within limits."""
        found = self.get(name, int, "a whole number")
        if found is None:
            return usual
        if not least <= found <= most:
            raise InvalidRequestError(f"'{name}' must be between {least} and {most}")
        return int(found)

    def number(self, name: str, most: float, usual: float) -> float:
        """A number that is not negative."""
        found = self.get(name, (int, float), "a number")
        if found is None:
            return usual
        if not 0 <= found <= most:
            raise InvalidRequestError(f"'{name}' must be between 0 and {most:g}")
        return float(found)

    def flag(self, name: str) -> bool:
        """A field that is true or false; false where it is missing."""
        return bool(self.get(name, bool, "true or false"))


async def read_object(request: Request, settings: ServeSettings) -> JsonObject:
    """The fields of a request, whatever type its body claims to be of."""
    value = parse_json(await read_body(request, settings.body_limit * MEGABYTE, settings.body_timeout))
    if not isinstance(value, dict):
        raise InvalidRequestError("the body must be a JSON object")
    return JsonObject(value)
