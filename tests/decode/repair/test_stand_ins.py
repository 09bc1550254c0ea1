"""Sentences with other numbers in them, and in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.repair.stand_ins import join_pieces, pieces_around, substitute, substitute_words
from headwise.text.numbers import digit_runs, has_digits

TEXTS = st.lists(
    st.sampled_from(["the", "25", "1,234.5", "1985", "in", "AB-77", "10:30", "१२", "and."]), max_size=9
).map(" ".join)


@given(TEXTS)
def test_a_copy_of_the_changed_sentence_gives_the_sentence_back(text: str) -> None:
    changed = substitute(text)
    assert (changed is None) == (not has_digits(text))
    if changed:
        assert changed.restore(changed.text) == text
        assert not digit_runs(changed.text).keys() & digit_runs(text).keys()


def test_stand_ins_move_with_the_translation() -> None:
    changed = substitute("Pay 1,299.99 by 2031.")
    assert changed is not None
    first, second = changed.numbers
    assert changed.restore(f"Bis {second}: {first} zahlen.") == "Bis 2031: 1,299.99 zahlen."
    devanagari = "".join(chr(0x966 + int(digit)) for digit in first)
    assert changed.restore(f"{second} तक {devanagari}") == "2031 तक 1,299.99"


def test_a_lost_or_doubled_stand_in_is_noticed() -> None:
    changed = substitute("Pay 1,299.99 now.")
    assert changed is not None
    [stand_in] = changed.numbers
    assert changed.restore("Jetzt zahlen.") is None
    assert changed.restore(f"{stand_in} oder {stand_in}") is None
    assert changed.restore(f"{stand_in}0") is None


def test_only_missing_numbers_are_replaced_on_request() -> None:
    changed = substitute("On 2/6/2012 we paid 42.81.", ["6"])
    assert changed is not None
    assert list(changed.numbers.values()) == ["2/6/2012"]
    assert "42.81" in changed.text


def test_a_sentence_with_very_many_numbers_has_no_stand_ins() -> None:
    assert substitute(" and ".join(str(number) for number in range(100, 200))) is None


@given(TEXTS)
def test_pieces_keep_every_digit(text: str) -> None:
    pieces = pieces_around(text)
    wanted = [piece for piece in pieces if not piece.copied]
    assert not any(has_digits(piece.text) for piece in wanted)
    assert digit_runs(join_pieces(pieces, [["7 77", "x"] for _ in wanted])) == digit_runs(text)
    assert join_pieces(pieces, [[piece.text] for piece in wanted]).rstrip(".") == text.strip().rstrip(".")


def test_a_piece_whose_translations_are_too_long_is_copied() -> None:
    pieces = pieces_around("at 21:00")
    assert join_pieces(pieces, [["wort " * 20, "um"]]) == "um 21:00"
    assert join_pieces(pieces, [["wort " * 20]]) == "at 21:00"


def test_a_piece_has_no_full_stop_that_its_source_lacks() -> None:
    pieces = pieces_around("The train leaves at 21:00 today.")
    assert join_pieces(pieces, [["Le train part."], ["aujourd'hui."]]) == "Le train part 21:00 aujourd'hui."


def test_names_stand_for_words_and_move_with_the_translation() -> None:
    changed = substitute_words("the `a` and `ab` and `a`", ["`a`", "`ab`", "`a`"])
    assert changed is not None
    assert changed.text == "the XYZ1 and XYZ2 and XYZ3"
    assert changed.restore("XYZ2, XYZ1, XYZ3") == "`ab`, `a`, `a`"
    assert changed.restore("XYZ2, XYZ1") is None
    assert changed.restore("XYZ1 XYZ2 XYZ3 XYZ3") is None
    assert substitute_words("XYZ1 and `a`", ["`a`"]) is None
