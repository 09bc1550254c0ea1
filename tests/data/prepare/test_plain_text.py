"""Plain text to tokens, kept exactly where the tokenizer keeps it."""

import gzip
import lzma
from pathlib import Path

import pytest

from headwise.config import CorpusConfig, DataConfig, TextConfig
from headwise.data.prepare.plain_text import PreparedText, TextPreparation
from headwise.data.read.text_files import text_blocks
from headwise.errors import ConfigError, DataError

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


def joined(part: PreparedText) -> list[int]:
    return [*part.train.ids.tolist(), *part.valid.ids.tolist()]


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


def test_a_cache_that_both_kinds_of_models_share_keeps_their_tokenizers_apart(tmp_path: Path) -> None:
    texts = {"a.txt": "the cat sat\non the mat\n" * 20}
    causal = prepared(tmp_path, texts, "words", lossless=False)
    masked = prepared(tmp_path, texts, "words", lossless=False, mask=True)
    assert causal.tokenizer.mask is None
    assert masked.tokenizer.mask is not None
