"""Translated documents that wait to be downloaded: in memory, under random names, for a limited time."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from headwise.serve.service_errors import UnavailableError, UnknownPageError


class StoredFiles:
    """Files by name. Whoever knows a name, of 256 random bits, may download the file."""

    def __init__(self, life: float, limit: float, now: Callable[[], float] = time.monotonic) -> None:
        """`life`: seconds that a file is kept; `limit`: bytes of all files together."""
        self._life = life
        self._limit = limit
        self._now = now
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self.bytes = 0
        """Bytes of all files."""

    def add(self, data: bytes, suffix: str) -> str:
        """Keep a file; its name, of which only the suffix is known beforehand."""
        self.remove_expired()
        if self.bytes + len(data) > self._limit:
            raise UnavailableError("too many translated files wait to be downloaded", retry_after=self._life)
        name = secrets.token_urlsafe(32) + suffix
        self._files[name] = self._now() + self._life, data
        self.bytes += len(data)
        return name

    def get(self, name: str) -> bytes:
        """The file of this name, unless it has expired."""
        self.remove_expired()
        if name not in self._files:
            raise UnknownPageError("there is no such file, or it has expired")
        return self._files[name][1]

    def remove_expired(self) -> None:
        """Remove files whose time is up."""
        while self._files and next(iter(self._files.values()))[0] <= self._now():
            _, (_, data) = self._files.popitem(last=False)
            self.bytes -= len(data)
