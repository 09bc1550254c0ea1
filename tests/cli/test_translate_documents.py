"""Documents on the command line: files, folders, and what goes wrong with them."""

from pathlib import Path

import pytest

from headwise.cli import main
from headwise.models.folder.load import save_model
from tests.commands import Capture, lines_file, ok, wrong
from tests.documents.test_translate_document import catalogue, expected
from tests.taught import SOURCES, TARGETS, taught


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: Capture, model: Path, *arguments: object) -> str:
    assert ok(capsys, "translate", "--model", model, "--device", "cpu", *arguments) == ""
    return ""


def test_a_translation_is_written_beside_its_document(model: Path, capsys: Capture) -> None:
    Path("messages.po").write_bytes(catalogue(5))
    run(capsys, model, "messages.po")
    assert Path("messages.de.po").read_bytes() == expected(catalogue(5))
    run(capsys, model, "--input", "messages.po", "--output", "other.po")
    assert Path("other.po").read_bytes() == expected(catalogue(5))


def test_several_documents_and_folders(model: Path, capsys: Capture) -> None:
    for name in ("site/a.po", "site/deep/b.po", "c.po"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(catalogue(3))
    Path("site/picture.png").write_bytes(b"png")
    Path("site/.hidden.po").write_bytes(catalogue(3))
    assert main(["translate", "--model", str(model), "site/", "c.po", "--output", "out"]) == 0
    assert "1 other files are left out (picture.png first)" in capsys.readouterr().err
    written = sorted(str(path) for path in Path("out").rglob("*") if path.is_file())
    assert written == ["out/c.de.po", "out/site/a.po", "out/site/deep/b.po"]
    assert all(Path(path).read_bytes() == expected(catalogue(3)) for path in written)
    run(capsys, model, "site/")
    assert Path("site.de/deep/b.po").read_bytes() == expected(catalogue(3))


def test_one_bad_file_does_not_stop_the_others(model: Path, capsys: Capture) -> None:
    Path("in").mkdir()
    Path("in/a.docx").write_bytes(b"broken")
    Path("in/b.po").write_bytes(catalogue(2))
    assert main(["translate", "--model", str(model), "in/", "--output", "out"]) == 2
    assert "headwise: a.docx: " in capsys.readouterr().err
    assert sorted(path.name for path in Path("out").iterdir()) == ["b.po"]


def test_a_word_that_is_also_a_folder_is_translated(model: Path, capsys: Capture) -> None:
    Path("cat").mkdir()
    assert ok(capsys, "translate", "--model", model, SOURCES[0], "--beam", 1) == f"{TARGETS[0]}\n"
    assert main(["translate", "--model", str(model), "cat"]) == 0
    assert not list(Path("cat").iterdir())


def test_mistakes(model: Path, capsys: Capture) -> None:
    Path("a.po").write_bytes(catalogue(1))
    Path("empty").mkdir()
    assert "give either documents or texts" in wrong(capsys, "translate", "--model", model, "a.po", "The cat")
    assert "--scores is for lines of text" in wrong(capsys, "translate", "--model", model, "a.po", "--scores")
    assert "a.po is none" in wrong(capsys, "translate", "--model", model, "a.po", "--columns", "text")
    for option in (["--columns", "text"], ["--again"]):
        assert "is for documents" in wrong(capsys, "translate", "--model", model, "The cat", *option)
    assert "is a folder without documents" in wrong(capsys, "translate", "--model", model, "empty/")
    assert "is written as .po" in wrong(capsys, "translate", "--model", model, "a.po", "--output", "a.docx")
    lines_file(Path("file"), ["x"])
    assert "is a file: several documents" in wrong(
        capsys, "translate", "--model", model, "a.po", "empty/", "--output", "file"
    )
    assert "the input" in wrong(capsys, "translate", "--model", model, "a.po", "--output", "./a.po")


def test_a_missing_document_is_no_text(model: Path, capsys: Capture) -> None:
    assert "reprot.docx: no such file" in wrong(capsys, "translate", "--model", model, "reprot.docx")
