"""`headwise translate --glossary`: lines, files and documents, and the report of terms."""

import json
from pathlib import Path

import pytest

from headwise.cli import main
from headwise.decode.bulk import grouping
from headwise.models.folder.load import save_model
from tests.commands import Capture, lines_file, ok, wrong
from tests.documents.test_translate_document import catalogue
from tests.taught import SOURCES, taught


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines_file(Path("terms.tsv"), ["cat\tHund"])
    lines_file(Path("more.csv"), ["apple,Haus"])


def run(capsys: Capture, model: Path, *arguments: object) -> tuple[str, str]:
    """What a command printed as its result, and as notes."""
    assert main(["translate", "--model", str(model), *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_texts_with_terms_of_two_files(model: Path, capsys: Capture) -> None:
    given = ["--json", "--glossary", "terms.tsv", "--glossary", "more.csv"]
    out, notes = run(capsys, model, SOURCES[0], "A dog sees the house.", *given)
    first, second = map(json.loads, out.splitlines())
    assert [(use["source"], use["status"]) for use in first["terms"]] == [("cat", "used"), ("apple", "used")]
    assert "terms" not in second
    assert notes == "headwise: terms: 2 found, 2 rendered as requested, 0 inflected, 0 missing\n"


def test_a_file_continues_with_the_same_glossary_only(
    model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    lines_file(Path("in.en"), SOURCES)
    given = ["--input", "in.en", "--output", "out.de", "--beam", "1", "--glossary"]
    cats = sum("cat" in source for source in SOURCES)
    _, notes = run(capsys, model, *given, "terms.tsv")
    assert f"terms: {cats} found, {cats} rendered as requested" in notes
    assert "complete already" in run(capsys, model, *given, "terms.tsv")[1]
    lines_file(Path("terms.tsv"), ["cat\tSchwester"])
    assert "complete already" not in run(capsys, model, *given, "terms.tsv")[1]
    assert Path("out.de").read_text().count("Schwester") >= cats


def test_parts_of_a_file_count_together(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    lines_file(Path("in.en"), SOURCES)
    given = ["--input", "in.en", "--output", "out.de", "--beam", "1", "--glossary", "terms.tsv", "--shard"]
    run(capsys, model, *given, "1/2")
    lines_file(Path("terms.tsv"), ["cat\tSchwester"])
    assert "another glossary, or it has changed" in wrong(capsys, "translate", "--model", model, *given, "2/2")
    lines_file(Path("terms.tsv"), ["cat\tHund"])
    assert f"terms: {sum('cat' in source for source in SOURCES)} found" in run(capsys, model, *given, "2/2")[1]


def test_a_document_with_terms(model: Path, capsys: Capture) -> None:
    Path("messages.po").write_bytes(catalogue(12))
    _, notes = run(capsys, model, "messages.po", "--glossary", "terms.tsv")
    assert "messages.po: terms: 9 found, 9 rendered as requested, 0 inflected, 0 missing" in notes
    assert "Katze" not in Path("messages.de.po").read_text()


@pytest.mark.parametrize(
    ("name", "lines", "problem"),
    [
        ("bad.tsv", ["cat\tHund", "Cat\tHaus"], "bad.tsv:2: 'Cat' is 'Haus' here, but 'Hund' in bad.tsv:1"),
        ("bad.tsv", ["fr\tit", "chat\tgatto"], "bad.tsv: no terms from en to de; the languages are fr, it"),
        ("bad.tsv", [], "bad.tsv: there are no terms"),
        ("bad.tbx", ["<tbx>"], "bad.tbx:2: not well-formed XML"),
        ("bad.xlsx", ["x"], "bad.xlsx: a glossary is a file with the extension"),
    ],
)
def test_a_bad_glossary_is_one_line(model: Path, capsys: Capture, name: str, lines: list[str], problem: str) -> None:
    lines_file(Path(name), lines)
    assert problem in wrong(capsys, "translate", "--model", model, SOURCES[0], "--glossary", name)


def test_no_term_occurs(model: Path, capsys: Capture) -> None:
    assert ok(capsys, "translate", "--model", model, SOURCES[9], "--glossary", "terms.tsv", "--quiet")
    assert "none of the glossary's terms occurs" in run(capsys, model, SOURCES[9], "--glossary", "terms.tsv")[1]
