"""Duplicate detection: a set of many millions of 64-bit hashes in about eight bytes each."""

import numpy as np
from numpy.typing import NDArray


class SeenHashes:
    """A set of 64-bit hashes as sorted runs, merged so that each run is at least twice as long as the next.

    A Python set takes about sixty bytes per entry, a sorted array eight. As the runs grow geometrically, each hash is
    moved and searched only a logarithmic number of times.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(len(run) for run in self._runs)

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Add hashes; True for each that was not seen before, in earlier calls or earlier in this array."""
        unique, first = np.unique(hashes, return_index=True)
        new = np.ones(len(unique), dtype=np.bool_)
        for run in self._runs:
            at = np.searchsorted(run, unique)
            at[at == len(run)] = 0  # larger than all of the run, hence not equal to run[0] either
            new &= run[at] != unique
        fresh = np.zeros(len(hashes), dtype=np.bool_)
        fresh[first[new]] = True
        if new.any():
            self._push(unique[new])
        return fresh

    def _push(self, run: NDArray[np.uint64]) -> None:
        while self._runs and len(self._runs[-1]) < 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")  # a radix-like merge of two sorted halves
        self._runs.append(run)
