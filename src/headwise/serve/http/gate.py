"""The gate: who a request is from, whether its key is valid, and whether it is within its rate limit."""

from __future__ import annotations

import ipaddress

from starlette.requests import Request

from headwise.serve.clients import Client
from headwise.serve.security.api_keys import ApiKeys
from headwise.serve.security.rate_limits import RateLimits
from headwise.serve.service import Service
from headwise.serve.service_errors import ForbiddenError, RateLimitError


class Gate:
    """Admits requests: checks each one's API key and rate limit."""

    def __init__(self, service: Service) -> None:
        self._settings = service.settings
        self._counters = service.counters
        self._keys = ApiKeys(service.settings.state_folder)
        self._limits = RateLimits()

    def admit(self, request: Request, key: str | None) -> Client:
        """The client of a request, which is counted; an error if it may not enter. An empty key is none."""
        found = None
        if self._settings.key_required or self._keys.listed():
            found = self._keys.find(key) if key else None
            if key and found is None:
                self._counters.refused("key")
                self._limit(self._address(request), self._settings.rate)  # guessing is slowed down, too
                raise ForbiddenError("Invalid API key")
            if found is None and self._settings.key_required:
                self._counters.refused("key")
                raise ForbiddenError("Please contact the server operator to get an API key")
        if found is not None:
            self._limit(f"key {found.name}", found.rate or self._settings.rate)
            return Client(f"key {found.name}", found.name)
        address = self._address(request)
        self._limit(address, self._settings.rate)
        return Client(address)

    def _limit(self, client: str, rate: int) -> None:
        try:
            self._limits.take(client, rate)
        except RateLimitError:
            self._counters.refused("rate")
            raise

    def _address(self, request: Request) -> str:
        """The address of a client; for IPv6 its network, of which a client has all addresses."""
        host = request.client.host if request.client else ""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return f"address {host}"
        if address.version == 6 and address.ipv4_mapped:
            address = address.ipv4_mapped
        if address.version == 6:
            return f"address {ipaddress.ip_network((host.partition('%')[0], 64), strict=False)}"
        return f"address {address}"
