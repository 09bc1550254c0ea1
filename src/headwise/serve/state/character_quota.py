"""Character quotas: how much each API key has translated this month, and how much it may."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from headwise.serve.service_errors import QuotaError
from headwise.serve.state.state_database import StateDatabase

FILE = "usage.sqlite"
UNLIMITED = 1_000_000_000_000
"""The limit that is shown where there is none: clients expect a number."""

_TABLES = """
CREATE TABLE IF NOT EXISTS usage (
    owner TEXT NOT NULL, month TEXT NOT NULL, characters INTEGER NOT NULL, PRIMARY KEY (owner, month)
) WITHOUT ROWID;
"""


class CharacterQuota:
    """Characters per owner and month, counted in a folder, so that several servers count together."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit`: characters per month; 0: any number."""
        self._limit = limit
        self._database = StateDatabase(folder / FILE, _TABLES, durable=False)

    @property
    def limit(self) -> int:
        """Characters that an owner may translate in a month."""
        return self._limit or UNLIMITED

    def used(self, owner: str) -> int:
        """Characters of this month."""
        database = self._database.existing()
        query = "SELECT characters FROM usage WHERE owner = ? AND month = ?"
        row = None if database is None else database.execute(query, (owner, _month())).fetchone()
        return int(row[0]) if row else 0

    def check(self, owner: str, characters: int) -> None:
        """Refuse what would go beyond the limit."""
        if self._limit and self.used(owner) + characters > self._limit:
            raise QuotaError(f"Quota exceeded: {self._limit:,} characters per month")

    @contextlib.contextmanager
    def counted(self, owner: str, characters: int) -> Iterator[None]:
        """Count characters while they are translated, so that requests at the same time keep the limit together."""
        month = _month()
        self.check(owner, characters)
        self.add(owner, characters, month)
        try:
            yield
        except BaseException:
            self.add(owner, -characters, month)
            raise

    def add(self, owner: str, characters: int, month: str = "") -> None:
        """Count characters that were translated."""
        with self._database.connection() as database:
            database.execute(
                "INSERT INTO usage VALUES (?, ?, ?) "
                "ON CONFLICT (owner, month) DO UPDATE SET characters = characters + excluded.characters",
                (owner, month or _month(), characters),
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _month() -> str:
    return time.strftime("%Y-%m", time.gmtime())
