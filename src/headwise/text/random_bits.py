"""Random numbers of things by their number: in any order, and as many at once as are asked for."""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step of splitmix64 between two states."""


def mixed(values: Words) -> Words:
    """Each value in disorder (the finaliser of splitmix64, which is a bijection)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Words = values ^ (values >> np.uint64(31))
    return result


def drawn(key: tuple[int, ...], numbers: NDArray[np.int64]) -> Words:
    """The 64 random bits of each number in the sequence that `key` begins."""
    begin = np.random.SeedSequence(key).generate_state(1, np.uint64)
    return mixed(begin + numbers.astype(np.uint64) * GOLDEN)


def uniform(bits: Words) -> NDArray[np.float64]:
    """In [0, 1), of 64 random bits each."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
