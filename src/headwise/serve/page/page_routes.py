"""Routes of the page: its HTML at `/`, and its scripts, styles and texts below `/page/`; nothing else is served."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwise.files.digest import bytes_digest
from headwise.serve.page.sent_text import sent_text
from headwise.serve.service_errors import UnknownPageError

FOLDER = Path(__file__).parent
FRONT = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""Media types of the files of the page, by suffix; a file of any other kind is not part of it."""

SHORTENED = (".js", ".css")
"""Suffixes of the files that are sent without their comments."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content security policy: the page loads from its own server and from nowhere else, and runs no inline script."""


@dataclass(frozen=True)
class PageFile:
    """A file of the page, as sent."""

    body: bytes
    zipped: bytes
    tag: str
    """Its ETag."""


def page_files() -> dict[str, Path]:
    """The files of the page by their names below `/page/`."""
    return {
        path.relative_to(FOLDER).as_posix(): path
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in TYPES and path.is_file()
    }


def sent_bytes(path: Path) -> bytes:
    """A file as it is sent."""
    if path.suffix in SHORTENED:
        return sent_text(path.read_text(encoding="utf-8")).encode()
    return path.read_bytes()


class Page:
    """Handlers of the page's routes. No key is needed: a browser sends none, and the files are public."""

    def __init__(self) -> None:
        self._files = page_files()

    def routes(self) -> list[Route]:
        """The page and its files, which are not part of an API."""
        return [
            Route("/", self.front, methods=["GET"], include_in_schema=False),
            Route("/page/{name:path}", self.file, methods=["GET"], include_in_schema=False),
        ]

    async def front(self, request: Request) -> Response:
        """GET /"""
        return self._answer(request, FRONT)

    async def file(self, request: Request) -> Response:
        """GET /page/NAME"""
        return self._answer(request, request.path_params["name"])

    def _answer(self, request: Request, name: str) -> Response:
        if name not in self._files:
            raise UnknownPageError("Not Found")
        path = self._files[name]
        state = path.stat()
        found = _loaded(path, state.st_mtime_ns, state.st_size)
        headers = {
            "ETag": found.tag,
            "Cache-Control": "no-cache",  # kept by browsers, and asked for again: a new version counts at once
            "Content-Security-Policy": POLICY,
            "Vary": "Accept-Encoding",
        }
        if found.tag in _tags(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        body = found.body
        if _accepts_gzip(request.headers.get("accept-encoding", "")):
            body, headers["Content-Encoding"] = found.zipped, "gzip"
        return Response(body, headers={**headers, "Content-Type": TYPES[path.suffix]})


@lru_cache(512)
def _loaded(path: Path, changed: int, size: int) -> PageFile:
    """A file in this state, read once."""
    body = sent_bytes(path)
    return PageFile(body, gzip.compress(body, mtime=0), f'W/"{bytes_digest(body)[:20]}"')


def _tags(header: str) -> set[str]:
    return {each.strip() for each in header.split(",")}


def _accepts_gzip(header: str) -> bool:
    """Whether a client takes gzip; `gzip;q=0` refuses it."""
    for each in header.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
