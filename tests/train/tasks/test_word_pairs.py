"""Word translations learnt from sentences: each other's best, as they are written within sentences, cached."""

import itertools
from pathlib import Path

import pytest

from headwise.config import TextConfig
from headwise.data.prepare.encoded_corpus import EncodedWriter, Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.tasks.word_pairs import FILE, learnt_words, word_pairs

NOUNS = [("apple", "Apfel"), ("house", "Haus"), ("boat", "Boot"), ("dog", "Hund"), ("fish", "Fisch"), ("tree", "Baum")]
VERBS = [("sees", "sieht"), ("finds", "findet"), ("sells", "verkauft"), ("paints", "malt")]
PAIRS = [
    (f"He {verb[0]} the {noun[0]}, my {other[0]}!", f"Er {verb[1]} den {noun[1]}, mein {other[1]}!")
    for verb, noun, other in itertools.product(VERBS, NOUNS, NOUNS)
    if noun != other
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TextConfig(vocabulary=400), [text for pair in PAIRS for text in pair], ["de", "en"])


@pytest.fixture(scope="module")
def corpora(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[TrainCorpus]:
    with EncodedWriter(tmp_path_factory.mktemp("corpus") / "corpus", tokenizer.size) as writer:
        sides = (Flat.of(tokenizer.encode_batch(side), writer.ids) for side in zip(*PAIRS, strict=True))
        writer.append(*sides, [0] * len(PAIRS), range(1, len(PAIRS) + 1))
        corpus = writer.finish(["file"])
    return [TrainCorpus(corpus, 1.0, "en", "de"), TrainCorpus(corpus.swapped(), 1.0, "de", "en")]


def test_words_are_each_others_translation(tokenizer: Tokenizer, corpora: list[TrainCorpus]) -> None:
    learnt = learnt_words(tokenizer, corpora[:1])
    assert {*NOUNS, *VERBS} <= set(learnt)
    sources, targets = ([pair[side] for pair in learnt] for side in (0, 1))
    assert len(set(sources)) == len(sources)
    assert len(set(targets)) == len(targets)


def test_opposite_directions_share_their_words_and_a_second_start_reads_them(
    tokenizer: Tokenizer, corpora: list[TrainCorpus], tmp_path: Path
) -> None:
    said: list[str] = []
    words = word_pairs(tmp_path, tokenizer, corpora, said.append)
    assert said == ["learning single words of en-de"]
    assert words["de", "en"] == [(right, left) for left, right in words["en", "de"]]
    assert word_pairs(tmp_path, tokenizer, corpora, said.append) == words
    assert len(said) == 1
    (tmp_path / FILE).write_text("damaged", encoding="utf-8")
    assert word_pairs(tmp_path, tokenizer, corpora, said.append) == words
    assert len(said) == 2
