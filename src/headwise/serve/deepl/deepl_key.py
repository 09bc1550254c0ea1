"""DeepL's authentication: `Authorization: DeepL-Auth-Key ...`."""

from __future__ import annotations

from starlette.requests import Request

SCHEME = "deepl-auth-key"


def deepl_key(request: Request) -> str | None:
    """The API key of a request."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == SCHEME else None
