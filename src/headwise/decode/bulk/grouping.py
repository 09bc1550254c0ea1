"""Grouping of lines: windows of neighbouring lines, sorted by length and cut into groups of similar cost.

Windows and groups follow from the lines alone. So the batches, and with them the last digit of every score, depend
neither on where the work was interrupted nor on how many processes share it.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WINDOW_LINES = 16_384
WINDOW_CHARACTERS = 1 << 22
"""Lines that are sorted together; they and the offsets of their rows are all that is in memory."""

CPU_GROUP_TOKENS = 8192
GPU_GROUP_TOKENS = 1 << 21
"""Source tokens times beam per group: a few seconds of work, in several batches."""
BYTES_PER_TOKEN = 4
"""An estimate; in scripts of three bytes per character, a token has fewer characters."""


@dataclass(frozen=True)
class Plan:
    """Sizes of windows and groups. Stored with the partial result, because other sizes would give other groups."""

    window_lines: int
    window_characters: int
    """A window ends at this many lines or characters, whichever comes first."""
    group_tokens: int
    """Source tokens times beam, estimated, that are translated and written together."""


class Group(NamedTuple):
    """Lines that are translated together."""

    number: int
    """Counted over the whole file, from 0."""
    first_line: int
    first_group: int
    """First line and first group of its window, counted from 0."""
    lines: list[int]
    """Line numbers within the window, longest line first."""
    texts: list[str]


def default_plan(on_gpu: bool) -> Plan:
    return Plan(WINDOW_LINES, WINDOW_CHARACTERS, GPU_GROUP_TOKENS if on_gpu else CPU_GROUP_TOKENS)


def groups(
    lines: Iterable[str], plan: Plan, width: int, *, first_line: int = 0, first_group: int = 0
) -> Iterator[Group]:
    """The groups of the lines for a beam of this width, from the window that starts at `first_line` on."""
    for texts in windows(itertools.islice(lines, first_line, None), plan):
        number = first_group
        for members in by_cost(texts, plan.group_tokens // width):
            yield Group(number, first_line, first_group, members, [texts[place] for place in members])
            number += 1
        first_line, first_group = first_line + len(texts), number


def windows(lines: Iterator[str], plan: Plan) -> Iterator[list[str]]:
    """Neighbouring lines, as many as the plan allows, at least one."""
    texts: list[str] = []
    size = 0
    for text in lines:
        if texts and (len(texts) == plan.window_lines or size + len(text) > plan.window_characters):
            yield texts
            texts, size = [], 0
        texts.append(text)
        size += len(text)
    if texts:
        yield texts


def by_cost(texts: Sequence[str], tokens: int) -> Iterator[list[int]]:
    """Indices of the texts, longest first, in non-empty groups of about this many tokens.

    Tokens are estimated from bytes: tokenising would take as long as everything else outside the model.
    """
    costs = [len(text.encode()) // BYTES_PER_TOKEN + 2 for text in texts]
    members: list[int] = []
    total = 0
    for place in sorted(range(len(texts)), key=lambda place: -costs[place]):
        if members and total + costs[place] > tokens:
            yield members
            members, total = [], 0
        members.append(place)
        total += costs[place]
    if members:
        yield members
