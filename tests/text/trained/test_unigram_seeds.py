"""The pieces a unigram model starts from, against an obvious count; the model, against SentencePiece's own search."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.text.published.sentencepiece_file import read_sentencepiece, without_setting
from headwise.text.tokenizer import TrainingSet
from headwise.text.trained import sentencepiece_training
from headwise.text.trained.unigram_seeds import LONGEST, seed_pieces
from tests.text.corpus import CORPUS

SENTENCES = st.lists(
    st.text("aab .é字\U0001f600", min_size=1, max_size=25).map(lambda t: " ".join(t.split())), max_size=8
)


def counted(sentences: Sequence[str]) -> dict[str, int]:
    """Each part of a word that has two places, and what follows them is not one and the same character."""
    following: dict[str, list[object]] = defaultdict(list)
    for sentence in sentences:
        for word in sentence.split(" "):
            marked = f"▁{word}"
            for start in range(len(marked)):
                for end in range(start + 2, min(len(marked), start + LONGEST) + 1):
                    following[marked[start:end]].append(marked[end] if end < len(marked) else object())
    return {part: len(after) for part, after in following.items() if len(set(after)) > 1}


@given(SENTENCES.filter(lambda sentences: any(sentences)))
def test_pieces_are_the_parts_that_an_obvious_count_finds(sentences: list[str]) -> None:
    texts = [sentence for sentence in sentences if sentence]
    found = list(seed_pieces(texts, 1.0))
    assert len(dict(found)) == len(found)
    assert dict(found) == counted(texts)


def test_long_words_have_pieces_of_limited_length() -> None:
    found = dict(seed_pieces(["x" * 200, "y" * 20 + " " + "y" * 20], 1.0))
    assert found == counted(["x" * 200, "y" * 20 + " " + "y" * 20])
    assert max(map(len, found)) == LONGEST


def test_rare_characters_are_in_no_piece() -> None:
    sentences = ["aa bb ab"] * 200 + ["aéa", "béa"]
    assert any("é" in piece for piece, _ in seed_pieces(sentences, 1.0))
    found = dict(seed_pieces(sentences, 0.998))
    assert not any("é" in piece for piece in found)
    assert "▁a" in found


def test_the_model_is_the_one_that_sentencepiece_finds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [*CORPUS, *(f"{first} {second}" for first in CORPUS for second in CORPUS[:20])]
    ours = sentencepiece_training.train_model("unigram", TrainingSet(sentences, 500, ("de",)))

    @contextmanager
    def none(*_: object) -> Any:
        yield {}

    monkeypatch.setattr(sentencepiece_training, "_seeds", none)
    alone = sentencepiece_training.train_model("unigram", TrainingSet(sentences, 500, ("de",)))
    found, expected = ({piece: score for piece, score, _ in read_sentencepiece(m).pieces} for m in (ours, alone))
    common = found.keys() & expected.keys()
    assert len(common) >= 0.98 * len(expected)
    different = Counter(abs(found[piece] - expected[piece]) > 0.05 for piece in common)
    assert different[True] <= 0.02 * len(common)


def test_the_model_says_nothing_of_files_of_this_machine() -> None:
    model = sentencepiece_training.train_model("unigram", TrainingSet(CORPUS, 400))
    assert b"seeds.tsv" not in model
    assert without_setting(model, 54) == model
    assert sentencepiece_training.train_model("unigram", TrainingSet(CORPUS, 400)) == model
