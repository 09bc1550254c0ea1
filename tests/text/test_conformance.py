"""What holds for every kind of tokenizer."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.errors import ConfigError
from headwise.text.kinds import TOKENIZERS, load_tokenizer
from headwise.text.normalise import normalise
from headwise.text.tokenizer import Tokenizer
from tests.text.corpus import CORPUS, LANGUAGES, sample, trained

EXACT = [kind for kind in TOKENIZERS if kind not in ("words", "characters", "wordpiece")]
"""The kinds that spell whatever they have not seen."""

SPACED = [kind for kind in TOKENIZERS if kind != "wordpiece"]
"""The kinds that know which pieces stood apart: WordPiece cuts punctuation off, and that is all it knows of it."""

TEXT = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    | st.sampled_from(
        [
            *"▁▅\x10_ \u00a0\u200d\u200f\ufeff",
            "\x10_",
            "<2de>",
            "<sos>",
            "<0x41>",
            "שלום",
            "العربية",
            "👩‍👩‍👧",
            "🏳️‍🌈",
        ]
    )
    | st.sampled_from(CORPUS)
).map("".join)


def test_the_table_names_each_kind_as_it_names_itself() -> None:
    assert {name: kind.kind for name, kind in TOKENIZERS.items()} == {name: name for name in TOKENIZERS}


def test_seen_text_round_trips(tokenizer: Tokenizer) -> None:
    for text in CORPUS:
        decoded = tokenizer.decode(tokenizer.encode(text))
        if tokenizer.kind in SPACED:
            assert decoded == text
        else:
            assert decoded.replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("kind", EXACT)
@given(text=TEXT)
def test_any_text_round_trips(tokenizers: dict[str, Tokenizer], kind: str, text: str) -> None:
    tokenizer = tokenizers[kind]
    assert tokenizer.decode(tokenizer.encode(text)) == (text if tokenizer.keeps_text else normalise(text))


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(text=TEXT)
def test_text_never_becomes_a_special(tokenizers: dict[str, Tokenizer], kind: str, text: str) -> None:
    tokenizer = tokenizers[kind]
    ids = tokenizer.encode(text)
    tags = {tokenizer.tag(language) for language in LANGUAGES}
    assert not {tokenizer.pad, tokenizer.sos, tokenizer.eos, *tags} & set(ids)
    assert all(0 <= i < tokenizer.size for i in ids)
    if kind in EXACT:
        assert tokenizer.unk not in ids


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(texts=st.lists(TEXT, max_size=4))
def test_a_batch_is_its_sentences(tokenizers: dict[str, Tokenizer], kind: str, texts: list[str]) -> None:
    assert tokenizers[kind].encode_batch(texts) == [tokenizers[kind].encode(text) for text in texts]


@pytest.mark.parametrize("kind", SPACED)
@given(text=TEXT)
def test_word_ids_count_the_words(tokenizers: dict[str, Tokenizer], kind: str, text: str) -> None:
    tokenizer = tokenizers[kind]
    words = normalise(text).split()
    ids = tokenizer.word_ids(tokenizer.encode(text))
    inside = [i for i in ids if i >= 0]  # spaces that end a text, which only a lossless kind has, are in no word
    assert ids == inside + [-1] * (len(ids) - len(inside))
    assert inside == sorted(inside)
    assert set(inside) == set(range(len(words)))


@pytest.mark.parametrize("kind", SPACED)
def test_word_ids_point_at_the_words_that_the_pieces_spell(tokenizers: dict[str, Tokenizer], kind: str) -> None:
    tokenizer = tokenizers[kind]
    for text in CORPUS:
        ids = tokenizer.encode(text)
        owners = tokenizer.word_ids(ids)
        for index, word in enumerate(text.split()):
            assert tokenizer.decode([i for i, owner in zip(ids, owners, strict=True) if owner == index]).strip() == word


def test_specials_belong_to_no_word(tokenizer: Tokenizer) -> None:
    text = tokenizer.encode("the old sailor")
    ids = [tokenizer.tag("de"), tokenizer.sos, *text, tokenizer.eos, tokenizer.pad]
    assert tokenizer.word_ids(ids) == [-1, -1, *tokenizer.word_ids(text), -1, -1]


def test_decode_skips_specials(tokenizer: Tokenizer) -> None:
    text = tokenizer.encode(CORPUS[0])
    assert tokenizer.decode([*tokenizer.specials, *text, tokenizer.eos, tokenizer.pad]) == CORPUS[0]
    assert tokenizer.decode([]) == tokenizer.decode(range(4 + len(LANGUAGES))) == ""


def test_whatever_is_generated_decodes_to_one_normalised_line(tokenizer: Tokenizer) -> None:
    rng = np.random.default_rng(0)
    if tokenizer.keeps_text:
        return  # it gives back what was written, line ends included
    for _ in range(200):
        text = tokenizer.decode(rng.integers(tokenizer.size, size=12).tolist())
        assert text == normalise(text)


def test_every_id_has_a_piece(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.pieces(range(tokenizer.size))
    names = (
        ["[PAD]", "[CLS]", "[SEP]", "[UNK]"] if tokenizer.kind == "wordpiece" else ["<pad>", "<sos>", "<eos>", "<unk>"]
    )
    assert pieces[:7] == [*names, "<2en>", "<2de>", "<2he>"]
    assert len(set(pieces)) == tokenizer.size


def test_pieces_begin_words_with_a_mark(tokenizer: Tokenizer) -> None:
    shown = "".join(tokenizer.pieces(tokenizer.encode("the engineer repairs")))
    assert shown.lstrip("▁").count("▁") == 2


def test_tags_follow_the_specials_and_name_what_is_known(tokenizer: Tokenizer) -> None:
    assert (tokenizer.pad, tokenizer.sos, tokenizer.eos, tokenizer.unk) == (0, 1, 2, 3)
    assert tokenizer.languages == LANGUAGES
    assert [tokenizer.tag(language) for language in LANGUAGES] == [4, 5, 6]
    with pytest.raises(ConfigError, match=r"'fr'.*en, de, he"):
        tokenizer.tag("fr")


def test_a_search_may_end_but_not_write_specials(tokenizer: Tokenizer) -> None:
    assert set(tokenizer.specials) == {0, 1, 3, 4, 5, 6} | ({tokenizer.mask} - {None})


def test_training_again_gives_the_same(tokenizer: Tokenizer) -> None:
    again = trained(tokenizer.kind)
    assert again.parts == tokenizer.parts
    assert again == tokenizer


def test_other_content_has_another_fingerprint(tokenizers: dict[str, Tokenizer], tokenizer: Tokenizer) -> None:
    assert len({each.fingerprint for each in tokenizers.values()}) == len(tokenizers)
    if tokenizer.kind != "bytes":
        assert trained(tokenizer.kind, CORPUS[:40]) != tokenizer


def test_characters_beyond_the_vocabulary_are_reported(tokenizer: Tokenizer) -> None:
    assert all(tokenizer.uncovered(text) == [] for text in CORPUS)
    assert tokenizer.uncovered("") == []
    found = tokenizer.uncovered("the 日本語 日 old\tsailor 🦀")
    if tokenizer.kind == "words":
        assert found == ["日本語", "日", "🦀"]
    else:
        assert found == ([] if tokenizer.kind == "bytes" else ["日", "本", "語", "🦀"])


def test_a_tab_is_a_space(tokenizer: Tokenizer) -> None:
    text = tokenizer.decode(tokenizer.encode("the old\tsailor"))
    assert text == ("the old\tsailor" if tokenizer.keeps_text else "the old sailor")


def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "new" / "folder")
    loaded = load_tokenizer(tmp_path / "new" / "folder")
    assert type(loaded) is type(tokenizer)
    assert loaded == tokenizer
    assert loaded.fingerprint == tokenizer.fingerprint
    assert loaded.parts == tokenizer.parts
    assert loaded.encode_batch(CORPUS) == tokenizer.encode_batch(CORPUS)


def test_a_pickled_tokenizer_is_the_same(tokenizer: Tokenizer) -> None:
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy == tokenizer
    assert copy.encode(CORPUS[0]) == tokenizer.encode(CORPUS[0])


def test_threads_may_share_one(tokenizer: Tokenizer) -> None:
    def work(seed: int) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        return [sample(tokenizer, tokenizer.encode(text), 0.3, 4, rng) for text in CORPUS[:50]]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [work(seed) for seed in range(8)]
