"""Many short runs out of a long array at once, without a Python object for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def gather(ids: NDArray[Any], starts: Whole, lengths: Whole) -> Whole:
    """[sum of lengths] int64: `ids[starts[i] : starts[i] + lengths[i]]` for each i, end to end."""
    return np.asarray(ids).take(places(starts, lengths)).astype(np.int64)


def places(starts: Whole, lengths: Whole) -> Whole:
    """The indices `starts[i]`, `starts[i] + 1`, ... of each run, end to end.

    They say where runs come from, or where they go: in a padded block, row i begins at i * width.
    """
    ends = np.cumsum(lengths)
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
