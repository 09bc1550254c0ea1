"""Hypothesis strategies: marked texts and alignments of any kind."""

from __future__ import annotations

from hypothesis import strategies as st

from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind, Part

STRINGS = st.text("abcDE éß.,!' \"«»-1", min_size=1, max_size=12)
KEPT = st.sampled_from(["%s", "{name}", "`a b`", "https://example.org/x", "{n, plural, one {# day} other {# days}}"])


@st.composite
def marked_texts(draw: st.DrawFn) -> MarkedText:
    """A well-formed text with pairs, single marks and kept parts."""
    parts: list[Part] = []
    waiting: list[Mark] = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["string", "string", "open", "close", "single", "kept"]))
        if kind == "string":
            parts.append(draw(STRINGS))
        elif kind == "kept":
            parts.append(Kept(draw(KEPT), number))
        elif kind == "single":
            parts.append(Mark(MarkKind.SINGLE, number, separates=draw(st.booleans())))
        elif kind == "open":
            parts.append(Mark(MarkKind.OPEN, number))
            waiting.append(Mark(MarkKind.CLOSE, number))
        elif waiting:
            parts.append(waiting.pop())
    return MarkedText([*parts, *reversed(waiting)])


LINKS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=25)
