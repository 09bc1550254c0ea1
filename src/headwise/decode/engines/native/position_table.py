"""Where tokens stand, as the native engine is told: the encodings of `headwise.nn.positions` in NumPy."""

from __future__ import annotations

import math

import numpy as np

from headwise.config import ModelConfig
from headwise.decode.engines.native.library import Floats, Numbers, Placing

SINUSOIDAL = {"sinusoidal": "interleaved", "sinusoidal_halves": "halves", "sinusoidal_fairseq": "fairseq"}
KNOWN = ("none", *SINUSOIDAL, "learned", "rotary")

FIRST = 64
"""For which rows are made at once; more are made as they are needed."""


def known(config: ModelConfig) -> bool:
    """Whether the engine can be told of these positions. Those that turn faster on longer texts cannot be tables."""
    return config.positions.kind in KNOWN and (
        config.positions.kind != "rotary" or config.positions.rotary.scaling.kind == "none"
    )


class PositionTable:
    """What an encoding adds to embeddings, and by what it turns heads: as many positions as were ever asked for."""

    def __init__(self, config: ModelConfig, width: int, head_width: int, learned: Floats | None) -> None:
        """`learned`: [positions, D] of such an encoding."""
        self._config, self._width, self._learned = config, width, learned
        turning = config.positions.rotary.width or head_width
        self._turning = turning - turning % 2 if config.positions.kind == "rotary" else 0
        self._table = Placing(learned, None, None), 0 if learned is None else len(learned)

    def up_to(self, count: int) -> tuple[Placing, int]:
        """Positions from 0 on, at least so many; and how many there are."""
        table = self._table  # looked up once: another thread may put a longer one there at any moment
        if count <= table[1]:
            return table
        if self._learned is not None:  # it ends where its table does
            raise ValueError(f"{count} positions, but only {len(self._learned)} were learned (model.max_positions)")
        made = max(count, 2 * table[1], FIRST)
        self._table = table = self._placing(np.arange(made)[:, None]), made
        return table

    def _placing(self, places: Numbers) -> Placing:
        """Of places [T, 1]."""
        rows: Floats | None = None
        if self._config.positions.kind in SINUSOIDAL:
            layout = SINUSOIDAL[self._config.positions.kind]
            rows = sinusoids(places + self._config.positions.offset, self._width, layout)
        if not self._turning:
            return Placing(rows, None, None)
        angles = places / self._config.positions.rotary.base ** (np.arange(0, self._turning, 2) / self._turning)
        return Placing(rows, np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))

    def single(self, position: int) -> Placing:
        """Of one position."""
        whole, _ = self.up_to(position + 1)
        return Placing(*(None if each is None else each[position : position + 1] for each in whole.kept))


def sinusoids(places: Numbers, width: int, layout: str) -> Floats:
    """[T, 1] -> [T, D]."""
    numbers = np.arange(0, width, 2)
    table = np.zeros((len(places), width), np.float32)
    if layout == "fairseq":
        pairs = width // 2
        angles = places * np.exp(np.arange(pairs) * -(math.log(10000.0) / max(pairs - 1, 1)))
        table[:, :pairs], table[:, pairs : 2 * pairs] = np.sin(angles), np.cos(angles)
        return table
    angles = places / 10000.0 ** (numbers / width)  # [T, ceil(D/2)]
    sine, cosine = np.sin(angles), np.cos(angles)[:, : width // 2]
    if layout == "halves":
        table[:, : sine.shape[1]], table[:, sine.shape[1] :] = sine, cosine
    else:
        table[:, 0::2], table[:, 1::2] = sine, cosine
    return table
