"""SQLite databases in the state folder: made by the first write, safe to share by several servers of one machine."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headwise.errors import ConfigError


class StateDatabase:
    """One database file. Reading one that does not exist yet makes no file."""

    def __init__(self, path: Path, tables: str, *, durable: bool = True) -> None:
        """`tables`: the statements that make them. Without `durable`, a power cut may cost the last writes."""
        self._path = path
        self._tables = tables
        self._durable = durable
        self._open: sqlite3.Connection | None = None

    def existing(self) -> sqlite3.Connection | None:
        """The database, unless nothing was ever written."""
        return self.connection() if self._open or self._path.is_file() else None

    def connection(self) -> sqlite3.Connection:
        """The database, which is made if need be."""
        if self._open is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)  # it holds texts of users; SQLite gives its other files the same mode
                database = sqlite3.connect(self._path, timeout=5.0, check_same_thread=False)
                database.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
                database.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
                database.executescript(self._tables)
            except (OSError, sqlite3.Error) as error:
                raise ConfigError(f"{self._path}: the server's state cannot be stored: {error}") from None
            self._open = database
        return self._open

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None
