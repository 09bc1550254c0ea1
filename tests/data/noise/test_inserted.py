"""Whatever is added to a pair stands on both sides, and the texts around it stay."""

import re
from collections import Counter

import pytest

from headwise.data.noise.dice import Dice
from headwise.data.noise.inserted import bulleted, copied, emoji, same, tagged

PAIR = ("Tom paid 45 dollars.", "Tom zahlte 45 Dollar.")
UNRELATED = ("she sleeps.", "sie schläft.")
LANGUAGES = ("en", "de")


def added(text: str, noisy: str) -> Counter[str]:
    """The characters that are new."""
    new = Counter(noisy)
    new.subtract(Counter(text))
    return Counter({each: count for each, count in new.items() if count and not each.isspace()})


@pytest.mark.parametrize("change", [tagged, emoji, copied, bulleted])
def test_both_sides_get_the_same(change: object) -> None:
    assert callable(change)
    for key in range(300):
        source, target = change(Dice(key), UNRELATED, LANGUAGES)
        if source == target:  # the copied thing alone
            continue
        assert added(UNRELATED[0], source) == added(UNRELATED[1], target)
        assert "she sleeps" in source
        assert "sie schläft" in target


def test_text_in_the_target_language_stays() -> None:
    assert same(Dice(0), UNRELATED, LANGUAGES) == ("sie schläft.", "sie schläft.")


def test_tags_go_around_a_word_that_both_sides_have() -> None:
    seen = {tagged(Dice(key), PAIR, LANGUAGES) for key in range(300)}
    assert ("<b>Tom</b> paid 45 dollars.", "<b>Tom</b> zahlte 45 Dollar.") in seen
    assert ("Tom paid %s dollars.", "Tom zahlte %s Dollar.") in seen
    assert all("dollars." in source and "Dollar." in target for source, target in seen)


def test_a_number_on_both_sides_becomes_another_one() -> None:
    seen = [copied(Dice(key), PAIR, LANGUAGES) for key in range(300)]
    numbers = [re.findall(r"\d+", source) for source, target in seen if source != target]
    assert len({tuple(each) for each in numbers}) > 30
    assert all(re.findall(r"\d+", source) == re.findall(r"\d+", target) for source, target in seen)
    alone = sum(source == target for source, target in seen)
    assert 15 < alone < 70


def test_a_word_that_occurs_twice_or_on_one_side_only_is_no_anchor() -> None:
    pair = ("Tom saw Tom in Rome.", "Tom sah Tom in Rom.")
    for key in range(50):
        source, _ = tagged(Dice(key), pair, LANGUAGES)
        assert "Tom saw Tom in Rome" in source


def test_things_to_copy_are_of_many_kinds() -> None:
    text = " ".join(copied(Dice(key), UNRELATED, LANGUAGES)[0] for key in range(400))
    for pattern in (r"https://\w", r"\w@\w+[\w-]*\.\w", r"\d{8}", r"\d{4}-\d\d-\d\d", r"\d:\d\d", r"\+\d\d "):
        assert re.search(pattern, text), pattern
