"""Commands on published multilingual folders: the model is told both languages that the command names."""

from pathlib import Path

import pytest

from headwise.cli import main
from headwise.text.published.hf_tokenizer import HfTokenizer
from tests.commands import Capture, lines_file, wrong

pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.models.published.test_read_folder import FAMILIES, write

SOURCES = [f"the sailor has {number} dogs" for number in ("no", "two", "three", "four", "five", "six")]
COMMANDS = {
    "translate": ["translate", *SOURCES, "--beam", "1", "--max-ratio", "0", "--model", "MODEL"],
    "evaluate": ["evaluate", "--pairs", "PAIRS", "--beam", "1", "--model", "MODEL"],
    "score": ["score", "--pairs", "PAIRS", "--model", "MODEL"],
    "back-translate": ["back-translate", "MODEL", "--text", "TEXT", "--beam", "1", "--out", "OUT.tsv"],
    "distill": [
        "distill",
        "MODEL",
        "--pairs",
        "PAIRS",
        "--beam",
        "1",
        "--preset",
        "tiny",
        "--steps",
        "1",
        "--out",
        "OUT",
    ],
}


@pytest.fixture(scope="module")
def nllb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write("nllb", tmp_path_factory.mktemp("published") / "nllb")


def arguments(command: str, model: Path, folder: Path) -> list[str]:
    files = {
        "MODEL": str(model),
        "PAIRS": lines_file(folder / "pairs.tsv", [f"{text}\tder Seemann {text[15:]}" for text in SOURCES]),
        "TEXT": lines_file(folder / "text", SOURCES),
        "OUT": str(folder / "out"),
        "OUT.tsv": str(folder / "out.tsv"),
    }
    return [files.get(word, word) for word in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_tells_the_model_both_languages(
    command: str, nllb: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, told = HfTokenizer.source_frame, set[tuple[str, str]]()

    def watched(self: HfTokenizer, source: str, target: str) -> tuple[list[int], list[int]]:
        told.add((source, target))
        return frame(self, source, target)

    monkeypatch.setattr(HfTokenizer, "source_frame", watched)
    languages = ["--from", FAMILIES["nllb"].source, "--to", FAMILIES["nllb"].target]
    code = main([*arguments(command, nllb, tmp_path), *languages])
    # A random teacher never ends a sentence: nothing is left to train a student on.
    assert code == 0 or (command, code) == ("distill", 2), capsys.readouterr().err
    assert told == {("eng_Latn", "deu_Latn")}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_leaves_the_source_language_out(command: str, nllb: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "--from" in wrong(capsys, *arguments(command, nllb, tmp_path), "--to", "deu_Latn")
