"""Corrections: translations that users suggested, stored durably; each answers the next request for the same text."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from headwise.errors import ConfigError

FILE = "corrections.sqlite"

_TABLE = """
CREATE TABLE IF NOT EXISTS corrections (
    source TEXT NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL, translation TEXT NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (source, target, text)
) WITHOUT ROWID
"""


class Corrections:
    """The corrections in a folder. Several servers of one machine can share it; the file is made by the first `add`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._open: sqlite3.Connection | None = None

    def find(self, source: str, target: str, text: str) -> str | None:
        """The correction for exactly this text, if there is one."""
        database = self._database() if self._open or self._path.is_file() else None
        if database is None:
            return None
        query = "SELECT translation FROM corrections WHERE source = ? AND target = ? AND text = ?"
        found = database.execute(query, (source, target, text)).fetchone()
        return str(found[0]) if found else None

    def add(self, source: str, target: str, text: str, translation: str) -> None:
        """Store a correction; a newer one for the same text replaces it."""
        with self._database() as database:
            database.execute(
                "INSERT OR REPLACE INTO corrections VALUES (?, ?, ?, ?, ?)",
                (source, target, text, translation, time.time()),
            )

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _database(self) -> sqlite3.Connection:
        if self._open is None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                database = sqlite3.connect(self._path, timeout=5.0, check_same_thread=False)
                database.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
                database.execute("PRAGMA synchronous = FULL")  # what was accepted survives a power cut
                database.execute(_TABLE)
            except (OSError, sqlite3.Error) as error:
                raise ConfigError(f"{self._path}: corrections cannot be stored: {error}") from None
            self._open = database
        return self._open
