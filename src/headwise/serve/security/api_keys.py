"""API keys: 256 random bits each, of which only SHA-256 digests are stored.

A digest is enough: a random key of this length cannot be guessed, so it needs no salt and no slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from headwise.errors import ConfigError
from headwise.files.lock import locked
from headwise.files.tables import read_table, write_table

FILE = "keys.json"
PREFIX = "hw_"
"""Begins every key, so that programs that look for leaked secrets can find it."""
LONGEST = 200
"""Characters of a key that are looked at."""


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored."""

    name: str
    """What its owner is called by the operator."""
    digest: str
    created: float
    rate: int = 0
    """Requests per minute; 0: as the server's settings say."""


class ApiKeys:
    """The keys in a folder. A running server notices changes by itself."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._state: tuple[int, int, int] | None = None
        self._keys: tuple[ApiKey, ...] = ()

    def listed(self) -> tuple[ApiKey, ...]:
        """All keys, as the file has them now."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._state, self._keys = None, ()
            return ()
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        if state != self._state:
            self._keys = tuple(ApiKey(**each) for each in read_table(self._path)["keys"])
            self._state = state
        return self._keys

    def find(self, given: str) -> ApiKey | None:
        """The stored key that a given one matches. All are compared, so that the time reveals nothing."""
        digest = _digest(given)
        found = None
        for key in self.listed():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def add(self, name: str, rate: int = 0) -> str:
        """Make a key and return it: this is the only time that it can be seen."""
        if not name or not name.isprintable() or len(name) > 100:
            raise ConfigError("the name of a key must have between 1 and 100 printable characters")
        made = PREFIX + secrets.token_urlsafe(32)
        with self._locked():
            if any(key.name == name for key in self.listed()):
                raise ConfigError(f"there is a key named {name} already: remove it first, or choose another name")
            self._write((*self.listed(), ApiKey(name, _digest(made), time.time(), rate)))
        return made

    def remove(self, name: str) -> None:
        """Remove the key of this name: it is refused from now on."""
        with self._locked():
            left = tuple(key for key in self.listed() if key.name != name)
            if len(left) == len(self.listed()):
                raise ConfigError(f"there is no key named {name}: `headwise keys list` shows all")
            self._write(left)

    def _locked(self) -> AbstractContextManager[bool]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return locked(self._path.with_name(f".{FILE}.lock"), wait=True)

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        write_table(self._path, {"keys": [asdict(key) for key in keys]})
        self._path.chmod(0o600)


def _digest(key: str) -> str:
    return hashlib.sha256(key[:LONGEST].encode("utf-8", "surrogatepass")).hexdigest()
