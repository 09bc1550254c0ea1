"""Limits of length, and loops."""

from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.repair.length_guard import cut_to, has_loop, longest_allowed, longest_ratio, without_loops


def test_short_sources_have_room_and_dense_scripts_more() -> None:
    assert longest_allowed("ok", 3) >= len("d'accord")
    assert longest_allowed("x" * 100, 3) == 300
    assert longest_ratio("en") == 3 < longest_ratio("zh") == longest_ratio("")


def test_loops_are_found_unless_the_source_has_one() -> None:
    looped = "Das ist " + "nicht gut " * 8
    assert has_loop("This is not good.", looped, looped.split())
    assert not has_loop("No " * 9, looped, looped.split())
    assert not has_loop("x", "Das ist ein Satz, der sich nicht wiederholt.", list("abcdefghijklm"))
    million = list("1000000000000")
    assert not has_loop("a trillion", "".join(million), million)


def test_a_loop_is_left_once() -> None:
    assert without_loops("Das ist " + "nicht gut " * 8) == "Das ist nicht gut"
    assert without_loops("aaaaaaaab") == "ab"
    assert without_loops("10000000 - 3") == "10000000 - 3"


@given(st.text(), st.integers(1, 50))
def test_a_cut_text_fits_and_is_a_beginning(text: str, limit: int) -> None:
    cut = cut_to(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut)


def test_a_text_is_cut_between_words() -> None:
    assert cut_to("one two three four", 12) == "one two"
    assert cut_to("one two three four", 13) == "one two three"
    assert cut_to("x" * 20, 5) == "xxxxx"
