"""The models that a worker has loaded: opened on demand, closed when others need the memory or nobody uses them."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from headwise.serve.workers.model_files import size_of


class Closable(Protocol):
    """A model that can be closed."""

    def close(self) -> None: ...


M = TypeVar("M", bound=Closable)
T = TypeVar("T")


class Opened(Generic[T]):
    """Something in a pool that has nothing to close; whoever uses it at the moment keeps it alive."""

    def __init__(self, model: T) -> None:
        self.model = model

    def close(self) -> None:
        del self.model


@dataclass
class _Loaded(Generic[M]):
    model: M
    version: str
    bytes: int
    used: float


class ModelPool(Generic[M]):
    """Loaded models by folder, the least recently used first."""

    def __init__(
        self, open_model: Callable[[Path], M], limit: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`limit`: bytes of models that are kept. One that is larger by itself is kept alone."""
        self._open = open_model
        self._limit = limit
        self._now = now
        self._loaded: OrderedDict[Path, _Loaded[M]] = OrderedDict()

    @property
    def bytes(self) -> int:
        """Bytes of the loaded models, as on disk."""
        return sum(each.bytes for each in self._loaded.values())

    def __len__(self) -> int:
        return len(self._loaded)

    def get(self, folder: Path, version: str) -> M:
        """The model of a folder in this version; an older one is closed."""
        found = self._loaded.get(folder)
        if found is not None and found.version != version:
            self._close(folder)
            found = None
        if found is None:
            size = size_of(folder)
            while self._loaded and self.bytes + size > self._limit:  # before the new one is opened: memory is short
                self._close(next(iter(self._loaded)))
            found = self._loaded[folder] = _Loaded(self._open(folder), version, size, self._now())
        found.used = self._now()
        self._loaded.move_to_end(folder)
        return found.model

    def close_idle(self, seconds: float) -> None:
        """Close models that were not used for that long."""
        limit = self._now() - seconds
        for folder in [folder for folder, each in self._loaded.items() if each.used <= limit]:
            self._close(folder)

    def _close(self, folder: Path) -> None:
        self._loaded.pop(folder).model.close()
