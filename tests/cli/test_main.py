"""The command line: every command with its options, and one clear line for everything that is wrong."""

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from safetensors import safe_open

import headwise
from headwise.cli import main, parser
from headwise.decode.alignment import pharaoh
from headwise.decode.engines.table import ENGINES
from headwise.models.folder.load import save_model
from headwise.presets import PRESETS, resolve
from headwise.text.kinds import TOKENIZERS, load_tokenizer
from headwise.train.run import train
from tests.commands import Capture, contents, lines_file, ok, shell, wrong
from tests.taught import PAIRS, SOURCES, TARGETS, taught

COMMANDS = [name for action in parser()._actions if isinstance(action.choices, dict) for name in action.choices]
TINY = ["model.width=16", "model.feed_forward.hidden=16", "model.attention.heads=2", "model.layers=1"]
SHORT = ["train.validate_bleu=false", "train.batch_tokens=256", "text.vocabulary=350", "train.device=cpu"]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "both"
    save_model(folder, taught(both_directions=True))
    return folder


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its checkpoints. Read only."""
    folder = tmp_path_factory.mktemp("runs")
    corpus(folder)
    tables = {
        "out": str(folder / "run"),
        "model": {"preset": "tiny", **{key[6:]: int(value) for key, _, value in (s.partition("=") for s in TINY)}},
        "text": {"vocabulary": 350},
        "data": {
            "source_language": "xx",
            "target_language": "yy",
            "train": [{"pairs": [str(folder / "pairs.tsv")]}],
            "valid": [{"pairs": [str(folder / "valid.tsv")]}],
        },
        "train": {"steps": 4, "checkpoint_every": 2, "validate_every": 4, "batch_tokens": 256, "device": "cpu"},
    }
    train(resolve(tables), say=lambda text: None)
    return folder / "run"


def corpus(folder: Path) -> None:
    lines = [f"{source}\t{target}\n" for source, target in PAIRS]
    (folder / "pairs.tsv").write_text("".join(lines[4:]))
    (folder / "valid.tsv").write_text("".join(lines[:4]))


def refused_training(capsys: Capture, *arguments: object) -> str:
    """As `wrong`, but what was done before the mistake was met may have been told."""
    code = main(["train", *map(str, arguments)])
    errors = capsys.readouterr().err
    assert code == 2, errors
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith("headwise: ")
    assert errors.count("headwise: ") == 1
    return last


# --- help and wrong use --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [*COMMANDS, "tokenizer train", "tokenizer encode", "tokenizer decode"])
def test_help_shows_an_example(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"headwise {command.split()[0]} " in text.partition("examples:")[2]


def test_help_names_every_command(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"\n    {command}" in text for command in COMMANDS)


def parsers(top: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    choices = [action.choices.values() for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    return [top, *(each for found in choices for below in found for each in parsers(below))]


@pytest.mark.parametrize("command", parsers(parser()), ids=lambda each: each.prog)
def test_help_explains_every_argument(command: argparse.ArgumentParser) -> None:
    arguments = [action for action in command._actions if not isinstance(action, argparse._SubParsersAction)]
    assert [action.option_strings or action.dest for action in arguments if not action.help] == []


def test_help_names_every_engine(capsys: Capture) -> None:
    for command in ("translate", "evaluate"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = capsys.readouterr().out.partition("--engine E  ")[2]
        assert all(f"{name}: " in text or f"{name} (default): " in text for name in ("auto", *ENGINES))


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"headwise {headwise.__version__}\n"


@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name not in ("tokenizer", "completion", "info", "keys")]
)
def test_an_unknown_option(command: str, capsys: Capture) -> None:
    given = ("add", "x") if command == "keys" else ("x", "--out", "y.png")
    assert "--no-such" in wrong(capsys, command, *given, "--no-such")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "COMMAND"),
        (["fly"], "choose from train, translate,"),
        (["transalte", "x"], "there is no 'transalte': did you mean translate?"),
        (["train", "--pairs", "x", "--preset", "tiney"], "did you mean tiny?"),
        (
            ["translate", "x", "--form", "en"],
            "headwise translate: unrecognized arguments: --form en: did you mean --from?",
        ),
        (["inspect", "x", "y", "--out", "y.png"], "unrecognized arguments: y (see headwise inspect --help)"),
        (["translate", "x", "--beam", "0"], "'0'"),
        (["translate", "x", "--candidates", "many"], "'many'"),
        (["translate", "x", "--candidates", "-1"], "--candidates"),
        (["translate", "x", "--mod", "y"], "--mod"),  # no abbreviations: a new option must not break a script
        (["inspect", "x"], "--out"),
        (["inspect", "x", "--out", "y.png", "--layer", "0"], "'0'"),
        (["train", "--pairs", "x", "--preset", "huge"], "huge"),
        (["train", "--pairs", "x", "--steps", "0"], "--steps"),
        (["tokenizer"], "train|encode|decode"),
    ],
)
def test_wrong_use(arguments: list[str], says: str, capsys: Capture) -> None:
    assert says in wrong(capsys, *arguments)


def test_wrong_settings(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    start = ["train", "--pairs", tmp_path / "pairs.tsv", "--out", tmp_path / "run"]
    assert "did you mean train.steps" in wrong(capsys, *start, "--set", "train.stesp=5")
    assert "did you mean model" in wrong(capsys, *start, "--set", "modle.width=5")
    assert "KEY=VALUE" in wrong(capsys, *start, "--set", "train.steps")
    assert "whole number" in wrong(capsys, *start, "--set", "train.steps=many")
    assert ", ".join(PRESETS) in wrong(capsys, *start, "--set", "model.preset=huge")
    assert "--source and --target" in wrong(capsys, "train", "--source", "x", "--out", tmp_path / "run")
    assert "--valid-source and" in wrong(capsys, *start, "--valid-target", "x")
    assert "no training data" in wrong(capsys, "train", "--out", tmp_path / "run")
    assert "--out" in wrong(capsys, *start[:3])
    assert "no such recipe" in wrong(capsys, "train", tmp_path / "none.toml", "--out", tmp_path / "run")
    assert "train.steps must be at least 1" in wrong(capsys, *start, "--set", "train.steps=-3")
    assert not (tmp_path / "run").exists()
    (tmp_path / "bad.toml").write_text("[train\nsteps = 1")
    assert "bad.toml: not valid TOML" in wrong(capsys, "train", tmp_path / "bad.toml")
    (tmp_path / "key.toml").write_text("[train]\nbatch_token = 1\n[data]\ntrain = [{pairs = 'x'}]")
    assert "did you mean train.batch_tokens" in wrong(capsys, "train", tmp_path / "key.toml", "--out", tmp_path / "r")
    assert "validation measures: loss" in refused_training(capsys, *start[1:], "--set", "train.select_by=luck", *SHORT)


def test_no_model(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWISE_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    assert "give --model" in wrong(capsys, "generate", "x")
    assert "no such model folder" in wrong(capsys, "translate", "x", "--model", "nowhere")
    (tmp_path / "empty").mkdir()
    uses = [[command, "x"] for command in ("translate", "generate", "fill", "embed", "classify")]
    for command in (*uses, ["inspect", "x", "--out", "x.png"], ["evaluate", "--pairs", "x"]):
        assert "not a model folder" in wrong(capsys, *command, "--model", "empty")
    for command in (["translate", "x", "--model"], ["info"], ["shortlist"], ["tokenizer", "decode", "--model"]):
        said = wrong(
            capsys, *command, "Helsinki-NLP/opus-mt-en-de", *(["--pairs", "x"] if command == ["shortlist"] else [])
        )
        assert "Nothing is downloaded" in said
        assert "`hf download Helsinki-NLP/opus-mt-en-de --local-dir opus-mt-en-de`" in said
    assert "nowhere" in wrong(capsys, "info", "nowhere")
    assert "nowhere" in wrong(capsys, "average", "nowhere", "--out", "mean")
    assert "nowhere" in wrong(capsys, "tokenizer", "encode", "--model", "nowhere", "--input", "x")


def test_a_device_that_is_not_there(model: Path, capsys: Capture) -> None:
    assert "'warp'" in wrong(capsys, "translate", "x", "--model", model, "--device", "warp")


def test_quiet_leaves_results_and_errors(model: Path, capsys: Capture) -> None:
    start = ["translate", "--model", str(model), "日本語"]
    assert main(start) == 0
    noted = capsys.readouterr()
    assert "characters that the model has not learnt" in noted.err
    assert main([*start, "--quiet"]) == 0
    assert capsys.readouterr() == (noted.out, "")
    assert "does not translate to fr" in wrong(capsys, *start, "--quiet", "--to", "fr")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["tran"], ["translate"]),
        (["score", "--js"], ["--json"]),
        (["tokenizer", "enc"], ["encode"]),
        (["translate", "--beam", "4", "--qui"], ["--quiet"]),
    ],
)
def test_bash_completes_commands_and_options(words: list[str], completed: list[str], capsys: Capture) -> None:
    script = ok(capsys, "completion", "bash")
    call = f"COMP_WORDS=(headwise {' '.join(words)}); COMP_CWORD={len(words)}; _headwise; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script + call], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == completed


def test_other_shells_complete_every_command(capsys: Capture) -> None:
    for shell_name in ("zsh", "fish"):
        script = ok(capsys, "completion", shell_name)
        assert all(command in script for command in COMMANDS)


@pytest.mark.skipif(os.name == "nt", reason="no POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed(closed: str) -> None:
    script = f'"$0" -m headwise detect {closed}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# --- translate -----------------------------------------------------------------------------------------


def test_texts(model: Path, capsys: Capture) -> None:
    assert ok(capsys, "translate", "--model", model, SOURCES[0], "", SOURCES[4]) == f"{TARGETS[0]}\n\n{TARGETS[4]}\n"


def test_where_the_model_is(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWISE_MODEL", str(model))
    assert ok(capsys, "translate", SOURCES[0]) == f"{TARGETS[0]}\n"
    monkeypatch.delenv("HEADWISE_MODEL")
    monkeypatch.chdir(model)
    assert ok(capsys, "translate", SOURCES[0]) == f"{TARGETS[0]}\n"


def test_files_plain_and_compressed(model: Path, tmp_path: Path, capsys: Capture) -> None:
    plain = Path(lines_file(tmp_path / "in.en", [*SOURCES, "", SOURCES[0]]))
    packed = tmp_path / "in.en.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    expected = ok(capsys, "translate", "--model", model, "--input", plain, "--beam", 1)
    assert expected.splitlines() == [*TARGETS, "", TARGETS[0]]
    out = tmp_path / "out.de"
    assert ok(capsys, "translate", "--model", model, "--input", packed, "--output", out, "--beam", "1") == ""
    assert out.read_text(encoding="utf-8") == expected


def test_a_pipe(small_folder: Path) -> None:
    command = ("translate", "--model", small_folder, "--from", "en", "--to", "de")
    done = shell(*command, given=f"{SOURCES[0]}\n\n{SOURCES[4]}".encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"{TARGETS[0]}\n\n{TARGETS[4]}\n"
    assert done.stderr == b""
    dash = shell(*command, "--input", "-", given=b"\xef\xbb\xbf" + SOURCES[0].encode() + b"\r\n")
    assert dash.stdout.decode() == f"{TARGETS[0]}\n"
    empty = shell(*command)
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, b"", b"")


def test_output_is_utf_8_whatever_the_locale(small_folder: Path) -> None:
    """Input is UTF-8 always; so is output, and half characters that a terminal hands in do not stop it."""
    texts = ("Äpfel 苹果", b"\xff".decode("utf-8", "surrogateescape"))
    command = ("translate", "--model", small_folder, "--from", "en", "--to", "de", "--json", *texts)
    done = shell(*command, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert records[0]["source"] == "Äpfel 苹果"


def test_arguments_are_utf_8_whatever_the_locale(small_folder: Path) -> None:
    """In the locale C, without UTF-8 mode, Python decodes arguments as ASCII."""
    c = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = ("translate", "--model", small_folder, "--from", "en", "--to", "de", "--json", "The café is closed.")
    done = shell(*command, **c)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode())["source"] == "The café is closed."


def test_a_reader_that_has_seen_enough(small_folder: Path, tmp_path: Path) -> None:
    path = lines_file(tmp_path / "in.en", SOURCES * 400)
    given = f'--beam 1 --model "{small_folder}" --from en --to de --input "{path}"'
    command = f'"{sys.executable}" -m headwise translate {given} | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, check=False, timeout=120)
    assert done.stdout.decode() == f"{TARGETS[0]}\n"
    assert done.stderr == b""


def test_columns(model: Path, capsys: Capture) -> None:
    engine = headwise.Translator(model)
    results = engine.translate(SOURCES[:2], beam=4, candidates=3, alignments=True)
    start = ["translate", "--model", model, *SOURCES[:2]]
    rows = [line.split("\t") for line in ok(capsys, *start, "--candidates", 3, "--scores", "--alignments").splitlines()]
    expected = [(number, each) for number, result in enumerate(results, 1) for each in result.candidates]
    assert len(rows) == len(expected) == 6
    for (number, score, text, alignment), (line, candidate) in zip(rows, expected, strict=True):
        assert (int(number), text) == (line, candidate.text)
        assert float(score) == pytest.approx(candidate.score, abs=1e-3)
        assert alignment == pharaoh(candidate.alignment)
    assert [line.split("\t")[1] for line in ok(capsys, *start, "--scores").splitlines()] == [r.text for r in results]
    aligned = [line.split("\t")[1] for line in ok(capsys, *start, "--alignments").splitlines()]
    assert aligned == [pharaoh(result.alignment) for result in results]


def test_json(model: Path, capsys: Capture) -> None:
    out = ok(capsys, "translate", "--model", model, "--json", "--candidates", 2, SOURCES[0], "")
    first, second = map(json.loads, out.splitlines())
    result = headwise.Translator(model).translate(SOURCES[0], candidates=2, alignments=True)
    assert (first["source"], first["text"], first["tokens"]) == (SOURCES[0], result.text, result.tokens)
    assert first["alignment"] == [list(pair) for pair in result.alignment]
    assert first["complete"] is True
    assert [each["text"] for each in first["candidates"]] == [each.text for each in result.candidates]
    assert second["text"] == ""


def test_search_options(model: Path, capsys: Capture) -> None:
    start = ["translate", "--model", model, SOURCES[0]]
    assert ok(capsys, *start, "--prefix", "Ein Hund").startswith("Ein Hund")
    sample = [*start, "--sample", "--temperature", 2, "--top-k", 50, "--top-p", 0.99, "--candidates", 3]
    assert ok(capsys, *sample, "--seed", 1) == ok(capsys, *sample, "--seed", 1)
    assert len(ok(capsys, *sample).splitlines()) == 3
    assert ok(capsys, *start, "--no-repeat", 2, "--length-penalty", 0)
    assert len(ok(capsys, *start, "--beam", 1, "--candidates", 3).splitlines()) == 3
    for mistake in (["--no-repeat", -1], ["--max-ratio", -9], ["--sample", "--temperature", 0]):
        wrong(capsys, *start, *mistake)


def test_what_is_cut_off_is_said(tmp_path: Path, capsys: Capture) -> None:
    save_model(tmp_path / "random", taught(steps=0))  # which never finds an end
    assert main(["translate", "--model", str(tmp_path / "random"), "", SOURCES[0]]) == 0
    assert capsys.readouterr().err == "headwise: text 2 was cut off at the length limit (--max-ratio)\n"


def test_languages(model: Path, both: Path, capsys: Capture) -> None:
    assert ok(capsys, "translate", "--model", both, "--to", "en", TARGETS[0]) == f"{SOURCES[0]}\n"
    assert ok(capsys, "translate", "--model", both, "--from", "en", "--to", "de", SOURCES[0]) == f"{TARGETS[0]}\n"
    assert "--to" in wrong(capsys, "translate", "--model", both, SOURCES[0])
    assert "does not translate to fr; it has: en-de" in wrong(
        capsys, "translate", "--model", model, "--to", "fr", SOURCES[0]
    )


def test_nothing_to_translate(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert "nothing to translate" in wrong(capsys, "translate", "--model", model)
    assert "not both" in wrong(capsys, "translate", "--model", model, "text", "--input", "file")


BAD_LINES = {
    "invalid UTF-8": (b"good\nb\xffd\n", ":2: not valid UTF-8"),
    "NUL bytes": (b"good\ngood\nb\x00d\n", ":3: a NUL byte"),
    "UTF-16": ("Hallo".encode("utf-16"), ":1: not valid UTF-8"),
}


@pytest.mark.parametrize(("content", "says"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_input_costs_no_output(model: Path, tmp_path: Path, capsys: Capture, content: bytes, says: str) -> None:
    path, out = tmp_path / "in.en", tmp_path / "out.de"
    path.write_bytes(content)
    out.write_text("precious")
    assert f"{path}{says}" in wrong(capsys, "translate", "--model", model, "--input", path, "--output", out)
    assert out.read_text() == "precious"
    assert "no such file" in wrong(capsys, "translate", "--model", model, "--input", "nowhere", "--output", out)
    assert "from en to fr" in wrong(
        capsys, "translate", "--model", model, SOURCES[0], "--output", out, "--from", "en", "--to", "fr"
    )
    assert out.read_text() == "precious"
    assert "is a folder without documents" in wrong(capsys, "translate", "--model", model, "--input", tmp_path)
    unwritable = tmp_path / "no" / "out"
    assert "cannot be written" in wrong(capsys, "translate", "--model", model, SOURCES[0], "--output", unwritable)


def test_the_input_is_never_the_output(model: Path, tmp_path: Path, capsys: Capture) -> None:
    path = lines_file(tmp_path / "in.en", SOURCES)
    assert "is the input" in wrong(capsys, "translate", "--model", model, "--input", path, "--output", path)
    assert Path(path).read_text().splitlines() == SOURCES


def test_a_line_of_a_megabyte(tmp_path: Path, capsys: Capture) -> None:
    """Translated in parts. A model of whole words and greedy search, to be quick about it."""
    folder = tmp_path / "model"
    save_model(folder, taught(kind="words", usual_tokens=500, max_tokens=1000, steps=0))
    word = "x" * 99 + " "
    path = lines_file(tmp_path / "in.en", [SOURCES[0], word * 10_000, SOURCES[1]])
    assert Path(path).stat().st_size > 1_000_000
    arguments = ["translate", "--model", str(folder), "--input", path, "--beam", "1", "--max-ratio", "0"]
    assert main(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_line_of_many_sentences(model: Path, capsys: Capture) -> None:
    out = ok(capsys, "translate", "--model", model, "--beam", 1, " ".join(SOURCES))
    assert out == " ".join(TARGETS) + "\n"


@pytest.mark.parametrize(
    "text", ["أكلت تفاحة.", "שלום", "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈", "\u200f", "   ", "\u3000\u00a0"]
)
def test_unusual_lines_give_a_line_each(model: Path, tmp_path: Path, capsys: Capture, text: str) -> None:
    path = lines_file(tmp_path / "in", [text, SOURCES[0]])
    out = ok(capsys, "translate", "--model", model, "--input", path, "--beam", 1).split("\n")
    assert len(out) == 3
    assert out[1] == TARGETS[0]
    assert bool(out[0]) <= bool(text.strip())


# --- evaluate, score -----------------------------------------------------------------------------------


def test_evaluate(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source = lines_file(tmp_path / "test.en", SOURCES)
    references = [*TARGETS[1:], TARGETS[0]]
    reference = lines_file(tmp_path / "test.de", references)
    out = tmp_path / "out.de"
    start = ["evaluate", "--model", model, "--source", source, "--reference", reference, "--beam", 2]
    scores = json.loads(ok(capsys, *start, "--json", "--output", out))
    translations = out.read_text().splitlines()
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(translations, [references]).score)
    assert scores["pairs"] == len(PAIRS)
    assert "tok:13a" in scores["bleu_signature"]
    text = ok(capsys, *start)
    assert f"BLEU {scores['bleu']:.2f}" in text
    assert scores["chrf_signature"] in text
    assert "beam 2, engine plain" in text
    pairs = tmp_path / "test.tsv"
    pairs.write_text("".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, references, strict=True)))
    assert json.loads(ok(capsys, "evaluate", "--model", model, "--pairs", pairs, "--beam", 2, "--json")) == scores


def test_score(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source, target = lines_file(tmp_path / "a.en", SOURCES), lines_file(tmp_path / "a.de", TARGETS)
    lines = ok(capsys, "score", "--model", model, "--source", source, "--target", target).splitlines()
    expected = headwise.Translator(model).score(SOURCES, TARGETS)
    assert [float(line) for line in lines] == pytest.approx(expected, abs=1e-4)
    records = ok(capsys, "score", "--model", model, "--source", source, "--target", target, "--json").splitlines()
    for record, pair, score in zip(map(json.loads, records), PAIRS, expected, strict=True):
        assert (record["source"], record["target"]) == pair
        assert record["score"] == pytest.approx(score, abs=1e-4)
    sums = ok(capsys, "score", "--model", model, "--source", source, "--target", target, "--length-penalty", 0)
    assert len(sums.splitlines()) == len(PAIRS)
    assert sums != "\n".join(lines)


@pytest.mark.parametrize(("command", "second"), [("evaluate", "--reference"), ("score", "--target")])
def test_wrong_test_sets(command: str, second: str, model: Path, tmp_path: Path, capsys: Capture) -> None:
    start = [command, "--model", model]
    one, other = lines_file(tmp_path / "one", ["a", "b"]), lines_file(tmp_path / "other", ["c"])
    empty = lines_file(tmp_path / "empty", [])
    assert "give --pairs" in wrong(capsys, *start)
    assert "give --pairs" in wrong(capsys, *start, "--source", one)
    assert "give --pairs" in wrong(capsys, *start, "--source", one, second, other, "--pairs", one)
    assert "other" in wrong(capsys, *start, "--source", one, second, other)
    assert "no pairs" in wrong(capsys, *start, "--source", empty, second, empty)
    assert "no such file" in wrong(capsys, *start, "--source", one, second, tmp_path / "nowhere")
    assert "does not translate to fr; it has: en-de" in wrong(
        capsys, *start, "--source", one, second, one, "--to", "fr"
    )


# --- inspect -------------------------------------------------------------------------------------------


def test_inspect(model: Path, tmp_path: Path, capsys: Capture) -> None:
    start = ["inspect", "--model", model, SOURCES[0]]
    png, svg, table = (tmp_path / f"map.{ending}" for ending in ("png", "svg", "json"))
    assert TARGETS[0] in ok(capsys, *start, "--out", png)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "Ein Hund" in ok(capsys, *start, "--target", "Ein Hund", "--out", svg, "--kind", "encoder", "--layer", 1)
    assert svg.read_text().startswith("<?xml")
    ok(capsys, *start, "--out", table)
    assert json.loads(table.read_text())["text"] == TARGETS[0]
    assert "there are 1 to 2" in wrong(capsys, *start, "--out", png, "--layer", 9)
    assert "holds every layer" in wrong(capsys, *start, "--out", table, "--layer", 1)
    assert ".png" in wrong(capsys, *start, "--out", tmp_path / "map.gif2")
    assert "empty" in wrong(capsys, "inspect", "--model", model, " ", "--out", png)
    assert "map.png" in wrong(capsys, *start, "--out", tmp_path / "no" / "map.png")
    assert "map.json" in wrong(capsys, *start, "--out", tmp_path / "no" / "map.json")


# --- average, tokenizer, info --------------------------------------------------------------------------


def test_average(run: Path, tmp_path: Path, capsys: Capture) -> None:
    checkpoints = sorted((run / "checkpoints").glob("step-*"))
    assert len(checkpoints) == 2
    out = tmp_path / "mean"
    assert str(out) in ok(capsys, "average", *checkpoints, "--out", out)
    files = [path / "model.safetensors" for path in (*checkpoints, out)]
    opened = [safe_open(path, framework="pt") for path in files]
    for name in opened[0].keys():  # noqa: SIM118
        first, second, mean = (file.get_tensor(name).double() for file in opened)
        assert ((first + second) / 2 - mean).abs().max() < 1e-7
    ok(capsys, "translate", "--model", out, "a")
    assert "choose another --out" in wrong(capsys, "average", *checkpoints, "--out", out)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_tokenizer_round_trip(kind: str, tmp_path: Path, capsys: Capture) -> None:
    lines = [*SOURCES, "", TARGETS[0]]
    text = lines_file(tmp_path / "text", lines)
    out = tmp_path / "tokenizer"
    told = ok(capsys, "tokenizer", "train", text, "--out", out, "--kind", kind, "--vocabulary", 350)
    assert f"{load_tokenizer(out).size} tokens" in told
    for ids in ([], ["--ids"]):
        encoded = ok(capsys, "tokenizer", "encode", "--model", out, "--input", text, *ids)
        assert len(encoded.splitlines()) == len(lines)
        again = lines_file(tmp_path / "encoded", encoded.splitlines())
        assert ok(capsys, "tokenizer", "decode", "--model", out, "--input", again, *ids).splitlines() == lines
    bad = lines_file(tmp_path / "bad", ["", "no-such-piece"])
    assert f"{bad}:2: " in last_line(capsys, "tokenizer", "decode", "--model", out, "--input", bad)
    for ids_text in ("7 x", "99999999"):
        bad = lines_file(tmp_path / "bad", ["5", ids_text])
        assert f"{bad}:2: " in last_line(capsys, "tokenizer", "decode", "--ids", "--model", out, "--input", bad)


def test_tokenizer_train_splits_digits(tmp_path: Path, capsys: Capture) -> None:
    text, out = lines_file(tmp_path / "text", ["in 1994", "in 1995", "in 1994 or 1995"]), tmp_path / "tokenizer"
    ok(capsys, "tokenizer", "train", text, "--out", out, "--split-digits")
    assert ok(capsys, "tokenizer", "encode", "--model", out, "--input", text).splitlines()[0] == "▁in ▁ 1 9 9 4"


def last_line(capsys: Capture, *arguments: object) -> str:
    """The error of a command that had printed something before it met it."""
    assert main([str(argument) for argument in arguments]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    return errors


def test_tokenizer_of_a_model_in_a_pipe(model: Path) -> None:
    done = shell("tokenizer", "encode", "--model", model, given=SOURCES[0].encode())
    assert done.stdout.decode().split() == taught().tokenizer.pieces(taught().tokenizer.encode(SOURCES[0]))


def test_info(model: Path, run: Path, capsys: Capture) -> None:
    text = ok(capsys, "info")
    assert headwise.__version__ in text
    assert ", ".join(PRESETS) in text
    engines = json.loads(ok(capsys, "info", "--json"))["engines"]
    assert list(engines) == list(ENGINES)
    for name, found in engines.items():
        assert re.search(rf"^  {name} +{re.escape(found)}$", text, re.MULTILINE), text
    facts = json.loads(ok(capsys, "info", model, "--json"))
    assert facts["directions"] == "en-de"
    assert facts["layers"] == "1+2"
    assert facts["parameters"] == sum(parameter.numel() for parameter in taught().model.parameters())
    facts = json.loads(ok(capsys, "info", run, "--json"))
    assert (facts["directions"], facts["steps"], facts["best step"]) == ("xx-yy", 4, 4)
    assert re.fullmatch(r"BLEU \d+\.\d+, chrF \d+\.\d+, perplexity \d+\.\d+, 4 pairs", facts["validation set"])
    newest = sorted((run / "checkpoints").glob("step-*"))[-1]
    assert "xx-yy" in ok(capsys, "info", newest)


# --- train ---------------------------------------------------------------------------------------------


def test_train_from_a_recipe_with_free_codes(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        "seed = 3\n[model]\npreset = 'tiny'\n[train]\nsteps = 50\n"
        f"[data]\nfolder = '{tmp_path}'\ntrain = [{{pairs = 'pairs.tsv'}}]\nvalid = [{{pairs = 'valid.tsv'}}]\n"
    )
    out = tmp_path / "out"
    start = ["train", recipe, "--from", "xx", "--to", "yy", "--out", out, "--steps", 2, "--set", *SHORT, *TINY]
    assert ok(capsys, *start, "train.checkpoint_every=1") == ""
    saved = json.loads((out / "recipe.json").read_text())
    assert (saved["seed"], saved["train"]["steps"], saved["train"]["checkpoint_every"]) == (3, 2, 1)
    assert (saved["model"]["preset"], saved["model"]["width"]) == ("tiny", 16)
    assert len(list((out / "checkpoints").glob("step-*"))) == 2
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "xx" in card
    assert f"Headwise {headwise.__version__}" in card
    ok(capsys, "translate", "--model", out, "--from", "xx", "--to", "yy", SOURCES[0])
    assert "was started with another recipe" in refused_training(capsys, *start[1:], "seed=4")


def test_train_from_two_files_in_both_directions(tmp_path: Path, capsys: Capture) -> None:
    source, target = lines_file(tmp_path / "a.xx", SOURCES * 1), lines_file(tmp_path / "a.yy", TARGETS)
    out = tmp_path / "out"
    start = ["train", "--source", source, "--target", target, "--from", "xx", "--to", "yy", "--out", out]
    options = ["--steps", 1, "--preset", "tiny", "--both-directions", "--vocabulary", 350, "--seed", 2]
    options += ["--valid-source", source, "--valid-target", target, "--batch-tokens", 256, "--device", "cpu"]
    ok(capsys, *start, *options, "--set", *TINY, "train.validate_bleu=false")
    ok(capsys, "translate", "--model", out, "--from", "yy", "--to", "xx", TARGETS[0])


def small_training(folder: Path, *more: object) -> list[object]:
    return ["--out", folder / "out", "--from", "en", "--to", "de", "--steps", 1, *more, "--set", *SHORT, *TINY]


BAD_CORPORA = {
    "invalid UTF-8": ("bad.tsv", b"a b\tc d\nx \xff\ty\n", "bad.tsv:2: not valid UTF-8"),
    "NUL bytes": ("bad.tsv", b"a b\tc d\nx\ty\nx\0\ty\n", "bad.tsv:3: a NUL byte"),
    "one column": ("bad.tsv", b"a b\tc d\nonly one\n", "bad.tsv:2: "),
    "broken TMX": ("bad.tmx", b"<tmx version='1.4'><header/><body>\n<tu><tuv", "bad.tmx:2"),
    "broken JSON": ("bad.jsonl", b'{"en": "a", "de": "b"}\n{"en": \n', "bad.jsonl:2: "),
    "empty": ("bad.tsv", b"", "no training pairs"),
    "only whitespace": ("bad.tsv", b"  \t \n\n \t\xc2\xa0\n", "bad.tsv"),
    "not compressed": ("bad.tsv.gz", b"plain", "bad.tsv.gz: damaged"),
}


@pytest.mark.parametrize(("name", "content", "says"), BAD_CORPORA.values(), ids=BAD_CORPORA)
def test_a_bad_corpus_is_named(name: str, content: bytes, says: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / name).write_bytes(content)
    assert says in refused_training(capsys, "--pairs", tmp_path / name, *small_training(tmp_path))
    assert not list(tmp_path.rglob("model.safetensors"))


def test_files_of_different_lengths_and_missing_ones(tmp_path: Path, capsys: Capture) -> None:
    one, other = lines_file(tmp_path / "a.en", ["a", "b", "c"]), lines_file(tmp_path / "a.de", ["d", "e"])
    said = refused_training(capsys, "--source", one, "--target", other, *small_training(tmp_path))
    assert "a.de" in said
    assert "a.en" in said
    assert "nowhere.tsv: no such file" in refused_training(
        capsys, "--pairs", tmp_path / "nowhere.tsv", *small_training(tmp_path)
    )


def test_bad_data_leaves_an_existing_model_untouched(run: Path, tmp_path: Path, capsys: Capture) -> None:
    before = contents(run)
    bad = tmp_path / "bad.tsv"
    bad.write_bytes(b"a\tb\n\xff\tc\n")
    for more in (["--preset", "tiny"], []):
        start = ["--pairs", bad, "--out", run, "--from", "xx", "--to", "yy", "--steps", 9, *more]
        assert "another recipe" in refused_training(capsys, *start)
    assert contents(run) == before


def test_the_same_run_with_data_that_went_bad_keeps_what_it_has(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    start = ["--pairs", tmp_path / "pairs.tsv", "--valid-pairs", tmp_path / "valid.tsv", *small_training(tmp_path)]
    ok(capsys, "train", *start)
    out = tmp_path / "out"
    before = {name: content for name, content in contents(out).items() if not name.startswith("data/")}
    (tmp_path / "pairs.tsv").write_bytes(b"a\tb\n\xff\tc\n")
    assert "pairs.tsv has changed" in refused_training(capsys, *start)
    after = contents(out)
    assert {name: after.get(name) for name in before} == before


def test_a_line_of_a_megabyte_is_dropped_and_reported(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    path = tmp_path / "pairs.tsv"
    path.write_text(path.read_text() + "word " * 200_000 + "\tWort\n")
    lines = len(path.read_text().splitlines())
    start = ["--pairs", path, "--valid-pairs", tmp_path / "valid.tsv", *small_training(tmp_path)]
    assert main(["train", *map(str, start)]) == 0
    errors = capsys.readouterr().err
    assert f"1 too long (e.g. {path}:{lines}" in errors
    assert max(map(len, errors.splitlines())) < 1000


def test_unusual_text_can_be_learned(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "pairs.tsv"
    unusual = [
        ("أكلت تفاحة", "אכלתי תפוח"),
        ("👩\u200d👩\u200d👧 hi", "🏳️\u200d🌈 hallo"),
        ("  ", "\u3000"),
        ("a\u200fb", "c"),
    ]
    path.write_text("".join(f"{s}\t{t}\n" for s, t in [*PAIRS, *unusual]), encoding="utf-8")
    start = ["--pairs", path, "--valid-pairs", path, *small_training(tmp_path)]
    assert main(["train", *map(str, start)]) == 0
    assert f"{len(PAIRS) + 3} kept" in capsys.readouterr().err
    ok(capsys, "translate", "--model", tmp_path / "out", "أكلت تفاحة", "👩\u200d👩\u200d👧 hi")


def test_an_output_that_cannot_be_a_folder(model: Path, tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    file = tmp_path / "file"
    file.write_text("precious")
    for out in (file, file / "below"):
        start = ["--pairs", tmp_path / "pairs.tsv", "--out", out, "--steps", 1]
        assert "cannot be the output folder" in refused_training(capsys, *start)
    assert file.read_text() == "precious"
    before = contents(model)
    start = ["--pairs", tmp_path / "pairs.tsv", "--out", model, "--steps", 1]
    assert "not trained here" in refused_training(capsys, *start)
    assert contents(model) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_folder_without_permission(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    (tmp_path / "locked").mkdir(mode=0o500)
    start = ["--pairs", tmp_path / "pairs.tsv", "--out", tmp_path / "locked", "--steps", 1]
    assert "cannot be the output folder" in refused_training(capsys, *start)


# --- damaged models ------------------------------------------------------------------------------------


def damage(folder: Path, how: str) -> None:
    weights, config = folder / "model.safetensors", folder / "config.json"
    described = json.loads(config.read_text())
    if how == "truncated weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif how == "empty weights":
        weights.write_bytes(b"")
    elif how == "altered weights":
        content = bytearray(weights.read_bytes())
        content[-7] ^= 1
        weights.write_bytes(content)
    elif how == "no weights":
        weights.unlink()
    elif how == "newer version":
        config.write_text(json.dumps({**described, "format": 99}))
    elif how == "no version":
        config.write_text(json.dumps({key: value for key, value in described.items() if key != "format"}))
    elif how == "no vocabulary":
        config.write_text(json.dumps({key: value for key, value in described.items() if key != "vocabulary"}))
    elif how == "half a config":
        config.write_text(config.read_text()[:100])
    elif how == "another shape":
        config.write_text(json.dumps({**described, "model": {**described["model"], "width": 64}}))
    elif how == "an impossible shape":
        config.write_text(json.dumps({**described, "model": {**described["model"], "attention.heads": 7}}))
    elif how == "an unknown key":
        config.write_text(json.dumps({**described, "model": {**described["model"], "magic": 7}}))
    elif how == "a strange task":
        config.write_text(json.dumps({**described, "task": [1, 2]}))
    elif how == "truncated tokenizer":
        path = folder / "tokenizer.model"
        path.write_bytes(path.read_bytes()[:-100])
    elif how == "no tokenizer":
        (folder / "tokenizer.json").unlink()


DAMAGES = {
    "truncated weights": "model.safetensors",
    "empty weights": "model.safetensors",
    "altered weights": "altered",
    "no weights": "model.safetensors",
    "newer version": "newer Headwise",
    "no version": "config.json",
    "no vocabulary": "they do not belong together",
    "half a config": "config.json",
    "another shape": "config.json",
    "an impossible shape": "config.json",
    "an unknown key": "config.json",
    "a strange task": "config.json",
    "truncated tokenizer": "tokenizer.model",
    "no tokenizer": "tokenizer.json",
}


@pytest.mark.parametrize(("how", "says"), DAMAGES.items())
def test_a_damaged_model_is_refused(how: str, says: str, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "model"
    save_model(folder, taught())
    damage(folder, how)
    before = contents(folder)
    for command in (["translate", SOURCES[0], "--model", folder], ["info", folder]):
        said = wrong(capsys, *command)
        assert says in said
        assert str(folder) in said
    assert contents(folder) == before


def test_a_damaged_checkpoint_is_refused_and_training_goes_on_before_it(tmp_path: Path, capsys: Capture) -> None:
    corpus(tmp_path)
    start = ["--pairs", tmp_path / "pairs.tsv", "--valid-pairs", tmp_path / "valid.tsv", *small_training(tmp_path)]
    start += ["train.checkpoint_every=1", "train.steps=3"]
    ok(capsys, "train", *start)
    newest = sorted((tmp_path / "out" / "checkpoints").glob("step-*"))[-1]
    weights = newest / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    assert "model.safetensors" in wrong(capsys, "translate", "x", "--model", newest)
    assert main(["train", *map(str, start)]) == 0
    errors = capsys.readouterr().err
    assert str(newest) in errors
    assert "continuing from step 2" in errors
    ok(capsys, "translate", "x", "--model", tmp_path / "out")


# --- the shortest way from Python ----------------------------------------------------------------------


def test_from_python(model: Path) -> None:
    loaded = headwise.load(model)
    assert isinstance(loaded, headwise.LoadedModel)
    assert loaded.tokenizer.decode(loaded.tokenizer.encode(SOURCES[0])) == SOURCES[0]
    for given in (str(model), model, loaded):
        results = headwise.Translator(given).translate(SOURCES[:2], source="en", target="de", beam=4)
        assert [result.text for result in results] == TARGETS[:2]
        first = results[0]
        assert first.score < 0
        assert "".join(first.tokens).replace("▁", " ").strip() == first.text
        assert all(s < len(SOURCES[0].split()) and t < len(first.text.split()) for s, t in first.alignment)
    with pytest.raises(headwise.HeadwiseError):
        headwise.load("nowhere")
