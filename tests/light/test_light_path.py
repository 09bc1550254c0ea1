"""Int8 translation runs with what `pip install headwise` installs; whatever needs an extra says so in one line."""

import json
from pathlib import Path

import pytest

import headwise
from headwise.models.folder.load import save_model
from tests.commands import lines_file
from tests.light.without_extras import light_command, light_distributions, light_python
from tests.taught import NATIVE, SOURCES, TARGETS, taught

TRAIN = "pip install 'headwise[train]'"
TORCH = f"needs PyTorch: {TRAIN}"
HEAVY = {"torch", "matplotlib", "sacrebleu", "pillow", "rich", "tokenizers", "ctranslate2", "tensorboard"}


@pytest.fixture(scope="module")
def float_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("float")
    save_model(folder, taught(shape=NATIVE))
    return folder


def test_the_dependencies_are_light() -> None:
    assert not light_distributions() & HEAVY
    assert {"numpy", "sentencepiece"} <= light_distributions()


def test_the_hook_refuses_what_extras_bring() -> None:
    """The counter-test: else this file would hold nothing."""
    for package in ("torch", "matplotlib.figure", "tokenizers"):
        result = light_python(f"import {package}")
        assert result.returncode == 1
        assert "ModuleNotFoundError" in result.stderr


@pytest.mark.parametrize("name", headwise.__all__)
def test_public_names_are_there_or_name_the_extra(name: str) -> None:
    code = f"""
import headwise
try:
    value = headwise.{name}
except headwise.HeadwiseError as error:
    assert isinstance(error, ImportError)
    print(error)
else:
    print("there")
"""
    result = light_python(code)
    assert result.returncode == 0, result.stderr
    needs_torch = name in {"Embedder", "Filler", "GenerateOptions", "Generator", "Labeller", "distill", "load"}
    expected = f"headwise.{name} {TORCH}" if needs_torch else "there"
    assert result.stdout.strip() == expected


def test_training_in_one_call_names_the_extra() -> None:
    result = light_python(
        "import headwise\n"
        "try:\n    headwise.train(pairs='x.tsv', source='en', target='de', out='m')\n"
        "except headwise.HeadwiseError as error:\n    print(error)"
    )
    assert result.stdout.strip() == f"headwise.train {TORCH}", result.stderr


def test_texts_are_translated(small_folder: Path) -> None:
    result = light_command("translate", "--model", small_folder, "--from", "en", "--to", "de", *SOURCES[:3])
    assert (result.returncode, result.stdout.splitlines()) == (0, TARGETS[:3]), result.stderr


def test_candidates_scores_and_alignments(small_folder: Path) -> None:
    options = ("--from", "en", "--to", "de", "--candidates", 2, "--json")
    result = light_command("translate", "--model", small_folder, *options, given=f"{SOURCES[0]}\n")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[0])
    assert found["text"] == TARGETS[0]
    assert found["alignment"]


def test_files_are_translated(small_folder: Path, tmp_path: Path) -> None:
    given, made = lines_file(tmp_path / "in.en", SOURCES), tmp_path / "out.de"
    for _ in range(2):  # the second call finds it complete
        result = light_command(
            "translate", "--model", small_folder, "--from", "en", "--to", "de", "--input", given, "--output", made
        )
        assert result.returncode == 0, result.stderr
    assert made.read_text(encoding="utf-8").splitlines() == TARGETS


def test_a_translator_from_python(small_folder: Path) -> None:
    code = """
import headwise
with headwise.Translator(sys.argv[1]) as translator:
    print(translator.translate(sys.argv[2], source="en", target="de"), translator.engine)
print(headwise.translate(sys.argv[2], model=sys.argv[1], source="en", to="de"))
print(headwise.detect("Guten Morgen").language)
"""
    result = light_python(code, small_folder, SOURCES[0])
    assert result.stdout.splitlines() == [f"{TARGETS[0]} int8", TARGETS[0], "de"], result.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--version"], f"headwise {headwise.__version__}"),
        (["models"], "your models folder"),
        (["detect", "Guten Morgen"], "de"),
        (["info"], "not installed"),
        (["completion", "bash"], "complete"),
        (["train", "--help"], "--pairs"),
    ],
)
def test_commands_that_need_no_extra(arguments: list[str], shown: str) -> None:
    result = light_command(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert shown in result.stdout


def test_facts_about_an_int8_model(small_folder: Path) -> None:
    result = light_command("info", small_folder, "--json")
    facts = json.loads(result.stdout)
    assert facts["weights"].startswith("int8")
    assert facts["parameters"] > 10_000


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (["train", "--pairs", "x.tsv", "--from", "en", "--to", "de", "--out", "m"], f"headwise train {TORCH}"),
        (["evaluate", "--model", "MODEL", "--pairs", "x.tsv"], f"headwise evaluate needs sacreBLEU: {TRAIN}"),
        (["score", "--model", "MODEL", "--pairs", "x.tsv"], f"the engine plain {TORCH}"),
        (["inspect", "--model", "MODEL", "Hello.", "--out", "x.png"], f"headwise inspect {TORCH}"),
        (["convert", "MODEL", "out"], f"headwise convert {TORCH}"),
        (["translate", "--model", "MODEL", "--to", "de", "--sample", "x"], f"sampling {TORCH}"),
        (["translate", "--model", "MODEL", "--to", "de", "--no-repeat", "2", "x"], TORCH),
        (["translate", "--model", "MODEL", "--to", "de", "--device", "cuda", "x"], f"the device cuda {TORCH}"),
        (["translate", "--model", "FLOAT", "x"], "not int8 (`headwise convert --precision int8` makes one"),
        (["info", "FLOAT"], f"headwise info {TORCH}"),
        (["tokenizer", "train", "FILE", "--out", "t", "--kind", "wordpiece"], "pip install 'headwise[tokenizers]'"),
    ],
)
def test_what_needs_an_extra_says_so_in_one_line(
    arguments: list[str], needs: str, small_folder: Path, float_folder: Path, tmp_path: Path
) -> None:
    file = lines_file(tmp_path / "text", SOURCES)
    places = {"MODEL": small_folder, "FLOAT": float_folder, "FILE": file}
    result = light_command(*(places.get(word, word) for word in arguments))
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("headwise: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert needs in result.stderr
    assert "pip install 'headwise[" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["translate", "--model", "FOLDER", "x"], "not a model folder"),
        (["info", "FOLDER"], "not a model folder"),
        (["translate", "--model", "MODEL", "--to", "de", "--engine", "fast", "x"], "no engine 'fast'"),
    ],
)
def test_a_mistake_is_named_although_pytorch_is_missing(
    arguments: list[str], says: str, small_folder: Path, tmp_path: Path
) -> None:
    places = {"MODEL": small_folder, "FOLDER": tmp_path}
    result = light_command(*(places.get(word, word) for word in arguments))
    assert (result.returncode, says in result.stderr) == (2, True), result.stderr


def test_translation_writes_no_file_and_opens_no_connection(small_folder: Path) -> None:
    """So it runs in a container whose file system is read-only, without a network."""
    code = """
import os
from headwise.decode.engines.native.library import supported
supported()  # in a checkout, the first call compiles it
seen = []
def note(event, arguments):
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event.startswith("socket.") or event in ("os.mkdir", "os.rename", "os.remove", "subprocess.Popen"):
        seen.append((event, *arguments))
sys.dont_write_bytecode = True
sys.addaudithook(note)
from headwise.cli import main
status = main(["translate", "--model", sys.argv[1], "--from", "en", "--to", "de", sys.argv[2]])
assert not seen, seen
with open(os.devnull, "w"):
    assert seen, "the hook sees nothing"
sys.exit(status)
"""
    result = light_python(code, small_folder, SOURCES[0])
    assert (result.returncode, result.stdout.strip()) == (0, TARGETS[0]), result.stderr
