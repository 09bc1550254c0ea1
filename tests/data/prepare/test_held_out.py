"""Validation data out of the training data."""

from collections.abc import Sequence

from headwise.data.prepare.held_out import hold_out_examples, hold_out_images
from headwise.data.read.labelled import Example


def examples(labels: Sequence[str], texts: Sequence[str] | None = None) -> list[Example]:
    texts = texts or [f"text {i}" for i in range(len(labels))]
    return [Example(text, None, label, "f", i) for i, (text, label) in enumerate(zip(texts, labels, strict=True))]


def test_held_out_examples_are_the_seeds_and_share_no_text_with_training() -> None:
    all_of_them = examples(["a", "b"] * 100, [f"text {i % 150}" for i in range(200)])
    train, valid = hold_out_examples(all_of_them, 1000, 1)
    assert sorted(train + valid) == sorted(all_of_them)
    assert 10 <= len(valid) <= 20
    assert {e.first for e in train}.isdisjoint(e.first for e in valid)
    assert hold_out_examples(all_of_them, 1000, 1) == (train, valid)
    assert hold_out_examples(all_of_them, 1000, 2) != (train, valid)
    assert hold_out_examples(all_of_them, 0, 1) == (all_of_them, [])


def test_held_out_images_are_chosen_by_the_seed_alone() -> None:
    training, validation = hold_out_images(200, 1000, 3)
    assert len(validation) == 10, "at most a twentieth"
    assert sorted([*training, *validation]) == list(range(200))
    assert (hold_out_images(200, 10, 3)[1] == validation).all()
    assert (hold_out_images(200, 10, 4)[1] != validation).any()
    assert len(hold_out_images(200, 0, 3)[1]) == 0
