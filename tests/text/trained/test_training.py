"""Training on any corpus, however small or odd."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.config import TextConfig
from headwise.errors import ConfigError, DataError
from headwise.text.kinds import TOKENIZERS, load_tokenizer, train_tokenizer
from headwise.text.normalise import normalise
from headwise.text.reservoir import reservoir_sample
from headwise.text.tokenizer import Tokenizer, TrainingSet
from headwise.text.trained.sentencepiece_training import _coverage
from headwise.text.trained.wordpiece import WordPiece
from tests.text.corpus import CORPUS, sample, trained

SUBWORDS = ["unigram", "bpe"]


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("sentences", [["a"], ["你好"], ["ten words"] * 10, ["▁", "▅", "<2de>", "<0x41>"]])
def test_tiny_corpora(kind: str, sentences: list[str]) -> None:
    tokenizer = trained(kind, sentences, vocabulary=0)
    for sentence in sentences:
        decoded = tokenizer.decode(tokenizer.encode(sentence))
        assert decoded == sentence or (kind == "wordpiece" and decoded.replace(" ", "") == sentence)


@pytest.mark.parametrize("kind", [*SUBWORDS, "byte_bpe"])
@given(sentences=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
@settings(max_examples=50)
def test_any_corpus_trains_or_is_a_data_error(kind: str, sentences: list[str]) -> None:
    """SentencePiece can end the process; nothing in a corpus may make it do so."""
    try:
        tokenizer = trained(kind, sentences, vocabulary=0)
    except DataError:
        assert not any(normalise(sentence.replace("\0", "").replace("▅", "")) for sentence in sentences)
    else:
        kept = sentences[0] if tokenizer.keeps_text else normalise(sentences[0])
        assert tokenizer.decode(tokenizer.encode(sentences[0])) == kept


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("sentences", [[], ["", " \t\u3000"]])
def test_an_empty_corpus_is_a_data_error(kind: str, sentences: list[str]) -> None:
    with pytest.raises(DataError, match="no sentence"):
        trained(kind, sentences)


@pytest.mark.parametrize("kind", [*SUBWORDS, "byte_bpe"])
def test_very_long_sentences_and_words(kind: str) -> None:
    sentences = ["x" * 100_000, "ab " * 30_000, "你好吗" * 30_000, *CORPUS]
    tokenizer = trained(kind, sentences)
    assert tokenizer.decode(tokenizer.encode(sentences[0])) == sentences[0]


@pytest.mark.parametrize("kind", SUBWORDS)
def test_long_sentences_are_trained_on_to_their_end(kind: str) -> None:
    words = [f"wort{i}" for i in range(2000)] + [f"boot{i} Dampfschiff" for i in range(500)]
    tokenizer = trained(kind, [" ".join(words)], vocabulary=400)
    assert tokenizer.pieces(tokenizer.encode("Dampfschiff")) == ["▁Dampfschiff"]


@pytest.mark.parametrize("kind", [*SUBWORDS, "byte_bpe", "wordpiece"])
def test_repetition_does_not_take_forever(kind: str) -> None:
    """SentencePiece alone takes minutes for half of this."""
    trained(kind, ["again and again"] * 20_000 + ["x" * 50_000] + CORPUS)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "byte_bpe", "wordpiece", "words", "characters"])
def test_the_vocabulary_is_a_limit(kind: str) -> None:
    sizes = [trained(kind, vocabulary=size).size for size in (340, 400)]
    assert all(size <= limit for size, limit in zip(sizes, (340, 400), strict=True))
    assert trained(kind, vocabulary=0).size >= max(sizes)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "byte_bpe", "wordpiece", "words", "characters"])
@pytest.mark.parametrize("vocabulary", [-1, 1, 7])
def test_a_vocabulary_without_room_is_a_config_error(kind: str, vocabulary: int) -> None:
    with pytest.raises(ConfigError, match=r"text\.vocabulary"):
        trained(kind, vocabulary=vocabulary)


@pytest.mark.parametrize("kind", SUBWORDS)
def test_a_vocabulary_too_small_for_the_characters_is_a_config_error(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"text\.vocabulary = 270 is too small"):
        trained(kind, vocabulary=270)


def test_stray_characters_are_left_to_bytes_and_an_alphabet_is_not() -> None:
    sentences = [f"{i} bottles of the same few letters" for i in range(40_000)]
    stray, rare = ["one stray 😀"], ["qu"] * 2
    everything = _coverage([*sentences, *rare], room=200)
    without = _coverage([*sentences, *rare, *stray], room=200)
    assert everything == 1.0
    assert 0.99999 < without < 1.0


@pytest.mark.parametrize("kind", SUBWORDS)
def test_what_is_not_covered_is_spelt_in_bytes(kind: str) -> None:
    sentences = [f"{i} bottles of the same few letters" for i in range(40_000)] + [
        "one stray 😀",
        "qu",
        "qu q",
    ]
    pieces = (tokenizer := trained(kind, sentences)).pieces(range(tokenizer.size))
    assert {"q", "u", "b"} <= set(pieces)
    assert "😀" not in pieces
    assert tokenizer.decode(tokenizer.encode("😀")) == "😀"


@pytest.mark.parametrize("kind", SUBWORDS)
def test_a_script_of_many_characters_leaves_room_for_longer_pieces(kind: str) -> None:
    frequent = [f"{i}短い文を何度も使う" for i in range(2000)]
    rare = ["".join(map(chr, range(start, start + 20))) for start in range(0x4E00, 0x4E00 + 200, 20)]
    tokenizer = trained(kind, frequent + rare, vocabulary=340)
    pieces = tokenizer.pieces(range(7 + 256, tokenizer.size))
    assert sum(len(piece) == 1 for piece in pieces) <= (340 - 7 - 256) // 2 + 1
    assert "何度も使う" in "".join(pieces)
    assert tokenizer.decode(tokenizer.encode(rare[-1])) == rare[-1]


@pytest.mark.parametrize(
    ("sentences", "size"),
    [
        (100, 4_000),
        (59_999, 4_000),
        (60_000, 8_000),
        (312_000, 8_000),
        (400_000, 16_000),
        (2_000_000, 32_000),
    ],
)
def test_the_vocabulary_grows_with_the_corpus(sentences: int, size: int) -> None:
    assert Tokenizer.default_vocabulary(sentences) == size


def test_words_are_ranked_by_frequency_then_alphabet() -> None:
    tokenizer = trained("words", ["b a c", "c a d", "c"], vocabulary=7 + 3)
    assert tokenizer.pieces(range(7, tokenizer.size)) == ["▁c", "▁a", "▁b"]
    assert tokenizer.encode("d c") == [tokenizer.unk, 7]


def test_unknown_words_keep_their_place(tokenizers: dict[str, Tokenizer]) -> None:
    ids = tokenizers["words"].encode("the zebra unseen repairs")
    assert ids[1:3] == [tokenizers["words"].unk] * 2
    assert tokenizers["words"].word_ids(ids) == [0, 1, 2, 3]


def test_unknown_characters_are_part_of_their_word(tokenizers: dict[str, Tokenizer]) -> None:
    ids = tokenizers["characters"].encode("a ж old")
    assert ids[2] == tokenizers["characters"].unk
    assert tokenizers["characters"].word_ids(ids) == [0, 1, 1, 2, 2, 2, 2]


def test_an_unknown_kind_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"'morphemes'.*unigram, bpe, byte_bpe, wordpiece, words, characters, bytes"):
        trained("morphemes")


@pytest.mark.parametrize("language", ["", "d e", "de,en", "<de>", "de\n"])
def test_what_cannot_be_a_tag_is_a_config_error(language: str) -> None:
    with pytest.raises(ConfigError, match="not a language code"):
        train_tokenizer(TextConfig(kind="bytes"), CORPUS, [language])


def test_a_language_named_twice_is_one_language() -> None:
    assert train_tokenizer(TextConfig(kind="bytes"), CORPUS, ["de", "en", "de"]).languages == ("de", "en")


def test_a_sample_is_drawn_over_the_whole_corpus() -> None:
    texts = [str(i) for i in range(100_000)]
    sample, total = reservoir_sample(iter(texts), 5000)
    assert total == len(texts)
    assert len(set(sample)) == 5000
    tenths = Counter(int(text) // 10_000 for text in sample)
    assert all(400 < tenths[i] < 600 for i in range(10))
    assert reservoir_sample(texts, 5000) == (sample, total)


def test_a_small_corpus_is_taken_whole_and_blank_lines_do_not_count() -> None:
    blank = train_tokenizer(TextConfig(kind="words", sample=2), ["a", "", "b", " \n"], [])
    assert blank == train_tokenizer(TextConfig(kind="words", sample=2), ["a", "b"], [])
    assert reservoir_sample(["a", "b"], 5) == (["a", "b"], 2)
    with pytest.raises(ConfigError, match=r"text\.sample"):
        train_tokenizer(TextConfig(kind="words", sample=0), ["a"], [])


def test_the_size_comes_from_the_corpus_not_from_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def train(given: TrainingSet) -> None:
        asked.append((len(given.sentences), given.vocabulary))

    def many() -> Iterator[str]:
        return (f"sentence {i}" for i in range(60_000))

    monkeypatch.setattr(TOKENIZERS["unigram"], "train", train)
    train_tokenizer(TextConfig(sample=100), many(), ["de"])
    assert asked == [(100, 8_000)]


@pytest.mark.parametrize("kind", ["characters", "bytes", "byte_bpe"])
@given(text=st.text(st.sampled_from("the old sailor\t\n \u00a0")))
def test_lossless_keeps_every_space(lossless: dict[str, Tokenizer], kind: str, text: str) -> None:
    tokenizer = lossless[kind]
    assert tokenizer.decode(tokenizer.encode(text)) == text
    owners = [owner for owner in tokenizer.word_ids(tokenizer.encode(text)) if owner >= 0]
    assert set(owners) == set(range(len(text.split())))


@pytest.fixture(scope="module")
def lossless() -> dict[str, Tokenizer]:
    corpus = [*CORPUS, "a\tb  c\u00a0d\n"]
    kinds = ["characters", "bytes", "byte_bpe"]
    return {kind: train_tokenizer(TextConfig(kind=kind, lossless=True), corpus, ["en"]) for kind in kinds}


def test_lossless_is_saved(lossless: dict[str, Tokenizer], tmp_path: Path) -> None:
    for kind, tokenizer in lossless.items():
        tokenizer.save(tmp_path / kind)
        loaded = load_tokenizer(tmp_path / kind)
        assert loaded == tokenizer
        assert loaded.decode(loaded.encode(" a\n\nb ")) == " a\n\nb "


def test_line_ends_are_known_though_lines_do_not_have_them() -> None:
    tokenizer = train_tokenizer(TextConfig(kind="characters", lossless=True), ["ab", "ba"], [])
    assert tokenizer.unk not in tokenizer.encode("a\nb")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "words", "wordpiece"])
def test_lossless_is_not_for_kinds_that_drop_spaces(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"text\.lossless"):
        train_tokenizer(TextConfig(kind=kind, lossless=True), CORPUS, [])


NUMBERS = [f"In {1900 + i} it cost {i * 37 % 991},{i % 90 + 10} Euro in room B{i}" for i in range(200)]
NUMBERS += [text.translate(dict(zip(b"0123456789", "०१२३४५६७८९", strict=True))) for text in NUMBERS]


@pytest.fixture(scope="module")
def splitting() -> dict[str, Tokenizer]:
    config = TextConfig(vocabulary=600, split_digits=True)
    return {kind: train_tokenizer(replace(config, kind=kind), [*CORPUS, *NUMBERS], ["de"]) for kind in SUBWORDS}


@pytest.mark.parametrize("kind", SUBWORDS)
def test_split_digits_are_pieces_of_their_own(splitting: dict[str, Tokenizer], kind: str, tmp_path: Path) -> None:
    tokenizer = splitting[kind]
    learnt = tokenizer.pieces(range(5 + 256, tokenizer.size))  # after the specials, a tag, and the bytes
    assert {"0", "9", "०", "९", "▁"} <= set(learnt)
    assert not [piece for piece in learnt if len(piece) > 1 and any(map(str.isdecimal, piece))]
    assert not any("\t" in piece for piece in learnt)
    assert tokenizer.pieces(tokenizer.encode("B1994 १९ 7")) == ["▁B", *"1994", "▁", *"१९", "▁", "7"]
    joined = trained(kind, [*CORPUS, *NUMBERS], vocabulary=600)
    assert len(joined.encode("B1994 १९ 7")) < 11
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path) == tokenizer


@pytest.mark.parametrize("kind", SUBWORDS)
@given(text=st.text(max_size=40) | st.text("1२٣４ a▁\x10", max_size=40), seed=st.integers(0, 99))
def test_split_digits_lose_no_text_and_stay_split(
    splitting: dict[str, Tokenizer], kind: str, text: str, seed: int
) -> None:
    tokenizer = splitting[kind]
    for ids in (
        tokenizer.encode(text),
        sample(tokenizer, tokenizer.encode(text), 0.5, 8, np.random.default_rng(seed)),
    ):
        assert tokenizer.decode(ids) == normalise(text)
        assert tokenizer.unk not in ids
        spelt = [piece for piece in tokenizer.pieces(ids) if not piece.startswith("<0x")]
        assert all(len(piece) == 1 for piece in spelt if any(map(str.isdecimal, piece)))


def test_split_digits_is_for_subwords() -> None:
    with pytest.raises(ConfigError, match=r"text\.split_digits is for unigram and bpe, not for a byte_bpe tokenizer"):
        train_tokenizer(TextConfig(kind="byte_bpe", split_digits=True), CORPUS, [])


@pytest.mark.parametrize("kind", SUBWORDS)
def test_bytes_that_are_no_text_decode_to_the_replacement_character(
    tokenizers: dict[str, Tokenizer], kind: str
) -> None:
    """Only a model generates them: a byte that cannot begin a character, one that is missing its continuation."""
    tokenizer = tokenizers[kind]
    ids = tokenizer.piece_ids(["t", "<0x80>", "<0xE2>", "<0x82>", "▁", "t", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"])
    assert tokenizer.decode(ids) == "t\ufffd\ufffd\ufffd t😀"


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_mask_is_a_special_after_the_tags(kind: str, tmp_path: Path) -> None:
    config = TextConfig(kind=kind, vocabulary=500)
    tokenizer = train_tokenizer(config, CORPUS, ["en", "de"], mask=True)
    assert tokenizer.mask == 6
    assert tokenizer.mask in tokenizer.specials
    assert tokenizer.decode([tokenizer.mask]) == ""
    assert tokenizer.pieces([6])[0].strip("<>[]").lower() == "mask"
    assert tokenizer.mask not in tokenizer.encode("<mask> [MASK]")
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path).mask == 6
    assert trained(kind).mask == (7 if kind in ("byte_bpe", "wordpiece") else None)


@pytest.mark.parametrize("kind", ["byte_bpe", "wordpiece"])
def test_training_in_another_process_gives_the_same(kind: str) -> None:
    """Hash tables are ordered otherwise in each process; what is learned may not be."""
    code = "from tests.text.corpus import trained; import sys; print(trained(sys.argv[1], vocabulary=290).fingerprint)"
    root = Path(__file__).parents[3]
    other = subprocess.run([sys.executable, "-c", code, kind], cwd=root, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == trained(kind, vocabulary=290).fingerprint


def test_wordpiece_keeps_case() -> None:
    assert trained("wordpiece").encode("DER") != trained("wordpiece").encode("der")


def test_wordpiece_pieces_within_words_have_no_mark() -> None:
    tokenizer = WordPiece.train(TrainingSet(["abab baba"], 14))
    assert tokenizer.pieces(range(5, 9)) == ["a", "b", "▁a", "▁b"]
    assert "".join(tokenizer.pieces(tokenizer.encode("aabb bbaa"))) == "▁aabb▁bbaa"
