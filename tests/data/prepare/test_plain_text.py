"""Plain text to tokens, kept exactly where the tokenizer keeps it; and rows cut from them."""

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from headwise.config import CorpusConfig, DataConfig, LanguageConfig, TextConfig
from headwise.data.batch.masked import Frame, MaskedStream, Masks
from headwise.data.batch.stream import Position, batches_from
from headwise.data.batch.text_rows import RowOrder, TextRowStream, ordered_rows
from headwise.data.prepare.plain_text import PreparedText, TextPreparation, TokenText
from headwise.data.read.text_files import text_blocks
from headwise.errors import ConfigError, DataError
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer

PROSE = "one  line\r\nanother,  with spaces \n\n\ta new one\nthe end"


def prepared(
    folder: Path,
    texts: dict[str, str],
    kind: str = "characters",
    lossless: bool = True,
    mask: bool = False,
    **parts: list[str],
) -> PreparedText:
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    corpora = {part: (CorpusConfig(text=tuple(names)),) for part, names in parts.items()}
    data = DataConfig(folder=str(folder), **{"train": (CorpusConfig(text=tuple(texts)),), **corpora})
    text = TextConfig(kind=kind, lossless=lossless)
    return TextPreparation.of(data, text, folder / "cache", lambda _: None, mask=mask).prepare()


def made(ids: list[int] | np.ndarray) -> TokenText:
    return TokenText(np.asarray(ids, np.uint16), ("a.txt",), (0,))


def joined(part: PreparedText) -> list[int]:
    return [*part.train.ids.tolist(), *part.valid.ids.tolist()]


# --- reading -------------------------------------------------------------------------------------------


def test_a_lossless_tokenizer_keeps_every_character(tmp_path: Path) -> None:
    found = prepared(tmp_path, {"a.txt": PROSE})
    assert found.tokenizer.decode(joined(found)) == PROSE
    assert len(joined(found)) == len(PROSE), "nothing is added to one file"


def test_the_last_tenth_is_held_out(tmp_path: Path) -> None:
    found = prepared(tmp_path, {"a.txt": "abcdefghij" * 103})
    assert (len(found.train), len(found.valid)) == (927, 103)


def test_files_are_documents_where_text_is_kept(tmp_path: Path) -> None:
    found = prepared(tmp_path, {"a.txt": "ab\n\nc\n", "b.txt": "", "c.txt": "d"})
    ids = joined(found)
    assert [i for i, token in enumerate(ids) if token == found.tokenizer.eos] == [6]
    assert found.tokenizer.decode(ids) == "ab\n\nc\nd"
    assert found.train.where(0).endswith("a.txt: token 0")


def test_empty_lines_end_documents_where_it_is_not(tmp_path: Path) -> None:
    text = "\n\none two\nthree\n\n \n\nfour\n\n"
    found = prepared(tmp_path, {"a.txt": text, "b.txt": "\nfive"}, kind="words", lossless=False)
    pieces = found.tokenizer.pieces(joined(found))
    assert pieces == ["▁one", "▁two", "▁three", "<eos>", "▁four", "<eos>", "▁five"]


def test_own_validation_and_test_texts_are_used_as_they_are(tmp_path: Path) -> None:
    for name in ("v.txt", "t.txt", "u.txt"):
        (tmp_path / name).write_text(name[0] * 3)
    found = prepared(tmp_path, {"a.txt": "vtu" * 10}, valid=["v.txt"], test=["t.txt", "u.txt"])
    assert len(found.train) == 30
    assert found.tokenizer.decode(found.valid.ids.tolist()) == "vvv"
    assert found.tokenizer.decode(found.test[0].ids.tolist()).startswith("ttt")
    assert [file.role for file in found.files] == ["train", "valid", "test", "test"]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_text_is_the_same_text(tmp_path: Path, suffix: str, compress: object) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(compress(("\ufeff" + PROSE).encode()))  # type: ignore[operator]
    assert "".join(text_blocks(path)) == PROSE


def test_blocks_are_whole_lines_and_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.data.read.text_files.BLOCK", 7)
    text = "äöü\n" * 20 + "no end 😀"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    blocks = list(text_blocks(tmp_path / "a.txt"))
    assert "".join(blocks) == text
    assert len(blocks) > 10
    assert all(block.endswith("\n") for block in blocks[:-1])


@pytest.mark.parametrize("content", [b"abc \xff\n", "ä".encode()[:1]])
def test_what_is_no_text_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.txt: not valid UTF-8"):
        list(text_blocks(tmp_path / "a.txt"))


def test_prepared_text_is_used_again_until_something_changes(tmp_path: Path) -> None:
    first = prepared(tmp_path, {"a.txt": PROSE})
    stamp = (first.folder / "train.bin").stat().st_mtime_ns
    again = prepared(tmp_path, {"a.txt": PROSE})
    assert again.folder == first.folder
    assert (again.folder / "train.bin").stat().st_mtime_ns == stamp
    assert prepared(tmp_path, {"a.txt": PROSE + "!"}).folder != first.folder


def test_damaged_prepared_text_is_made_again(tmp_path: Path) -> None:
    first = prepared(tmp_path, {"a.txt": PROSE})
    with (first.folder / "train.bin").open("ab") as stream:
        stream.write(b"x")
    assert joined(prepared(tmp_path, {"a.txt": PROSE})) == joined(first)


def test_without_text_there_is_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises((ConfigError, DataError), match=r"no training text|no sentence|no text"):
        prepared(tmp_path, {})
    with pytest.raises(DataError, match=r"no sentence|no text"):
        prepared(tmp_path, {"a.txt": "\n\n"})


# --- rows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [9, 17, 40, 1003])
def test_an_epoch_predicts_every_token_once_but_for_the_two_ends(tokens: int) -> None:
    stream = TextRowStream(made(np.arange(tokens)), 8, 24, seed=3)
    offsets = set()
    for epoch in range(6):
        targets: list[int] = []
        for batch, following in batches_from(stream, Position(epoch, 0)):
            assert batch.tokens.diff(dim=1).eq(1).all(), "a row is a piece of the text"
            targets += batch.tokens[:, 1:].flatten().tolist()
            if following.epoch > epoch:
                break
        assert sorted(targets) == list(range(min(targets), max(targets) + 1))
        assert tokens - len(targets) < 3 * 8
        offsets.add(min(targets))
    assert len(offsets) > 1 or tokens == 9


def test_the_order_belongs_to_seed_and_epoch() -> None:
    def starts(seed: int, epoch: int) -> list[int]:
        return RowOrder(1000, 8, 1, seed).starts(epoch).tolist()

    assert starts(1, 0) == starts(1, 0)
    assert starts(1, 0) != starts(1, 1)
    assert starts(1, 0) != starts(2, 0)


def test_a_position_resumes_the_order() -> None:
    stream = TextRowStream(made(np.arange(200)), 8, 24, seed=3)
    whole = batches_from(stream)
    taken = [next(whole) for _ in range(25)]
    for number in (0, 5, 7, 8, 20):
        rest = batches_from(stream, taken[number][1])
        for batch, position in taken[number + 1 :]:
            again, after = next(rest)
            assert after == position
            assert again.tokens.equal(batch.tokens)


def test_a_text_shorter_than_a_row_is_refused() -> None:
    with pytest.raises(DataError, match="fewer than one row"):
        TextRowStream(made([1, 2, 3]), 8, 24, seed=3)


@pytest.mark.parametrize("tokens", [1, 2, 8, 9, 10, 25, 100])
def test_ordered_rows_predict_every_token_but_the_first(tokens: int) -> None:
    targets = [t for batch in ordered_rows(made(np.arange(tokens)), 8, 24) for t in batch.tokens[:, 1:].flatten()]
    assert targets == list(range(1, tokens))
    some = [t for batch in ordered_rows(made(np.arange(tokens)), 8, 24, 2) for t in batch.tokens[:, 1:].flatten()]
    assert some == list(range(1, min(tokens, 17)))


# --- masks ---------------------------------------------------------------------------------------------

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
    return made(ids)


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


def test_a_cache_that_both_kinds_of_models_share_keeps_their_tokenizers_apart(tmp_path: Path) -> None:
    texts = {"a.txt": "the cat sat\non the mat\n" * 20}
    causal = prepared(tmp_path, texts, "words", lossless=False)
    masked = prepared(tmp_path, texts, "words", lossless=False, mask=True)
    assert causal.tokenizer.mask is None
    assert masked.tokenizer.mask is not None
