"""The bundled model is the default, and a name works wherever a path does. A very small model stands for it here."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headwise
import headwise.cli
from headwise.bundled import find
from headwise.bundled.find import BUNDLED
from headwise.decode.engines.native.library import supported
from headwise.errors import CheckpointError
from headwise.models.folder.load import save_model
from tests.commands import Capture, lines_file, ok, shell, wrong
from tests.kinds import classifier, encoder, language_model
from tests.taught import PAIRS, SOURCES, TARGETS, taught

# --- what a newcomer types -----------------------------------------------------------------------------


def test_a_text_and_a_language_are_enough(small_bundled: Path, capsys: Capture) -> None:
    assert ok(capsys, "translate", SOURCES[4], "--to", "de") == f"{TARGETS[4]}\n"
    assert ok(capsys, "translate", "--to", "English", TARGETS[4], TARGETS[5]) == f"{SOURCES[4]}\n{SOURCES[5]}\n"
    assert ok(capsys, "translate", "--to", "deu", SOURCES[4]) == f"{TARGETS[4]}\n"


def test_each_text_has_its_language_and_one_in_the_target_stays(small_bundled: Path, capsys: Capture) -> None:
    found = ok(capsys, "translate", "--to", "de", "--json", SOURCES[4], TARGETS[3], "")
    records = [json.loads(line) for line in found.splitlines()]
    assert [each["text"] for each in records] == [TARGETS[4], TARGETS[3], ""]
    assert [each.get("detected") for each in records[:2]] == ["en", "de"]
    named = json.loads(ok(capsys, "translate", "--from", "en", "--to", "de", "--json", SOURCES[4]))
    assert (named["text"], named.get("detected")) == (TARGETS[4], None)


def test_without_a_target_the_languages_are_listed(small_bundled: Path, capsys: Capture) -> None:
    said = wrong(capsys, "translate", SOURCES[4])
    assert "name one with --to (" in said
    assert {*said.partition("--to (")[2].rstrip(")").split(", ")} == {"en", "de", "fr", "it", "hi"}
    assert "does not translate to es; it has: from any to any of en, de, fr, it, hi" in wrong(
        capsys, "translate", SOURCES[4], "--to", "es"
    )


def test_from_file_to_file(small_bundled: Path, capsys: Capture) -> None:
    lines_file(Path("book.txt"), [SOURCES[4], TARGETS[3]])
    ok(capsys, "translate", "--to", "de", "--input", "book.txt", "--output", "book.de")
    assert Path("book.de").read_text(encoding="utf-8").splitlines() == [TARGETS[4], TARGETS[3]]


def test_the_name_of_a_file_is_noted(small_bundled: Path, capsys: Capture) -> None:
    lines_file(Path("book.lines"), SOURCES[:1])
    assert headwise.cli.main(["translate", "--to", "de", "book.lines", "हाथी " * 100]) == 0
    assert "book.lines is a file: --input book.lines translates its lines" in capsys.readouterr().err


def test_the_name_of_a_folder_or_of_nothing_is_noted(small_bundled: Path, capsys: Capture) -> None:
    Path("website").mkdir()
    assert headwise.cli.main(["translate", "--to", "de", "website", "./missing", "and/or"]) == 0
    told = capsys.readouterr().err
    assert "website is also a folder here: website/ translates its documents" in told
    assert "there is no file ./missing: its name is translated as text" in told
    assert "and/or" not in told


def test_python(small_bundled: Path) -> None:
    assert f"{headwise.translate(SOURCES[4], to='de')}" == TARGETS[4]
    assert [str(each) for each in headwise.translate(SOURCES[:3], to="de")] == TARGETS[:3]
    with headwise.Translator() as translator:
        assert translator.folder == small_bundled
        assert str(translator.translate(SOURCES[4], target="de")) == TARGETS[4]


# --- which model it is ---------------------------------------------------------------------------------


def test_others_come_first(
    small_bundled: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment variable and a model in the current folder; but not any config.json."""
    save_model(tmp_path / "one-direction", taught())
    monkeypatch.setenv("HEADWISE_MODEL", str(tmp_path / "one-direction"))
    assert ok(capsys, "translate", SOURCES[4]) == f"{TARGETS[4]}\n"
    monkeypatch.setenv("HEADWISE_MODEL", BUNDLED)
    assert "--to" in wrong(capsys, "translate", SOURCES[4])
    monkeypatch.delenv("HEADWISE_MODEL")
    Path("config.json").write_text('{"format": "spaces"}', encoding="utf-8")
    assert ok(capsys, "translate", SOURCES[4], "--to", "de") == f"{TARGETS[4]}\n"
    monkeypatch.chdir(tmp_path / "one-direction")
    assert ok(capsys, "translate", SOURCES[4]) == f"{TARGETS[4]}\n"


def test_a_folder_of_its_name_does_not_hide_the_default(small_bundled: Path, capsys: Capture) -> None:
    Path(BUNDLED).mkdir()
    assert ok(capsys, "translate", SOURCES[4], "--to", "de") == f"{TARGETS[4]}\n"
    assert "not a model folder" in wrong(capsys, "translate", SOURCES[4], "--to", "de", "--model", BUNDLED)


def test_a_package_without_the_model(small_bundled: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "FOLDER", small_bundled / "missing")
    for arguments in (["translate", "x", "--to", "de"], ["info", BUNDLED], ["inspect", "x", "--out", "x.png"]):
        assert "this installation of Headwise has no bundled model" in wrong(capsys, *arguments)
    for call in (headwise.Translator, lambda: headwise.translate("x", to="de"), lambda: headwise.load(BUNDLED)):
        with pytest.raises(CheckpointError, match="no bundled model"):
            call()


@pytest.mark.parametrize("command", ["generate", "fill", "embed", "classify"])
def test_commands_that_do_not_translate_ask_for_a_model(command: str, small_bundled: Path, capsys: Capture) -> None:
    assert "no model: give --model" in wrong(capsys, command, "x")


# --- test sets -----------------------------------------------------------------------------------------


def test_the_language_of_a_test_set_is_detected(small_bundled: Path, capsys: Capture) -> None:
    """Once for all of it: a test set is in one language."""
    english, german = lines_file(Path("test.en"), [*SOURCES, "Haus"]), lines_file(Path("test.de"), [*TARGETS, "Haus"])
    start = ["evaluate", "--source", english, "--reference", german, "--to", "de", "--json"]
    assert headwise.cli.main(start) == 0
    captured = capsys.readouterr()
    assert "the sources are in the language en, as detected" in captured.err
    named = json.loads(ok(capsys, *start, "--from", "en"))
    assert json.loads(captured.out) == named
    assert named["bleu"] > 80
    scores = ["score", "--source", english, "--target", german, "--to", "de"]
    assert ok(capsys, *scores) == ok(capsys, *scores, "--from", "en")


def test_a_test_set_in_the_target_language_is_a_mistake(small_bundled: Path, capsys: Capture) -> None:
    german = lines_file(Path("test.de"), TARGETS)
    said = wrong(capsys, "evaluate", "--source", german, "--reference", german, "--to", "de")
    assert "the sources are in the target language, de" in said


def test_files_of_pairs_need_both_languages(small_bundled: Path, capsys: Capture) -> None:
    pairs = lines_file(Path("pairs.tsv"), ["en\tde", *("\t".join(pair) for pair in PAIRS)])
    start = ["evaluate", "--pairs", pairs, "--to", "de", "--json"]
    assert "from several languages: name one with --from" in wrong(capsys, *start)
    assert json.loads(ok(capsys, *start, "--from", "en"))["bleu"] > 80
    assert "name the source language with --from" in wrong(capsys, "shortlist", BUNDLED, "--pairs", pairs, "--to", "de")


# --- names ---------------------------------------------------------------------------------------------


@pytest.fixture
def named(small_bundled: Path, tmp_path: Path) -> Path:
    """The user's models folder, with a model for every command."""
    folder = tmp_path / "named"
    save_model(folder / "mine", taught())
    save_model(folder / "gpt", language_model())
    save_model(folder / "bert", encoder())
    save_model(folder / "sentiment", classifier())
    shutil.copytree(small_bundled, folder / "five")
    lines_file(Path("pairs.tsv"), ["\t".join(pair) for pair in PAIRS])
    lines_file(Path("test.en"), SOURCES[:4])
    lines_file(Path("test.de"), TARGETS[:4])
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "translate --model mine x",
        "translate --model five --to de x",
        "evaluate --model mine --source test.en --reference test.de",
        "score --model mine --pairs pairs.tsv",
        "inspect --model mine x --out x.json",
        "inspect x --to de --out x.json",
        "inspect --model five x --to fr --out x.json",
        "generate --model gpt x",
        "fill --model bert ___",
        "embed --model bert x",
        "classify --model sentiment x",
        "tokenizer encode --input test.en",
        "tokenizer encode --model mine --input test.en",
        "info mine",
        "info bundled",
        "convert mine small --precision int8",
        "convert mine theirs --to huggingface --as marian",
        "shortlist mine --pairs pairs.tsv",
        "average mine mine --out mean",
        "back-translate mine --text test.en --beam 1 --out back.tsv",
        "back-translate bundled --from de --to en --text test.de --beam 1 --out back.tsv",
    ],
)
def test_a_name_works_wherever_a_path_does(command: str, named: Path, capsys: Capture) -> None:
    arguments = command.split()
    if "--as" in arguments:  # this model has no published family: it is found, read and refused
        assert "cannot be written as marian" in wrong(capsys, *arguments)
        return
    assert headwise.cli.main(arguments) == 0, capsys.readouterr().err


def test_names_in_python_and_in_recipes(named: Path) -> None:
    assert headwise.load("mine").task.directions == (("en", "de"),)
    assert headwise.Translator("mine").folder == named / "mine"
    small = {"preset": "tiny", "width": 32, "attention.heads": 2, "feed_forward.hidden": 32}
    run = {"steps": 1, "device": "cpu", "batch_tokens": 256, "validate_bleu": False}
    start = {"data": {"train": [{"pairs": ["pairs.tsv"]}], "held_out": 4}, "train": run}
    recipe = {**start, "model": small, "text": {"folder": "mine"}}
    headwise.train(recipe, source="en", target="de", out="same-tokenizer")
    assert headwise.load("same-tokenizer").tokenizer == headwise.load("mine").tokenizer
    headwise.train(start, init="mine", source="en", target="de", out="further")
    assert headwise.load("further").config == headwise.load("mine").config


def test_a_misspelt_name(named: Path, capsys: Capture) -> None:
    for arguments in (["translate", "x", "--model", "mien"], ["info", "mien"], ["convert", "mien", "out"]):
        said = wrong(capsys, *arguments)
        assert "did you mean mine?" in said
        assert "`headwise models`" in said


# --- without PyTorch -----------------------------------------------------------------------------------


@pytest.mark.skipif(not supported(), reason="the native engine does not run here")
def test_pytorch_is_not_loaded(named: Path) -> None:
    command = "import sys\nfrom headwise.cli import main\nmain(sys.argv[1:])\nassert 'torch' not in sys.modules"
    for arguments in (["translate", SOURCES[4], "--model", "five", "--to", "de"], ["models"]):
        subprocess.run([sys.executable, "-c", command, *arguments], check=True, timeout=60)
    script = f"import sys, headwise\nprint(headwise.translate({SOURCES[4]!r}, model='five', to='de'))"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nassert 'torch' not in sys.modules"], check=True, timeout=60, stdout=-1
    )
    assert done.stdout.decode().strip() == TARGETS[4]


def test_a_name_in_another_process(named: Path) -> None:
    shutil.copytree(named / "mine", named / "copy")
    done = shell("translate", "--model", "copy", given=SOURCES[4].encode())
    assert done.stdout.decode() == f"{TARGETS[4]}\n", done.stderr
