"""`headwise shortlist`, and translating with what it makes."""

from pathlib import Path

import pytest

from headwise.bundled import find
from headwise.cli import main
from headwise.decode.engines.native.library import supported
from headwise.decode.shortlist import shortlists as shortlist
from headwise.decode.shortlist.shortlists import read_shortlists
from headwise.models.folder.config_file import load_description
from headwise.models.folder.load import save_model
from headwise.recipe import replaced
from tests.cli.test_train import SHORT
from tests.commands import Capture, lines_file, ok, wrong
from tests.kinds import encoder
from tests.taught import PAIRS, SHAPE, SOURCES, TARGETS, taught

FILE = "shortlist.safetensors"
needs_native = pytest.mark.skipif(not supported(), reason="no native engine here")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its vocabulary is so small that most of it would be allowed; here that is no reason to allow all."""
    monkeypatch.setattr(shortlist, "LARGEST", 1.1)
    save_model(tmp_path / "model", taught(shape=replaced(SHAPE, {"attention.heads": 2})))
    return tmp_path / "model"


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    return lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS * 4])


def tables(folder: Path) -> shortlist.Shortlists:
    tokenizer = load_description(folder).tokenizer
    assert tokenizer is not None
    return read_shortlists(folder / FILE, tokenizer)


@needs_native
def test_it_is_made_and_used(model: Path, pairs: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["shortlist", str(model), "--pairs", pairs]) == 0
    said, notes = capsys.readouterr()
    assert "done already" not in notes
    assert f"wrote {model / FILE}" in said
    assert "learnt from 98 pairs" in said
    assert "on 10 held-out pairs" in said
    assert list(tables(model).tables) == [("en", "de")]
    asked = ["translate", "--model", model, "--device", "cpu", "--engine", "int8", *SOURCES]
    for how in ("on", "off", "auto"):
        assert ok(capsys, *asked, "--shortlist", how).splitlines() == TARGETS
    source = lines_file(tmp_path / "test.en", SOURCES)
    reference = lines_file(tmp_path / "test.de", TARGETS)
    asked = ["evaluate", "--model", model, "--device", "cpu", "--engine", "int8", "--shortlist", "on"]
    assert "100" in ok(capsys, *asked, "--source", source, "--reference", reference)


def test_a_table_of_more_pairs_is_not_replaced_silently(model: Path, pairs: str, capsys: Capture) -> None:
    ok(capsys, "shortlist", model, "--pairs", pairs)
    assert main(["shortlist", str(model), "--pairs", pairs, "--max-pairs", "20"]) == 0
    assert "this replaces a table that was learnt from more pairs, 98" in capsys.readouterr().err


def test_two_files_and_numbers_of_its_own(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source, target = lines_file(tmp_path / "a.en", SOURCES * 3), lines_file(tmp_path / "a.de", TARGETS * 3)
    said = ok(
        *(capsys, "shortlist", model, "--source", source, "--target", target),
        *("--best", 2, "--frequent", 3, "--max-pairs", 40),
    )
    assert "learnt from 36 pairs" in said
    few = len(tables(model).tables["en", "de"].targets)
    ok(capsys, "shortlist", model, "--source", source, "--target", target, "--best", 30, "--frequent", 3)
    assert len(tables(model).tables["en", "de"].targets) > 2 * few


def test_a_run_has_its_pairs(tmp_path: Path, pairs: str, capsys: Capture) -> None:
    save_model(tmp_path / "first", taught())
    out = tmp_path / "run"
    languages = ["--from", "en", "--to", "de"]
    start = ["train", "--init", tmp_path / "first", "--pairs", pairs, *languages, "--out", out, *SHORT]
    assert main([*map(str, start)]) == 0
    capsys.readouterr()
    assert "learnt from 98 pairs" in ok(capsys, "shortlist", out)
    assert list(tables(out).tables) == [("en", "de")]
    step = next((out / "checkpoints").iterdir())
    ok(capsys, "shortlist", step)  # which is the run's
    assert not (step / FILE).exists()
    Path(pairs).unlink()
    assert "no such file" in wrong(capsys, "shortlist", out)


def test_directions_stand_side_by_side(tmp_path: Path, pairs: str, capsys: Capture) -> None:
    save_model(tmp_path / "both", taught(both_directions=True))
    asked = ["shortlist", tmp_path / "both"]
    assert "several target languages" in wrong(capsys, *asked, "--pairs", pairs)
    ok(capsys, *asked, "--pairs", pairs, "--from", "en", "--to", "de")
    back = lines_file(tmp_path / "back.tsv", [f"{target}\t{source}" for source, target in PAIRS])
    ok(capsys, *asked, "--pairs", back, "--from", "de", "--to", "en")
    assert set(tables(tmp_path / "both").tables) == {("en", "de"), ("de", "en")}
    assert "does not translate from en to fr" in wrong(capsys, *asked, "--pairs", pairs, "--from", "en", "--to", "fr")


@needs_native
def test_what_cannot_be_is_said(model: Path, pairs: str, tmp_path: Path, capsys: Capture) -> None:
    assert "give --pairs FILE" in wrong(capsys, "shortlist", model)
    assert "--source and --target belong together" in wrong(capsys, "shortlist", model, "--source", pairs)
    assert "no such file" in wrong(capsys, "shortlist", model, "--pairs", tmp_path / "none.tsv")
    assert "no such model folder" in wrong(capsys, "shortlist", tmp_path / "none", "--pairs", pairs)
    save_model(tmp_path / "encoder", encoder())
    assert "not a model that translates" in wrong(capsys, "shortlist", tmp_path / "encoder", "--pairs", pairs)
    assert not (model / FILE).exists()
    asked = ["translate", "--model", model, "--device", "cpu", SOURCES[0]]
    assert "has no shortlist" in wrong(capsys, *asked, "--shortlist", "on", "--engine", "int8")
    assert "plain does not support shortlists" in wrong(capsys, *asked, "--shortlist", "on", "--engine", "plain")


@needs_native
def test_a_damaged_one_is_named_and_can_be_made_anew(model: Path, pairs: str, capsys: Capture) -> None:
    ok(capsys, "shortlist", model, "--pairs", pairs)
    digest = tables(model).digest
    (model / FILE).write_bytes((model / FILE).read_bytes()[:-9])
    asked = ["translate", "--model", model, "--device", "cpu", SOURCES[0], "--engine", "int8", "--shortlist"]
    assert FILE in wrong(capsys, *asked, "on")
    assert ok(capsys, *asked, "off").strip() == TARGETS[0]
    assert main(["shortlist", str(model), "--pairs", pairs]) == 0
    assert "the existing shortlist is replaced" in capsys.readouterr().err
    assert tables(model).digest == digest


@needs_native
def test_a_model_in_int8_keeps_and_gets_one(model: Path, pairs: str, tmp_path: Path, capsys: Capture) -> None:
    ok(capsys, "shortlist", model, "--pairs", pairs)
    ok(capsys, "convert", model, tmp_path / "int8", "--precision", "int8")
    assert tables(tmp_path / "int8").digest == tables(model).digest
    assert ok(capsys, "translate", "--model", tmp_path / "int8", *SOURCES).splitlines() == TARGETS
    (tmp_path / "int8" / FILE).unlink()
    ok(capsys, "shortlist", tmp_path / "int8", "--pairs", pairs)
    assert ok(capsys, "translate", "--model", tmp_path / "int8", *SOURCES, "--shortlist", "on").splitlines() == TARGETS


@needs_native
def test_a_result_depends_on_it(model: Path, pairs: str, tmp_path: Path, capsys: Capture) -> None:
    """A file is not taken for finished that was made with another shortlist, or with none."""
    source, out = lines_file(tmp_path / "in.en", SOURCES), tmp_path / "out.de"
    asked = ["translate", "--model", model, "--device", "cpu", "--engine", "int8", "--input", source]
    ok(capsys, "shortlist", model, "--pairs", pairs)
    command = [str(each) for each in (*asked, "--output", out, "--shortlist")]
    done = []
    for how in ("on", "on", "off"):
        assert main([*command, how]) == 0
        done.append("complete already" in capsys.readouterr().err)
    assert done == [False, True, False]
    assert out.read_text(encoding="utf-8").splitlines() == TARGETS


@needs_native
def test_the_bundled_model_stays_as_it_is(
    model: Path, pairs: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(find, "FOLDER", model)
    assert "`headwise convert bundled my-model --precision int8`" in wrong(capsys, "shortlist", model, "--pairs", pairs)
    assert not (model / FILE).exists()
