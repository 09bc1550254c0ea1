"""Blanks: their probabilities are the model's, whatever stands beside them in a batch."""

import copy

import pytest
import torch

from headwise.decode.filler import BLANK, Filler
from headwise.errors import DataError, HeadwiseError
from tests.kinds import BERT, encoder, tokenizer

TEXTS = ["The cat ___ an apple.", "___ dog sees the ___", "A ___"]


@torch.inference_mode()
def by_hand(text: str) -> list[torch.Tensor]:
    """A distribution a blank: the text is cut at its blanks, encoded and framed, and read by the model alone."""
    words = tokenizer("wordpiece", mask=True)
    assert words.mask is not None
    first, *others = [words.encode(part) for part in text.split(BLANK)]
    ids, _ = words.frame([*first, *[i for part in others for i in (words.mask, *part)]])
    logits = encoder().model(torch.tensor([ids]))[0]
    return [logits[place].softmax(-1) for place, i in enumerate(ids) if i == words.mask]


def test_probabilities_are_a_softmax_of_the_logits() -> None:
    filler = Filler(encoder(), device="cpu")
    together = filler.fill(TEXTS, top=7)
    for text, blanks in zip(TEXTS, together, strict=True):
        expected = by_hand(text)
        assert len(blanks) == len(expected) == text.count(BLANK)
        for candidates, distribution in zip(blanks, expected, strict=True):
            best = distribution.topk(7)
            assert [each.token for each in candidates] == [filler.tokenizer.alone(i) for i in best.indices.tolist()]
            assert [each.probability for each in candidates] == pytest.approx(best.values.tolist(), abs=1e-5)


def test_all_candidates_together_are_certain() -> None:
    filler = Filler(encoder(), device="cpu")
    (candidates,) = filler.fill("A ___ dog", top=10**6)
    assert len(candidates) == filler.tokenizer.size
    assert sum(each.probability for each in candidates) == pytest.approx(1, abs=1e-4)


def test_the_text_has_the_token_in_its_blank() -> None:
    filler = Filler(encoder(), device="cpu")
    first, second = filler.fill("The  (___)  sees,___ !", top=10**6)
    assert [each.text for each in first] == [f"The  ({each.token})  sees,___ !" for each in first]
    assert [each.text for each in second] == [f"The  (___)  sees,{each.token} !" for each in second]
    shown = filler.tokenizer.pieces(range(filler.tokenizer.size))
    assert {each.token for each in first} == {piece.removeprefix("▁") or "▁" for piece in shown}


def test_unknown_words_are_seen() -> None:
    filler = Filler(encoder(), device="cpu")
    assert filler.has_unknown("A ___ 龍")
    assert not filler.has_unknown("A ___ dog")


def test_the_models_own_mask_is_a_blank_too() -> None:
    filler = Filler(encoder(), device="cpu")
    assert filler.fill(f"A {filler.mask_text} dog") == filler.fill("A ___ dog")


def test_a_text_without_a_blank_or_too_long() -> None:
    filler = Filler(encoder(), device="cpu")
    with pytest.raises(DataError, match="no blank"):
        filler.fill("A dog")
    with pytest.raises(DataError, match=f"has {BERT.positions.max_positions} positions"):
        filler.fill("___ " + "fish " * 100)
    assert filler.fill([]) == []


def test_weights_that_are_nan_fill_no_blank() -> None:
    loaded = copy.deepcopy(encoder())
    torch.nn.init.constant_(next(loaded.model.parameters()), torch.nan)
    with pytest.raises(HeadwiseError, match="NaN"):
        Filler(loaded, device="cpu").fill(TEXTS)
