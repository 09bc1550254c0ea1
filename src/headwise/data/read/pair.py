"""A sentence pair and where it came from."""

from typing import NamedTuple


class Pair(NamedTuple):
    source: str
    target: str
    file: str
    line: int
    """Of the source side, where the two sides are in two files."""
