"""Errors in the shape of OpenAI's API."""

from __future__ import annotations

from typing import Any

from headwise.serve.service_errors import ServiceError

_KINDS = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", None),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", "unavailable"),
}


def error_body(error: ServiceError) -> dict[str, Any]:
    """An error as `{"error": {message, type, param, code}}`."""
    kind, code = _KINDS.get(error.status, ("invalid_request_error", None))
    return {"error": {"message": str(error), "type": kind, "param": None, "code": code}}
