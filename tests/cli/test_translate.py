"""`headwise translate`: the notes that come with texts that a model cannot translate well as they are."""

import textwrap
from pathlib import Path

import pytest

from headwise.cli import main
from headwise.models.folder.load import save_model
from tests.commands import Capture, lines_file, ok, shell, wrong
from tests.taught import SOURCES, TARGETS, taught

PROSE = " ".join(["the cat sees an apple and the dog sees a small fish in the house"] * 12)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


def test_wrapped_lines_are_noted_and_paragraphs_are_joined(model: Path, tmp_path: Path, capsys: Capture) -> None:
    wrapped = lines_file(tmp_path / "wrapped.txt", [*textwrap.wrap(PROSE, 72), "", SOURCES[0]])
    start = ["translate", "--model", str(model), "--beam", "1", "--input", wrapped]
    assert main(start) == 0
    assert "see --paragraphs" in capsys.readouterr().err
    assert main([*start, "--paragraphs"]) == 0
    joined = capsys.readouterr()
    assert "--paragraphs" not in joined.err
    assert joined.out.splitlines()[1:] == ["", TARGETS[0]]


def test_a_pipe_of_translations_that_were_cut_off_is_one_note(tmp_path: Path) -> None:
    save_model(tmp_path / "random", taught(steps=0))  # which never finds an end
    given = "".join(f"{text}\n" for text in SOURCES[:4]).encode()
    done = shell("translate", "--model", tmp_path / "random", "--beam", 1, given=given)
    assert done.stderr.decode() == "headwise: 4 lines (line 1 first) were cut off at the length limit (--max-ratio)\n"


@pytest.mark.parametrize("name", ["notes.rst", "letter.rtf", "paper.tex", "memory.tmx.gz"])
def test_documents_are_refused_by_name(name: str, model: Path, tmp_path: Path, capsys: Capture) -> None:
    path = lines_file(tmp_path / name, ["<p>The cat</p>"])
    assert "is not translated line by line" in wrong(capsys, "translate", "--model", model, "--input", path)
    assert "is not translated line by line" in wrong(
        capsys, "translate", "--model", model, "--input", path, "--output", tmp_path / "out"
    )


def test_other_commands_take_the_lines_of_any_text_file(model: Path, tmp_path: Path, capsys: Capture) -> None:
    path = lines_file(tmp_path / "notes.md", SOURCES[:2])
    assert len(ok(capsys, "tokenizer", "encode", "--model", model, "--input", path).splitlines()) == 2
    assert len(ok(capsys, "embed", "--model", model, "--input", path).splitlines()) == 2


def test_a_tab_and_an_unknown_character(model: Path, capsys: Capture) -> None:
    columns = f"{SOURCES[0]}\t{SOURCES[1]}"
    assert ok(capsys, "translate", "--model", model, columns) == f"{TARGETS[0]}\t{TARGETS[1]}\n"
    assert ok(capsys, "translate", "--model", model, "--scores", columns).endswith(f"\t{TARGETS[0]} {TARGETS[1]}\n")
    assert main(["translate", "--model", str(model), f"{SOURCES[0]} 🦀"]) == 0
    assert "characters that the model has not learnt, so it can only copy or guess them: 🦀" in capsys.readouterr().err
