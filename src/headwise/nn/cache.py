"""The key/value cache: keys and values of earlier steps, passed in and out, never hidden in a module."""

from typing import NamedTuple

import torch
from torch import Tensor


class KeyValues(NamedTuple):
    """The keys and values that one attention looks up."""

    key: Tensor  # [B, G, S, K]
    value: Tensor  # [B, G, S, K]

    @property
    def length(self) -> int:
        return self.key.size(2)

    def append(self, more: "KeyValues") -> "KeyValues":
        """Append the positions of `more`."""
        return KeyValues(torch.cat((self.key, more.key), 2), torch.cat((self.value, more.value), 2))

    def select(self, rows: Tensor) -> "KeyValues":
        """Select rows of the batch in the given order: a beam is reordered, a finished sentence leaves."""
        return KeyValues(self.key.index_select(0, rows), self.value.index_select(0, rows))


class LayerCache(NamedTuple):
    """The key/value cache of one layer between two decoding steps."""

    past: KeyValues | None = None
    """Self-attention: the positions so far."""
    memory: KeyValues | None = None
    """Cross-attention: the encoder's output, projected once."""

    @property
    def length(self) -> int:
        return self.past.length if self.past is not None else 0

    def select(self, rows: Tensor) -> "LayerCache":
        return LayerCache(
            self.past.select(rows) if self.past is not None else None,
            self.memory.select(rows) if self.memory is not None else None,
        )
