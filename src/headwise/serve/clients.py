"""Clients: who a request is from, as far as limits and fairness are concerned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """The sender of a request."""

    id: str
    """Its key's name or its address: clients take turns by it. Never logged, never a label of a metric."""
    key: str = ""
    """Name of its API key, if it gave one."""
