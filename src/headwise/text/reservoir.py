"""Reservoir sampling: a fixed number of items from a stream of unknown length, each equally likely."""

import math
import random
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def reservoir_sample(items: Iterable[T], count: int) -> tuple[list[T], int]:
    """`count` of the items, or all if there are fewer, and how many items there are.

    The skips of Li (1994, algorithm L) make an item that is passed over cost next to nothing. The seed is fixed:
    the same items in the same order give the same sample.
    """
    rng = random.Random(0)
    numbered = enumerate(items, 1)
    sample = [item for _, item in islice(numbered, count)]
    total = len(sample)
    weight = 1.0
    while True:
        weight *= math.exp(math.log(1 - rng.random()) / count)
        skipped = int(math.log(1 - rng.random()) / math.log1p(-weight))
        for number, _ in deque(islice(numbered, skipped), maxlen=1):
            total = number
        following = next(numbered, None)
        if following is None:
            return sample, total
        total, item = following
        sample[rng.randrange(count)] = item
