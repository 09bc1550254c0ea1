"""Places of a translation that render a term, by attention."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.glossary.term_places import overlapping, piece_spans, places
from headwise.text.tokenizer import WORD_START
from tests.taught import TARGETS, taught

TEXT = "Le moteur de la voiture est chaud."
PIECES = [f"{WORD_START}{word}" for word in TEXT[:-1].split()] + ["."]


def test_pieces_are_found_in_their_text() -> None:
    tokenizer = taught().description.tokenizer
    assert tokenizer is not None
    for text in TARGETS:
        pieces = tokenizer.pieces(tokenizer.encode(text))
        spans = piece_spans(text, pieces)
        assert [text[start:end] for start, end in spans] == [piece.replace(WORD_START, "") for piece in pieces]


@given(st.text("ab \u2581é", max_size=20), st.lists(st.text("ab \u2581é", max_size=5), max_size=8))
def test_any_pieces_have_places_in_order(text: str, pieces: list[str]) -> None:
    spans = piece_spans(text, pieces)
    assert len(spans) == len(pieces)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def weights(**by_word: float) -> np.ndarray:
    return np.array([by_word.get(piece.strip(WORD_START), 0.0) for piece in PIECES])


def found(given: np.ndarray, after: int = 0, long: bool = False) -> list[str]:
    return [TEXT[start:end] for start, end in places(TEXT, piece_spans(TEXT, PIECES), given, after, 2, long)]


def test_the_word_that_attends_most_comes_first() -> None:
    assert found(weights(moteur=0.5, voiture=0.9)) == ["voiture", "moteur"]


def test_what_is_final_stays() -> None:
    assert found(weights(moteur=0.9, voiture=0.5), after=TEXT.index("de")) == ["voiture", "de"]


def test_a_long_term_begins_with_the_first_word_that_attends() -> None:
    given = weights(la=0.5, voiture=0.9, est=0.8)
    assert found(given)[0] == "voiture"
    assert found(given, long=True) == ["la voiture", "voiture"]


def test_nothing_but_punctuation_is_left() -> None:
    end = len(TEXT) - 1
    assert places(TEXT, piece_spans(TEXT, PIECES), weights(), end, 2, False) == [(end, end)]
    assert places("", [], np.zeros(0), 0, 2, False) == [(0, 0)]


def test_overlapping_spans() -> None:
    assert overlapping([(0, 2), (2, 5), (5, 6)], 1, 5) == [0, 1]
