"""Corrections: translations that users suggested, stored durably; each answers the next request for the same text."""

from __future__ import annotations

import time
from pathlib import Path

from headwise.serve.state.state_database import StateDatabase

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
        self._database = StateDatabase(folder / FILE, _TABLE)

    def find(self, source: str, target: str, text: str) -> str | None:
        """The correction for exactly this text, if there is one."""
        database = self._database.existing()
        if database is None:
            return None
        query = "SELECT translation FROM corrections WHERE source = ? AND target = ? AND text = ?"
        found = database.execute(query, (source, target, text)).fetchone()
        return str(found[0]) if found else None

    def add(self, source: str, target: str, text: str, translation: str) -> None:
        """Store a correction; a newer one for the same text replaces it."""
        with self._database.connection() as database:
            database.execute(
                "INSERT OR REPLACE INTO corrections VALUES (?, ?, ?, ?, ?)",
                (source, target, text, translation, time.time()),
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()
