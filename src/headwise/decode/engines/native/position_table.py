"""Position encodings for the native engine: those of `headwise.nn.positions`, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from headwise.config import ModelConfig
from headwise.decode.engines.native.library import Floats, Numbers
from headwise.decode.engines.native.native_search import PositionRows

SINUSOIDAL = {"sinusoidal": "interleaved", "sinusoidal_halves": "halves", "sinusoidal_fairseq": "fairseq"}
KNOWN = ("none", *SINUSOIDAL, "learned", "rotary")

FIRST = 64
"""Positions that are computed at first; more are added as they are needed."""


def known(config: ModelConfig) -> bool:
    """Whether the engine knows this encoding. Rotary angles that depend on the length of the text cannot be a table."""
    return config.positions.kind in KNOWN and (
        config.positions.kind != "rotary" or config.positions.rotary.scaling.kind == "none"
    )


class PositionTable:
    """The rows that an encoding adds to embeddings, and the angles by which it rotates heads, from position 0 on."""

    def __init__(self, config: ModelConfig, width: int, head_width: int, learned: Floats | None) -> None:
        """`learned`: the table [positions, D] of a learned encoding."""
        self._config, self._width, self._learned = config, width, learned
        turning = config.positions.rotary.width or head_width
        self._turning = turning - turning % 2 if config.positions.kind == "rotary" else 0
        self._table = PositionRows(learned, None, None), 0 if learned is None else len(learned)

    def up_to(self, count: int) -> tuple[PositionRows, int]:
        """The table of at least `count` positions from 0 on, and its length."""
        table = self._table  # read once: another thread may replace it with a longer one at any moment
        if count <= table[1]:
            return table
        if self._learned is not None:  # it ends where its table does
            known = len(self._learned)
            raise ValueError(f"{count} positions, but only {known} were learned (model.positions.max_positions)")
        length = max(count, 2 * table[1], FIRST)
        self._table = table = self._rows(np.arange(length)[:, None]), length
        return table

    def _rows(self, positions: Numbers) -> PositionRows:
        """The table of positions [T, 1]."""
        rows: Floats | None = None
        if self._config.positions.kind in SINUSOIDAL:
            layout = SINUSOIDAL[self._config.positions.kind]
            rows = sinusoids(positions + self._config.positions.offset, self._width, layout)
        if not self._turning:
            return PositionRows(rows, None, None)
        angles = positions / self._config.positions.rotary.base ** (np.arange(0, self._turning, 2) / self._turning)
        return PositionRows(rows, np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))

    def single(self, position: int) -> PositionRows:
        """The table of one position."""
        whole, _ = self.up_to(position + 1)
        return PositionRows(*(None if each is None else each[position : position + 1] for each in whole.arrays))


def sinusoids(positions: Numbers, width: int, layout: str) -> Floats:
    """Sinusoidal encodings [T, D] of positions [T, 1]."""
    numbers = np.arange(0, width, 2)
    table = np.zeros((len(positions), width), np.float32)
    if layout == "fairseq":
        pairs = width // 2
        angles = positions * np.exp(np.arange(pairs) * -(math.log(10000.0) / max(pairs - 1, 1)))
        table[:, :pairs], table[:, pairs : 2 * pairs] = np.sin(angles), np.cos(angles)
        return table
    angles = positions / 10000.0 ** (numbers / width)  # [T, ceil(D/2)]
    sine, cosine = np.sin(angles), np.cos(angles)[:, : width // 2]
    if layout == "halves":
        table[:, : sine.shape[1]], table[:, sine.shape[1] :] = sine, cosine
    else:
        table[:, 0::2], table[:, 1::2] = sine, cosine
    return table
