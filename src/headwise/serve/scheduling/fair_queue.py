"""The fair queue: clients take turns, and so do the requests of a client, however much each has to translate."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items of many requests of many clients, handed out in turn."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[int, deque[T]]] = OrderedDict()
        self.passed = False
        """Whether long requests gave way to short ones when something was last taken."""

    def __bool__(self) -> bool:
        return bool(self._clients)

    def requests(self, longest: int | None = None) -> int:
        """The number of requests that wait; with `longest`, of those with at most that many items."""
        if longest is None:
            return sum(map(len, self._clients.values()))
        return sum(len(items) <= longest for requests in self._clients.values() for items in requests.values())

    def add(self, client: str, request: int, item: T) -> None:
        """Add an item behind those of its request."""
        self._clients.setdefault(client, OrderedDict()).setdefault(request, deque()).append(item)

    def peek(self, longest: int | None = None) -> T | None:
        """The item whose turn it is, among the requests with at most `longest` items; None if there is none."""
        found = self._turn(longest)
        return None if found is None else self._clients[found[0]][found[1]][0]

    def take(self, longest: int | None = None) -> tuple[T, bool]:
        """Remove the item that `peek` shows; also returns whether it was the last of its request."""
        found = self._turn(longest)
        assert found is not None
        client, request = found
        requests = self._clients[client]
        items = requests[request]
        item = items.popleft()
        if items:
            requests.move_to_end(request)
        else:
            del requests[request]
        if requests:
            self._clients.move_to_end(client)
        else:
            del self._clients[client]
        return item, not items

    def _turn(self, longest: int | None) -> tuple[str, int] | None:
        """The client and the request whose turn it is."""
        for client, requests in self._clients.items():
            for request, items in requests.items():
                if longest is None or len(items) <= longest:
                    return client, request
        return None

    def remove_request(self, client: str, request: int) -> list[T]:
        """Remove all items of a request."""
        requests = self._clients.get(client, OrderedDict())
        removed = requests.pop(request, deque())
        if client in self._clients and not requests:
            del self._clients[client]
        return list(removed)
