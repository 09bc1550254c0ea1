"""Rows of text with masked tokens."""

import numpy as np
import pytest

from headwise.config import LanguageConfig, TextConfig
from headwise.data.batch.masked import Frame, MaskedStream, Masks
from headwise.data.batch.stream import Position, batches_from
from headwise.data.prepare.plain_text import TokenText
from headwise.errors import ConfigError
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer
from tests.data.tiny import token_text

WORDS = [f"{a}{b}" for a in "abcdefgh" for b in ("", "ing", "ed", "ation")]


@pytest.fixture(scope="module")
def subwords() -> Tokenizer:
    rng = np.random.default_rng(0)
    sentences = [" ".join(rng.choice(WORDS, 9)) for _ in range(300)]
    return train_tokenizer(TextConfig(kind="bpe", vocabulary=300), sentences, [], mask=True)


@pytest.fixture(scope="module")
def text(subwords: Tokenizer) -> TokenText:
    rng = np.random.default_rng(1)
    ids: list[int] = []
    for _ in range(120):
        ids += [*subwords.encode(" ".join(rng.choice(WORDS, 30))), subwords.eos]
    return token_text(ids)


def masked_stream(text: TokenText, tokenizer: Tokenizer, **language: object) -> MaskedStream:
    return MaskedStream(text, tokenizer, LanguageConfig(block=64, **language), 64 * 16, seed=4)  # type: ignore[arg-type]


def plain_rows(batch: object) -> np.ndarray:
    """The rows before anything was hidden."""
    rows = batch.tokens.clone().flatten()  # type: ignore[attr-defined]
    rows[batch.places] = batch.targets  # type: ignore[attr-defined]
    return rows.view(batch.tokens.shape).numpy()  # type: ignore[attr-defined]


def test_masks_have_the_shares_of_the_paper_and_spare_specials(text: TokenText, subwords: Tokenizer) -> None:
    stream = masked_stream(text, subwords)
    chosen = hidden = kept = tokens = 0
    for (batch, _), _ in zip(batches_from(stream), range(40), strict=False):
        now = batch.tokens.flatten()[batch.places]
        assert not any(subwords.is_special(i) for i in set(batch.targets.tolist()))
        hidden += int((now == subwords.mask).sum())
        kept += int((now == batch.targets).sum())
        chosen += batch.count
        tokens += sum(not subwords.is_special(i) for i in plain_rows(batch).flatten().tolist())
    assert chosen / tokens == pytest.approx(0.15, abs=0.01)
    assert hidden / chosen == pytest.approx(0.8, abs=0.02)
    assert kept / chosen == pytest.approx(0.1, abs=0.02)


def test_rows_are_framed_pieces_of_the_text(text: TokenText, subwords: Tokenizer) -> None:
    batch, _ = next(batches_from(masked_stream(text, subwords)))
    for row, start in zip(plain_rows(batch).tolist(), batch.starts.tolist(), strict=True):
        framed, _ = subwords.frame([])
        piece = text.ids[start : start + 64 - len(framed)].tolist()
        assert row == subwords.frame(piece)[0]


def test_masks_change_by_epoch_and_not_by_run(text: TokenText, subwords: Tokenizer) -> None:
    def places(epoch: int) -> list[int]:
        stream = masked_stream(text, subwords)
        return stream.batch(np.array([0, 64]), Position(epoch, 0)).places.tolist()

    assert places(0) == places(0)
    assert places(0) != places(1)


def test_whole_words_are_masked_whole(text: TokenText, subwords: Tokenizer) -> None:
    masks = Masks(subwords, whole_words=True)
    batch, _ = next(batches_from(masked_stream(text, subwords)))
    rows = plain_rows(batch)
    chosen = masks.choose(rows, 9, np.random.default_rng(0))
    longer = 0
    for words, marks in zip(masks.words(rows), chosen, strict=True):
        for word in set(words[marks].tolist()):
            assert marks[words == word].all()
            longer += int((words == word).sum() > 1)
        assert 0.1 < marks.mean() < 0.3
    assert longer, "the text has words of several pieces"


def test_the_second_half_follows_the_first_or_does_not(text: TokenText, subwords: Tokenizer) -> None:
    stream = masked_stream(text, subwords, next_sentence=True)
    frame = Frame(subwords, 64, pair=True)
    followed = []
    for (batch, _), _ in zip(batches_from(stream), range(20), strict=False):
        assert batch.follows is not None
        rows = plain_rows(batch)
        for row, start, other in zip(rows, batch.starts.tolist(), batch.follows.tolist(), strict=True):
            first, second = frame.first, frame.second
            following = text.ids[start + first : start + first + second].tolist()
            content = [i for i, s in zip(row.tolist(), batch.segments[0].tolist(), strict=True) if s == 1]
            if not other:
                assert content[:second] == following
            followed.append(other)
    assert 0.35 < np.mean(followed) < 0.65


def test_a_tokenizer_without_a_mask_is_refused() -> None:
    tokenizer = train_tokenizer(TextConfig(kind="characters"), ["abc"], [])
    with pytest.raises(ConfigError, match="no mask token"):
        Masks(tokenizer, whole_words=False)
