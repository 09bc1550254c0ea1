"""Hard-wrapped text: detected, and joined into one text per paragraph."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

WRAPPED_SHARE = 0.3
"""Share of line ends in mid-sentence from which on a text counts as wrapped."""
FEWEST = 5
"""Fewest line ends in mid-sentence of a text that counts as wrapped."""
COLUMNS = range(40, 121)
"""Widths at which text is wrapped."""
ENDS = tuple(".!?:;…。！？\"'”’»)")


def join_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """One text per paragraph, its lines joined by spaces; empty lines between paragraphs stay."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line.strip())
            continue
        if paragraph:
            yield " ".join(paragraph)
            paragraph = []
        yield ""
    if paragraph:
        yield " ".join(paragraph)


def looks_wrapped(lines: Sequence[str]) -> bool:
    """Whether many lines end in mid-sentence at a usual width, and the next line goes on in lower case."""
    pairs = [(one.rstrip(), other.lstrip()) for one, other in itertools.pairwise(lines) if one.strip()]
    pairs = [(one, other) for one, other in pairs if other]
    broken = [one for one, other in pairs if len(one) in COLUMNS and not one.endswith(ENDS) and other[0].islower()]
    return len(broken) >= FEWEST and len(broken) >= WRAPPED_SHARE * len(pairs)
