import gzip
import re
from pathlib import Path

import pytest

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.corpus import FORMATS, read_corpus
from headwise.data.read.pairs import Pair
from headwise.errors import DataError
from tests.data.conftest import Write


def read(folder: Path, *pairs: str, languages: tuple[str, str] = ("en", "de")) -> list[Pair]:
    data = DataConfig(folder=str(folder), source_language=languages[0], target_language=languages[1])
    return list(read_corpus(CorpusConfig(pairs=pairs), data))


def read_with_notes(
    folder: Path, *pairs: str, languages: tuple[str, str] = ("en", "de")
) -> tuple[list[Pair], list[str]]:
    data = DataConfig(folder=str(folder), source_language=languages[0], target_language=languages[1])
    notes: list[str] = []
    return list(read_corpus(CorpusConfig(pairs=pairs), data, notes.append)), notes


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
    "header",
    [
        *("target\tid\tsource", "de\tscore\tEN", "de-AT\tx\ten_US", "de\ten-US\ten", "Target\t\tSource"),
        *("German\tid\tEnglish", "Deutsch\tsource\tenglish (US)", '"de"\t"id"\t"en"', "de\tsource\ten"),
        *("Deutsch\tID\tEnglisch", "Allemand\t\tAnglais", "Tedesco\tx\tInglese", "जर्मन\tx\tअंग्रेज़ी"),
        "Target (DE)\tid\tSource (EN)",
    ],
)
def test_a_header_chooses_columns(write: Write, tmp_path: Path, header: str) -> None:
    write("a.tab", f"{header}\neins\t1\tone\n")
    assert texts(read(tmp_path, "a.tab")) == [("one", "eins")]


def test_named_languages_give_their_order_where_none_are_asked_for(write: Write, tmp_path: Path) -> None:
    write("a.tsv", "ID\tGerman\tEnglish\n1\teins\tone\n")
    assert texts(read(tmp_path, "a.tsv", languages=("", ""))) == [("eins", "one")]


@pytest.mark.parametrize("header", ["ID\tText\tTranslation", "English\tPolish", "Quelle\tZiel"])
def test_a_header_that_is_not_understood_is_reported(write: Write, tmp_path: Path, header: str) -> None:
    write("a.tsv", f"{header}\none\teins\tx\n")
    pairs, notes = read_with_notes(tmp_path, "a.tsv")
    assert len(pairs) == 2
    assert len(notes) == 1
    shown = header.replace("\t", ", ")
    assert f"looks like a header ({shown}), but it names neither en and de nor source" in notes[0]


def test_a_first_pair_is_not_taken_for_a_header(write: Write, tmp_path: Path) -> None:
    for first in ("Hello.\tHallo.", "Text of a sentence\tText eines Satzes", "no\tnein", ""):
        write("a.tsv", f"{first}\none\teins\n")
        assert read_with_notes(tmp_path, "a.tsv")[1] == []


@pytest.mark.parametrize(
    "content",
    [
        '"en"\t"de"\n"She said ""no""."\t"Sie sagte ""nein""."\nyes, please\tja\n',  # all of the header
        '"She said ""no""."\t"Sie sagte ""nein""."\nyes, please\tja\n',  # every field with a mark
        '"She said ""no""."\t"Sie sagte ""nein""."\n"yes, please"\tja\n',  # and with a comma
        '"She said ""no""."\t"Sie sagte ""nein""."\n"yes, please"\t"ja"\n',  # all
    ],
)
def test_cells_of_a_spreadsheet_are_unquoted(write: Write, tmp_path: Path, content: str) -> None:
    write("a.tsv", content)
    wanted = [('She said "no".', 'Sie sagte "nein".'), ("yes, please", "ja")]
    assert texts(read(tmp_path, "a.tsv")) == wanted


@pytest.mark.parametrize(
    "lines",
    [
        ['"No," she said.\t"Nein", sagte sie.', '"No!"\t"Nein!"', "one\teins"],
        ["one\teins", '"No!"\t"Nein!"'],
        ["one, two\teins, zwei", '"No, no!"\t"Nein, nein!"'],
        ['a "b" c\td', '"No ""way""!"\t"Nein!"'],
    ],
)
def test_quotation_marks_of_the_text_stay(write: Write, tmp_path: Path, lines: list[str]) -> None:
    write("a.tsv", "\n".join(lines))
    assert texts(read(tmp_path, "a.tsv")) == [tuple(line.split("\t")) for line in lines]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(write: Write, tmp_path: Path, separator: str) -> None:
    rows = [["German", "id", "English"], ["eins", "1", "one"], ['"zwei, ""drei"""', "2", '"two,\nthree"']]
    path = write("a.csv", "".join(separator.join(row) + "\n" for row in rows))
    assert read(tmp_path, "a.csv") == [
        Pair("one", "eins", str(path), 2),
        Pair("two,\nthree", 'zwei, "drei"', str(path), 3),
    ]
    write("b.csv", f"one{separator}eins\n")
    assert texts(read(tmp_path, "b.csv")) == [("one", "eins")]
    write("c.csv", 'one,"eins')
    with pytest.raises(DataError, match=r"c\.csv:1: not valid CSV"):
        read(tmp_path, "c.csv")
    write("d.csv", "")
    assert read(tmp_path, "d.csv") == []


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("Hello, you;Hallo, du\none;eins\n", [("Hello, you", "Hallo, du"), ("one", "eins")]),
        ("one;eins\nHello, you;Hallo, du\n", [("one", "eins"), ("Hello, you", "Hallo, du")]),
        ("yes; no,ja; nein\none,eins\n", [("yes; no", "ja; nein"), ("one", "eins")]),
        ("sep=;\nde;en\neins;one, a\n", [("one, a", "eins")]),
        ('"sep=\t"\none\teins\n', [("one", "eins")]),
    ],
)
def test_the_separator_of_a_csv_file_is_that_of_most_records(
    write: Write, tmp_path: Path, content: str, wanted: list[tuple[str, str]]
) -> None:
    write("a.csv", content)
    assert texts(read(tmp_path, "a.csv")) == wanted


def test_a_csv_record_of_one_column_names_the_separators(write: Write, tmp_path: Path) -> None:
    write("a.csv", "one|eins\n")
    with pytest.raises(DataError, match=r"a\.csv:1: 1 column, but a pair needs 2, separated by commas, semicolons or"):
        read(tmp_path, "a.csv")


def test_json_without_named_languages_asks_for_them(write: Write, tmp_path: Path) -> None:
    write("a.jsonl", '{"en": "one", "de": "eins"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:1: no key 'source', and no --from and --to; there are: 'en', 'de'"):
        read(tmp_path, "a.jsonl", languages=("", ""))


def test_a_folder_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: is a folder, not a file"):
        read(tmp_path, "folder")


def test_the_languages_of_a_corpus_win_over_those_of_the_table(write: Write, tmp_path: Path) -> None:
    write("a.tsv", "en\tde\tfr\none\teins\tun\n")
    data = DataConfig(folder=str(tmp_path), source_language="en", target_language="de")
    corpus = CorpusConfig(pairs=("a.tsv",), target_language="fr")
    assert texts(list(read_corpus(corpus, data))) == [("one", "un")]


def test_a_tsv_line_without_two_columns_is_reported(write: Write, tmp_path: Path) -> None:
    path = write("a.txt", "one\teins\ntwo zwei\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:2: 1 column, but a pair")):
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
        '{"source": "tatoeba.org/1", "en": "one", "de": "eins"}',
        '{"source": "web", "target": "x", "en": "one", "de": "eins"}',
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
        ('{"source": "tatoeba.org/1", "de": "eins"}', "no key 'target' or 'de'"),
        ('{"en": "one", "de": 1}', "the value of 'de' is not a string"),
    ],
)
def test_a_malformed_json_line_is_reported(write: Write, tmp_path: Path, line: str, problem: str) -> None:
    path = write("a.jsonl", '{"en": "one", "de": "eins"}\n' + line + "\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:2: {problem}")):
        read(tmp_path, "a.jsonl")
