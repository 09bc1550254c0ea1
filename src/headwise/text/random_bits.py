"""Counter-based random numbers (splitmix64): the numbers at any indices, in any order."""

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The increment between two states of splitmix64."""


def mixed(values: Bits) -> Bits:
    """The finaliser of splitmix64, a bijection that scatters its values."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Bits = values ^ (values >> np.uint64(31))
    return result


def bits_at(key: tuple[int, ...], indices: NDArray[np.int64]) -> Bits:
    """The 64 random bits at each of `indices` in the sequence with the seed `key`."""
    begin = np.random.SeedSequence(key).generate_state(1, np.uint64)
    return mixed(begin + indices.astype(np.uint64) * GOLDEN)


def uniform(bits: Bits) -> NDArray[np.float64]:
    """Uniform random numbers in [0, 1) from 64 random bits each."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
