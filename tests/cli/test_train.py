"""`headwise train`: what is meant is understood, and what cannot be meant is one line that helps."""

import json
from pathlib import Path

import pytest

from headwise.cli import main
from headwise.models.folder.load import save_model
from tests.commands import Capture, lines_file, ok, wrong
from tests.kinds import encoder
from tests.taught import SOURCES, TARGETS, taught

SHORT = [
    "--steps",
    2,
    "--device",
    "cpu",
    "--batch-tokens",
    128,
    "--set",
    "language.block=12",
    "train.validate_bleu=false",
    "train.log_every=1",
    "data.held_out=4",
]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--task", "causal_lm", "--pairs", "x"], "--pairs is for translation; for the task causal_lm give --text"),
        (["--task", "translation", "--text", "x"], "--text is for causal_lm and masked_lm; for the task translation"),
        (["--task", "images", "--images", "x", "--valid-labelled", "y"], "--labelled is for classify"),
        (
            ["--text", "x", "--preset", "bert"],
            "choose a causal_lm, such as the presets gpt_tiny, gpt, gpt2, llama, lstm_lm",
        ),
        (["--task", "masked_lm", "--text", "x", "--preset", "gpt"], "presets bert_tiny, bert, bert_base, roformer"),
        (["--pairs", "x", "--preset", "vit"], "presets tiny, small, base"),
        (["--images", "x", "--preset", "bert"], "presets vit, vit_base"),
        (["--text", "x", "--set", "text.sampling=0.1"], "text.sampling is for translation"),
        (["--images", "x", "--set", "text.sampling=0.1"], "text.sampling is for translation"),
    ],
)
def test_what_does_not_fit(arguments: list[str], says: str, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert says in wrong(capsys, "train", "--out", out, *arguments)
    assert not out.exists()


def test_text_for_an_encoder_is_masked(tmp_path: Path, capsys: Capture) -> None:
    save_model(tmp_path / "bert", encoder())
    text = lines_file(tmp_path / "text", SOURCES * 4)
    out = tmp_path / "out"
    ok(capsys, "train", "--init", tmp_path / "bert", "--text", text, "--out", out, *SHORT)
    assert json.loads((out / "recipe.json").read_text())["task"] == "masked_lm"
    assert json.loads((out / "scores.json").read_text())["validation set"]["accuracy"] <= 1


def test_a_begun_run_goes_on_by_its_folder(tmp_path: Path, capsys: Capture) -> None:
    save_model(tmp_path / "en-de", taught())
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{s}\t{t}" for s, t in zip(SOURCES, TARGETS, strict=True)])
    out = tmp_path / "out"
    start = ["--init", tmp_path / "en-de", "--pairs", pairs, "--from", "en", "--to", "fr", "--out", out]
    assert "no training data" in wrong(capsys, "train", "--out", out)
    assert main(["train", *map(str, [*start, *SHORT])]) == 0
    assert "translates en-de; en-fr is new to it" in capsys.readouterr().err
    ok(capsys, "train", "--out", out, "--steps", 4)
    saved = json.loads((out / "recipe.json").read_text())
    assert (saved["train"]["steps"], saved["train"]["batch_tokens"]) == (4, 128)
    assert (out / "checkpoints" / "step-00000004").is_dir()
    (out / "recipe.json").write_text("[]")
    assert "damaged" in wrong(capsys, "train", "--out", out)


def test_a_run_that_is_refused_leaves_no_folder(tmp_path: Path, capsys: Capture) -> None:
    pairs = lines_file(tmp_path / "pairs.tsv", [])
    out = tmp_path / "out"
    assert main(["train", "--pairs", pairs, "--from", "en", "--to", "de", "--out", str(out)]) == 2
    assert not out.exists()
