"""Stop strings: the same text however it is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from headwise.serve.workers.stop_strings import StopStrings


@given(st.lists(st.text("ab", max_size=4), max_size=8), st.lists(st.text("ab", min_size=1, max_size=4), max_size=3))
def test_a_text_ends_where_it_would_in_one_piece(pieces: list[str], stops: list[str]) -> None:
    text = "".join(pieces)
    ends = []
    for size in range(len(text) + 1):  # the first stop string that is complete, and of those the leftmost
        ends += [text[:size].find(stop) for stop in stops if stop in text[:size]]
        if ends:
            break
    watcher = StopStrings(stops)
    made = "".join(watcher.add(piece) for piece in pieces)
    if not watcher.found:
        made += watcher.finish()
    assert watcher.found == bool(ends)
    assert text.startswith(made)
    assert not any(stop in made for stop in stops)
    assert bool(ends) or made == text
