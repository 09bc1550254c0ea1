"""The fair queue: clients take turns, and so do the requests of a client, however much each has to translate."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items of many requests of many clients, handed out in turn."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[int, deque[T]]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._clients)

    @property
    def requests(self) -> int:
        """The number of requests that wait."""
        return sum(map(len, self._clients.values()))

    def add(self, client: str, request: int, item: T) -> None:
        """Add an item behind those of its request."""
        self._clients.setdefault(client, OrderedDict()).setdefault(request, deque()).append(item)

    def peek(self) -> T:
        """The item whose turn it is."""
        return next(iter(next(iter(self._clients.values())).values()))[0]

    def take(self) -> tuple[T, bool]:
        """Remove the item whose turn it is; also returns whether it was the last of its request."""
        client, requests = next(iter(self._clients.items()))
        request, items = next(iter(requests.items()))
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

    def remove_request(self, client: str, request: int) -> list[T]:
        """Remove all items of a request."""
        requests = self._clients.get(client, OrderedDict())
        removed = requests.pop(request, deque())
        if client in self._clients and not requests:
            del self._clients[client]
        return list(removed)
