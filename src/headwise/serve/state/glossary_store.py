"""Glossaries that clients store on the server: durable, each seen only by the API key that made it."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from headwise.serve.service_errors import InvalidRequestError, UnknownPageError
from headwise.serve.state.state_database import StateDatabase

FILE = "glossaries.sqlite"
MOST = 100
"""Glossaries of one owner."""

_TABLES = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
    created REAL NOT NULL, terms TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_owner ON glossaries (owner, created);
"""

Terms = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary of one direction."""

    id: str
    name: str
    source: str
    target: str
    """Short codes of its languages."""
    created: float
    terms: Terms


class GlossaryStore:
    """The glossaries in a folder. Clients without a key share one owner, the empty name."""

    def __init__(self, folder: Path) -> None:
        self._database = StateDatabase(folder / FILE, _TABLES)

    def add(self, owner: str, name: str, source: str, target: str, terms: Terms) -> StoredGlossary:
        """Store a glossary, whose terms have been checked."""
        made = StoredGlossary(str(uuid.uuid4()), name, source, target, time.time(), terms)
        with self._database.connection() as database:
            [count] = database.execute("SELECT count(*) FROM glossaries WHERE owner = ?", (owner,)).fetchone()
            if count >= MOST:
                raise InvalidRequestError(f"there are {MOST} glossaries already: delete one first")
            row = (made.id, owner, name, source, target, made.created, json.dumps(terms))
            database.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return made

    def listed(self, owner: str) -> list[StoredGlossary]:
        """All glossaries of an owner, the oldest first."""
        database = self._database.existing()
        if database is None:
            return []
        query = "SELECT id, name, source, target, created, terms FROM glossaries WHERE owner = ? ORDER BY created"
        return [_stored(row) for row in database.execute(query, (owner,))]

    def get(self, owner: str, id: str) -> StoredGlossary:
        """A glossary by its id; those of others do not exist."""
        database = self._database.existing()
        query = "SELECT id, name, source, target, created, terms FROM glossaries WHERE owner = ? AND id = ?"
        row = None if database is None else database.execute(query, (owner, id)).fetchone()
        if row is None:
            raise UnknownPageError("there is no such glossary")
        return _stored(row)

    def remove(self, owner: str, id: str) -> None:
        """Delete a glossary."""
        self.get(owner, id)
        with self._database.connection() as database:
            database.execute("DELETE FROM glossaries WHERE owner = ? AND id = ?", (owner, id))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _stored(row: tuple[str, str, str, str, float, str]) -> StoredGlossary:
    id, name, source, target, created, terms = row
    return StoredGlossary(id, name, source, target, created, tuple((term, meant) for term, meant in json.loads(terms)))
