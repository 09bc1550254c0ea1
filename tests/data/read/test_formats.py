import gzip
import re
from pathlib import Path

import pytest

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.formats import FORMATS, read_corpus
from headwise.data.read.pair import Pair
from headwise.errors import DataError
from tests.data.conftest import Write


def read(folder: Path, *pairs: str, languages: tuple[str, str] = ("en", "de")) -> list[Pair]:
    data = DataConfig(folder=str(folder), source_language=languages[0], target_language=languages[1])
    return list(read_corpus(CorpusConfig(pairs=pairs), data))


def texts(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def test_parallel_files_are_read_in_order_with_their_lines(write: Write, tmp_path: Path) -> None:
    write("1.en", "one\ntwo\n")
    write("1.de", "eins\r\nzwei")
    write("2.en.gz", gzip.compress(b"three\n"))
    write("2.de", "drei\n")
    corpus = CorpusConfig(source=("1.en", "2.en.gz"), target=("1.de", "2.de"))
    assert list(read_corpus(corpus, DataConfig(folder=str(tmp_path)))) == [
        Pair("one", "eins", str(tmp_path / "1.en"), 1),
        Pair("two", "zwei", str(tmp_path / "1.en"), 2),
        Pair("three", "drei", str(tmp_path / "2.en.gz"), 1),
    ]


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 2), (2, 0)])
def test_different_numbers_of_lines_are_told_with_both_counts(
    write: Write, tmp_path: Path, left: int, right: int
) -> None:
    write("a.en", "x\n" * left)
    write("a.de", "x\n" * right)
    corpus = CorpusConfig(source=("a.en",), target=("a.de",))
    with pytest.raises(DataError, match=rf"a\.en has {left} lines but .*a\.de has {right}"):
        list(read_corpus(corpus, DataConfig(folder=str(tmp_path))))


def test_a_corpus_must_name_files_that_fit_together() -> None:
    with pytest.raises(DataError, match="names no files"):
        list(read_corpus(CorpusConfig(), DataConfig()))
    with pytest.raises(DataError, match=r"2 source file\(s\) and 1 target file"):
        list(read_corpus(CorpusConfig(source=("a", "b"), target=("c",)), DataConfig()))


def test_an_unknown_extension_is_told_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.docx: unknown extension") as caught:
        read(tmp_path, "a.docx")
    assert all(suffix in str(caught.value) for suffix in FORMATS)


def test_tsv_gives_the_first_two_columns(write: Write, tmp_path: Path) -> None:
    path = write("a.tsv", "one\teins\tCC-BY\ntwo\tzwei\n")
    assert read(tmp_path, "a.tsv") == [
        Pair("one", "eins", str(path), 1),
        Pair("two", "zwei", str(path), 2),
    ]


@pytest.mark.parametrize(
    "header", ["target\tid\tsource", "de\tscore\tEN", "de-AT\tx\ten_US", "de\ten-US\ten", "Target\t\tSource"]
)
def test_a_header_chooses_columns(write: Write, tmp_path: Path, header: str) -> None:
    write("a.tab", f"{header}\neins\t1\tone\n")
    assert texts(read(tmp_path, "a.tab")) == [("one", "eins")]


def test_the_languages_of_a_corpus_win_over_those_of_the_table(write: Write, tmp_path: Path) -> None:
    write("a.tsv", "en\tde\tfr\none\teins\tun\n")
    data = DataConfig(folder=str(tmp_path), source_language="en", target_language="de")
    corpus = CorpusConfig(pairs=("a.tsv",), target_language="fr")
    assert texts(list(read_corpus(corpus, data))) == [("one", "un")]


def test_a_tsv_line_without_two_columns_is_reported(write: Write, tmp_path: Path) -> None:
    path = write("a.txt", "one\teins\ntwo zwei\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:2: 1 column")):
        read(tmp_path, "a.txt")


def test_an_empty_tsv_line_is_left_to_the_cleaning(write: Write, tmp_path: Path) -> None:
    write("a.tsv", "one\teins\n\n")
    assert texts(read(tmp_path, "a.tsv")) == [("one", "eins"), ("", "")]


@pytest.mark.parametrize(
    "line",
    [
        '{"source": "one", "target": "eins"}',
        '{"en": "one", "de": "eins", "fr": "un"}',
        '{"de_DE": "eins", "en-GB": "one"}',
        '{"translation": {"en": "one", "de": "eins"}, "id": 7}',
        '{"translation": {"source": "one", "target": "eins"}}',
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json"])
def test_json_lines(write: Write, tmp_path: Path, line: str, suffix: str) -> None:
    path = write("a" + suffix, f"{line}\n\n{line}\n")
    assert read(tmp_path, "a" + suffix) == [
        Pair("one", "eins", str(path), 1),
        Pair("one", "eins", str(path), 3),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"en": "one", "de": "eins"', "not a JSON object on one line"),
        ("[" * 100_000, "not a JSON object on one line"),
        ('["one", "eins"]', "expected a JSON object"),
        ('{"translation": "one"}', "expected a JSON object"),
        ('{"en": "one", "fr": "un"}', "no key 'target' or 'de'; there are: 'en', 'fr'"),
        ('{"en": "one", "de": 1}', "the value of 'de' is not a string"),
    ],
)
def test_a_malformed_json_line_is_reported(write: Write, tmp_path: Path, line: str, problem: str) -> None:
    path = write("a.jsonl", '{"en": "one", "de": "eins"}\n' + line + "\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:2: {problem}")):
        read(tmp_path, "a.jsonl")
