"""Attention weights of a model, with the tokens of their rows and columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headwise.errors import ConfigError


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one kind of attention in every layer and head: rows are queries, columns are keys."""

    title: str
    """What looks at what, in words."""
    rows: list[str]
    columns: list[str]
    weights: Tensor  # [layers, H, rows, columns]


@dataclass(frozen=True)
class AttentionMaps:
    """All attention weights of one pass through a model."""

    text: str
    """The text that the model read, or the one that it generated."""
    labels: Mapping[str, list[str]]
    """The token sequences of the maps, by name."""
    maps: Mapping[str, AttentionMap]
    """The maps by kind; the first is the most informative one."""
    lacks: str = ""
    """Why an expected kind is missing."""
    source: str = ""
    """The text that was translated, if `text` is a translation."""

    @property
    def title(self) -> str:
        """The text, or the text and its translation."""
        return f"{self.source}  →  {self.text}" if self.source else self.text

    @property
    def kind(self) -> str:
        """The default kind."""
        return next(iter(self.maps))

    def __getitem__(self, kind: str) -> AttentionMap:
        if kind not in self.maps:
            why = f": {self.lacks}" if self.lacks else ""
            raise ConfigError(f"this model has no {kind} attention{why}; there is: {', '.join(self.maps)}")
        return self.maps[kind]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested lists of rounded numbers."""
        weights = {kind: rounded(each.weights) for kind, each in self.maps.items()}
        return {**self.labels, "text": self.text, **weights}


def stacked(weights: Sequence[Tensor]) -> Tensor:
    """Captured weights of a single input, [1, H, rows, columns] per layer -> [layers, H, rows, columns]."""
    return torch.cat(list(weights)).float().cpu()


def rounded(weights: Tensor) -> Any:
    return (weights.double() * 1e5).round().div(1e5).tolist()
