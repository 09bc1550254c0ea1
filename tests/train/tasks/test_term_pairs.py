"""Terms learnt from sentences: translations that are not unlikely, in one form each; no words that are everywhere."""

import itertools
from pathlib import Path

import pytest

from headwise.config import TextConfig
from headwise.data.prepare.encoded_corpus import EncodedWriter, Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.tasks.term_pairs import FILE, learnt_terms, term_pairs

NOUNS = [("engine", "Motor"), ("house", "Haus"), ("boat", "Boot"), ("street", "Straße"), ("fish", "Fisch")]
FORMS = {"Motor": ["Motor", "Motor", "Motors"], "Haus": ["Haus", "Haus", "Gebäude"]}
"""Some nouns are translated in different ways."""
PLACES = [(f"near{letter} town{letter}", f"nahe{letter} Stadt{letter}") for letter in "abcdefghijklmnop"]


def written(word: str, number: int) -> str:
    forms = FORMS.get(word, [word])
    return forms[number % len(forms)]


PAIRS = [
    (f"the {noun[0]} is {place[0]} .", f"das {written(noun[1], number)} ist {place[1]} .")
    for number, (noun, place) in enumerate(itertools.product(NOUNS * 6, PLACES))
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TextConfig(vocabulary=500), [text for pair in PAIRS for text in pair], ["de", "en"])


@pytest.fixture(scope="module")
def corpora(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[TrainCorpus]:
    with EncodedWriter(tmp_path_factory.mktemp("corpus") / "corpus", tokenizer.size) as writer:
        sides = (Flat.of(tokenizer.encode_batch(side), writer.ids) for side in zip(*PAIRS, strict=True))
        writer.append(*sides, [0] * len(PAIRS), range(1, len(PAIRS) + 1))
        corpus = writer.finish(["file"])
    return [TrainCorpus(corpus, 1.0, "en", "de"), TrainCorpus(corpus.swapped(), 1.0, "de", "en")]


@pytest.fixture
def rare_words_are_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """In so small a corpus every noun is in a fifth of the sentences."""
    monkeypatch.setattr("headwise.train.tasks.term_pairs.COMMON", 0.3)


@pytest.mark.usefixtures("rare_words_are_common")
def test_words_have_their_translations_in_one_form_each(tokenizer: Tokenizer, corpora: list[TrainCorpus]) -> None:
    learnt = dict(learnt_terms(tokenizer, corpora[:1]))
    assert learnt["engine"] == ["Motor"]
    assert learnt["house"] == ["Haus", "Gebäude"]
    assert learnt["street"] == ["Straße"]
    assert not {"the", "is"} & learnt.keys(), "they are in all sentences"


@pytest.mark.usefixtures("rare_words_are_common")
def test_a_second_start_reads_them(tokenizer: Tokenizer, corpora: list[TrainCorpus], tmp_path: Path) -> None:
    said: list[str] = []
    terms = term_pairs(tmp_path, tokenizer, corpora, said.append)
    assert said == ["learning terms of en-de", "learning terms of de-en"]
    assert "engine" in terms["de", "en"]["motor"]
    assert term_pairs(tmp_path, tokenizer, corpora, said.append) == terms
    assert len(said) == 2
    (tmp_path / FILE).write_text("damaged", encoding="utf-8")
    assert term_pairs(tmp_path, tokenizer, corpora, said.append) == terms
    assert len(said) == 4
