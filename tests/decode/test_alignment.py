"""Word alignments: the most attended word, whatever the subwords, specials and padding around it."""

from __future__ import annotations

import pytest
import torch

from headwise.decode.alignment import align, lettered, pharaoh


def test_a_permutation_is_found_again() -> None:
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    attention = torch.full((6, 6), 0.02)
    attention[torch.arange(6), order] = 0.9
    words = list(range(6))
    assert align(attention, words, words) == sorted((int(s), t) for t, s in enumerate(order))


def test_mass_is_summed_over_the_subwords_of_both_sides() -> None:
    attention = torch.tensor([[0.4, 0.3, 0.3], [0.45, 0.25, 0.3]])  # piece 0 is the largest, word 1 has more
    assert align(attention, [0, 1, 1], [0, 0]) == [(1, 0)]
    split_target = torch.tensor([[0.6, 0.4], [0.1, 0.9]])
    assert align(split_target, [0, 1], [0, 0]) == [(1, 0)]
    assert align(split_target, [0, 1], [0, 1]) == [(0, 0), (1, 1)]


def test_specials_and_padding_are_ignored() -> None:
    attention = torch.tensor([[0.1, 0.2, 0.7, 0.0], [0.3, 0.1, 0.5, 0.1], [0.0, 0.0, 1.0, 0.0]])
    assert align(attention, [0, 1, -1], [0, 1, -1]) == [(0, 1), (1, 0)]
    assert align(attention, [0, 1], [0, 1]) == [(0, 1), (1, 0)]
    assert align(attention, [-1, -1], [0]) == []
    assert align(attention, [0, 1], []) == []
    assert align(torch.tensor([[0.0, 1.0]]), [0, -1], [0]) == []  # nothing seen, nothing linked


def test_attention_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="smaller"):
        align(torch.ones(2, 2), [0, 1, 2], [0])


def test_punctuation_marks_do_not_count_in_words_with_letters() -> None:
    pieces = ["▁Buch", "en", ",", "▁", "—", "▁हि", "ी", "▁3", ".", "</s>"]
    words = [0, 0, 0, 1, 1, 2, 2, 3, 3, -1]
    assert lettered(words, pieces) == [0, 0, -1, 1, 1, 2, 2, 3, -1, -1]
    assert lettered([], []) == []
    attention = torch.tensor([[0.9, 0.1, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])  # leihen . / lend you .
    found = [align(attention, [0, 1, 1], words) for words in ([0, 0, 1], lettered([0, 0, 1], ["▁leihen", ".", "▁x"]))]
    assert found == [[(1, 0), (1, 1)], [(0, 0), (1, 1)]]


def test_pharaoh_text() -> None:
    assert pharaoh([(0, 0), (1, 2)]) == "0-0 1-2"
    assert pharaoh([]) == ""
