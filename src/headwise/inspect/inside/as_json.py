"""Tensors as JSON: nested lists of numbers with seven significant digits, which is what float32 holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

DIGITS = 7


def numbers(values: Tensor, digits: int = DIGITS) -> Any:
    """Nested lists of the numbers of a tensor; zeros stay exactly 0."""
    exact = values.detach().double().cpu().numpy()
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(np.abs(exact)))
    scale = 10.0 ** (digits - 1 - np.where(np.isfinite(exponents), exponents, 0.0))
    return (np.rint(exact * scale) / scale).tolist()


def number(value: float | Tensor, digits: int = DIGITS) -> float:
    """A single number, rounded likewise."""
    return float(f"{float(value):.{digits}g}")
