"""The commands for models that do not translate: texts, a file or a pipe in; the wrong model or text is one line."""

import copy
import dataclasses
import json
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from headwise.cli import main
from headwise.decode.embedder import Embedder
from headwise.decode.filler import Filler
from headwise.decode.generator import GenerateOptions, Generator
from headwise.decode.labeller import Labeller
from headwise.models.folder.description import COMMANDS, LoadedModel
from headwise.models.folder.load import load, save_model
from headwise.models.folder.weights import weights_of
from headwise.recipe import replaced
from tests.commands import Capture, contents, lines_file, ok, wrong
from tests.kinds import BERT, GPT, LABELS, LLAMA, classifier, encoder, language_model, picture, remembering, seer
from tests.taught import SHAPE, SOURCES, TARGETS, taught

MARIAN = replaced(SHAPE, {"norm.order": "post", "positions.kind": "sinusoidal_halves", "output.bias": True})
MODELS: dict[str, Callable[[], LoadedModel]] = {
    "translation": lambda: taught(kind="byte_bpe", shape=MARIAN),
    "causal_lm": remembering,
    "masked_lm": encoder,
    "classify": classifier,
    "images": seer,
    "embed": lambda: encoder(head=False),
}
"""Of every kind one, each of a shape that has been published."""

USES = {
    "translate": {"translation"},
    "generate": {"causal_lm"},
    "fill": {"masked_lm"},
    "embed": {"translation", "causal_lm", "masked_lm", "classify", "embed"},
    "classify": {"classify"},
}
TEXTS = ["A dog", "The cat eats", "My sister ___ the house."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Their folders, by kind. Read only."""
    home = tmp_path_factory.mktemp("models")
    for kind, make in MODELS.items():
        save_model(home / kind, make())
    return {kind: home / kind for kind in MODELS}


def records(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


# --- what all of them have in common -------------------------------------------------------------------


TEXT_OF = {"generate": "A dog", "fill": "A ___ dog", "embed": "A dog", "classify": "A dog"}
MODEL_OF = {"generate": "causal_lm", "fill": "masked_lm", "embed": "masked_lm", "classify": "classify"}
every_command = pytest.mark.parametrize("command", MODEL_OF)


@every_command
def test_texts_a_file_and_an_output_agree(
    command: str, models: dict[str, Path], tmp_path: Path, capsys: Capture
) -> None:
    texts = [TEXT_OF[command], f"{TEXT_OF[command]} sees", TEXT_OF[command]]
    start = [command, "--model", models[MODEL_OF[command]], "--json"]
    expected = ok(capsys, *start, *texts)
    assert len(expected.splitlines()) == 3
    plain = Path(lines_file(tmp_path / "in", texts))
    packed = tmp_path / "in.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert ok(capsys, *start, "--input", plain) == expected
    out = tmp_path / "out"
    assert ok(capsys, *start, "--input", packed, "--output", out) == ""
    assert out.read_text(encoding="utf-8") == expected
    assert "is the input" in wrong(capsys, *start, "--input", out, "--output", out)
    assert "not both" in wrong(capsys, *start, "text", "--input", plain)
    assert "no such file" in wrong(capsys, *start, "--input", tmp_path / "nowhere")


@contextmanager
def standard_input(path: Path) -> Iterator[None]:
    """As a shell's `<` does it, for this process."""
    saved = os.dup(0)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)


@every_command
def test_a_pipe(
    command: str, models: dict[str, Path], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = [command, "--model", models[MODEL_OF[command]]]
    lines = [TEXT_OF[command], f"{TEXT_OF[command]} sees"]
    expected = ok(capsys, *start, *lines)
    with standard_input(Path(lines_file(tmp_path / "in", lines))):
        assert ok(capsys, *start) == expected
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert "nothing to" in wrong(capsys, *start)


@pytest.mark.parametrize(
    ("command", "kind"), [(command, kind) for command in USES for kind in MODELS if kind not in USES[command]]
)
def test_a_model_of_another_kind(
    command: str, kind: str, models: dict[str, Path], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    said = wrong(capsys, command, "--model", models[kind], "A ___ dog", "--output", out)
    if command in ("translate", "generate"):
        assert str(models[kind]) in said
        assert COMMANDS[kind] in said
    assert out.read_text() == "precious"


@pytest.mark.parametrize("command", [*MODEL_OF, "translate"])
def test_a_model_without_a_tokenizer(command: str, tmp_path: Path, capsys: Capture) -> None:
    kind = MODEL_OF.get(command, "translation")
    loaded = MODELS[kind]()
    rows = loaded.tokenizer.size if loaded.tokenizer else 0
    bare = replace(loaded.description, tokenizer=None, vocabulary=rows)
    save_model(tmp_path / "bare", replace(loaded, description=bare))
    assert "no tokenizer" in wrong(capsys, command, "--model", tmp_path / "bare", "A ___ dog")
    assert json.loads(ok(capsys, "info", tmp_path / "bare", "--json"))["tokenizer"] == "(none)"


@pytest.mark.parametrize("kind", MODELS)
def test_info_of_every_kind(kind: str, models: dict[str, Path], capsys: Capture) -> None:
    facts = json.loads(ok(capsys, "info", models[kind], "--json"))
    assert (facts["task"], facts["family"]) == (kind, MODELS[kind]().config.family)
    assert facts["parameters"] == sum(parameter.numel() for parameter in MODELS[kind]().model.parameters())
    assert facts.get("labels") == (", ".join(LABELS) if kind in ("classify", "images") else None)


def test_info_shows_the_figures_of_every_task(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    save_model(tmp_path / "model", encoder())
    scores = {
        "test": {"examples": 1234, "accuracy": 0.87654, "f1": None, "signature": "long"},
        "validation set": {"tokens": 9, "loss": 12.3456, "bits_per_character": 1.5},
    }
    (tmp_path / "model" / "scores.json").write_text(json.dumps(scores))
    facts = json.loads(ok(capsys, "info", tmp_path / "model", "--json"))
    assert facts["test"] == "accuracy 87.65 %, 1,234 examples"
    assert facts["validation set"] == "loss 12.35, bits per character 1.5000, 9 tokens"
    (tmp_path / "model" / "scores.json").write_text('{"test": 3}')
    assert "scores.json: damaged" in wrong(capsys, "info", tmp_path / "model")


# --- generate ------------------------------------------------------------------------------------------


def test_generate(models: dict[str, Path], capsys: Capture) -> None:
    start = ["generate", "--model", models["causal_lm"]]
    generator = Generator(models["causal_lm"])
    expected = [prompt + generator.generate(prompt).text for prompt in TEXTS[:2]]
    assert set(expected) <= set(SOURCES)
    assert ok(capsys, *start, *TEXTS[:2]).splitlines() == expected
    assert ok(capsys, *start, TEXTS[0]) == f"{expected[0]}\n"  # shown while it is written
    (record,) = records(ok(capsys, *start, "--json", TEXTS[0]))
    assert record["prompt"] == TEXTS[0]
    assert TEXTS[0] + str(record["text"]) == expected[0]
    assert record["finished"] is True
    (cut,) = records(ok(capsys, *start, "--json", "--max-tokens", 1, TEXTS[0]))
    assert cut["finished"] is False
    greedy = generator.generate("A", options=GenerateOptions(beam=3, candidates=3))
    lines = ok(capsys, *start, "--beam", 3, "--candidates", 3, "A", "A").splitlines()
    assert lines == [f"{number}\tA{each.text}" for number in (1, 2) for each in greedy.candidates]


def test_a_screen_is_not_filled_with_blank_lines(tmp_path: Path, capsys: Capture) -> None:
    """A model that has hardly been trained generates the most frequent character again and again."""
    loaded = copy.deepcopy(language_model(replaced(GPT, {"output.bias": True})))
    assert loaded.tokenizer is not None
    (line_break,) = loaded.tokenizer.encode("\n")
    bias = dict(loaded.model.named_parameters())["output_projection.bias"]
    bias.data[line_break] = 1000
    save_model(tmp_path / "gpt", loaded)
    start = ["generate", "--model", str(tmp_path / "gpt"), "--max-tokens", "9"]
    for texts in (["A dog"], ["A dog", "A cat"]):
        assert main([*start, *texts]) == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines() == texts
        assert f"only white space was generated for {len(texts)} text" in printed.err
    assert records(ok(capsys, *start, "A dog", "--json"))[0]["text"] == "\n" * 9


def test_generate_at_random(models: dict[str, Path], capsys: Capture) -> None:
    start = ["generate", "--model", models["causal_lm"], "--sample", "--temperature", 3, "--max-tokens", 8, "The"]
    assert ok(capsys, *start, "--seed", 1) == ok(capsys, *start, "--seed", 1) != ok(capsys, *start, "--seed", 2)
    assert len(ok(capsys, *start, "--candidates", 3, "--top-k", 50, "--top-p", 0.9).splitlines()) == 3
    drawn = ok(capsys, *start, "--top-k", 50, "--seed", 3)
    assert ok(capsys, *[word for word in start if word != "--sample"], "--top-k", 50, "--seed", 3) == drawn
    assert "leave out --sample" in wrong(capsys, *start, "--temperature", 0)
    for mistake in (["--temperature", 0], ["--top-p", 2], ["--seed", -1], ["--no-repeat", -1]):
        wrong(capsys, *start, *mistake)


# --- fill ----------------------------------------------------------------------------------------------


def test_fill(models: dict[str, Path], capsys: Capture) -> None:
    text = "A ___ sees the ___"
    start = ["fill", "--model", models["masked_lm"], "--top", 3]
    blanks = Filler(models["masked_lm"]).fill(text, top=3)
    shown = [[line.split("\t") for line in blank.splitlines()] for blank in ok(capsys, *start, text).split("\n\n")]
    assert shown.pop() == []
    assert shown == [[[f"{c.probability:.4f}", c.token, c.text] for c in blank] for blank in blanks]
    (record,) = records(ok(capsys, *start, "--json", text))
    assert record == {"text": text, "blanks": [[dataclasses.asdict(each) for each in blank] for blank in blanks]}
    assert "text 1: there is no blank (___) in 'A dog'" in wrong(capsys, *start, "A dog")
    assert "too long" in wrong(capsys, *start, "___ " + "fish " * 99)


def test_fill_line_by_line(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    start = ["fill", "--model", models["masked_lm"], "--top", 1]
    lines = ["A ___", "", "The ___"]
    expected = ok(capsys, *start, lines[0]) + "\n" + ok(capsys, *start, lines[2])
    assert ok(capsys, *start, "--input", lines_file(tmp_path / "in", lines)) == expected
    found = records(ok(capsys, *start, "--json", "--input", tmp_path / "in"))
    assert [len(each["blanks"]) for each in found] == [1, 0, 1]  # type: ignore[arg-type]
    assert main([*map(str, start), "--input", lines_file(tmp_path / "in", [*lines, "no blank", "A ___"])]) == 2
    captured = capsys.readouterr()
    assert captured.out == expected
    assert captured.err.startswith("headwise: line 4: there is no blank")
    assert main([*map(str, start), "A ___ 龍", "A ___"]) == 0
    assert capsys.readouterr().err == "headwise: text 1: has words that the model does not know\n"


# --- embed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(USES["embed"]))
def test_embed(kind: str, models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    start = ["embed", "--model", models[kind]]
    expected = Embedder(models[kind]).embed(TEXTS)
    shown = [[float(value) for value in line.split("\t")] for line in ok(capsys, *start, *TEXTS).splitlines()]
    torch.testing.assert_close(torch.tensor(shown), expected, atol=1e-6, rtol=1e-5)
    found = records(ok(capsys, *start, *TEXTS, "--json", "--pooling", "first", "--raw"))
    assert [each["text"] for each in found] == TEXTS
    raw = Embedder(models[kind]).embed(TEXTS, "first", normalise=False)
    torch.testing.assert_close(torch.tensor([each["vector"] for each in found]), raw)
    out = tmp_path / "vectors.npy"
    ok(capsys, *start, *TEXTS, "--output", out)
    np.testing.assert_array_equal(np.load(out), expected.numpy())
    cosines = np.loadtxt(ok(capsys, *start, *TEXTS, "--similarity").splitlines())
    np.testing.assert_allclose(cosines, (expected @ expected.T).numpy(), atol=1e-4)
    ok(capsys, *start, *TEXTS, "--similarity", "--output", out)
    np.testing.assert_allclose(np.load(out), cosines, atol=1e-4)


def test_embed_into_an_array(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    start = ["embed", "--model", models["embed"]]
    empty, out = lines_file(tmp_path / "empty", []), tmp_path / "vectors.npy"
    ok(capsys, *start, "--input", empty, "--output", out)
    assert np.load(out).shape == (0, BERT.width)
    assert "exclude each other" in wrong(capsys, *start, "a", "--json", "--output", out)
    assert "vectors.npy" in wrong(capsys, *start, "a", "--output", tmp_path / "no" / "vectors.npy")


# --- classify ------------------------------------------------------------------------------------------


def test_classify(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    start = ["classify", "--model", models["classify"]]
    expected = Labeller(models["classify"]).classify(TEXTS)
    lines = [line.split("\t") for line in ok(capsys, *start, *TEXTS).splitlines()]
    assert lines == [[each.label, f"{each.score:.4f}", text] for each, text in zip(expected, TEXTS, strict=True)]
    found = records(ok(capsys, *start, "--json", *TEXTS))
    assert [each["probabilities"] for each in found] == [each.probabilities for each in expected]
    pairs = [("A dog", "The cat"), ("The cat", "A dog")]
    file = lines_file(tmp_path / "pairs.tsv", ["\t".join(pair) for pair in pairs])
    of_pairs = Labeller(models["classify"]).classify(*map(list, zip(*pairs, strict=True)))
    found = records(ok(capsys, *start, "--pairs", "--input", file, "--json"))
    assert [each["probabilities"] for each in found] == [each.probabilities for each in of_pairs]
    assert "a pair is two texts" in wrong(capsys, *start, "--pairs", "only one")


def test_classify_pictures(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    red, blue = picture(tmp_path / "red.png", (255, 0, 0)), picture(tmp_path / "blue.png", (0, 0, 255))
    start = ["classify", "--model", models["images"], "--images"]
    lines = [line.split("\t") for line in ok(capsys, *start, red, blue).splitlines()]
    assert [line[2] for line in lines] == [red, blue]
    assert all(line[0] in LABELS for line in lines)
    found = records(ok(capsys, *start, red, "--json"))
    assert found[0]["label"] == lines[0][0]
    broken = lines_file(tmp_path / "broken.png", ["no picture"])
    assert "cannot be read as an image" in wrong(capsys, *start, red, broken)
    assert "nowhere.png: no such file" in wrong(capsys, *start, tmp_path / "nowhere.png")
    assert "classifies texts" in wrong(capsys, "classify", "--model", models["classify"], "--images", red)
    assert "classifies images" in wrong(capsys, "classify", "--model", models["images"], "A dog")


# --- convert -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_out_and_back(kind: str, models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    """Through the files of `transformers` and again through ours: the same weights, and the same task."""
    theirs, ours = tmp_path / "theirs-en-de", tmp_path / "ours"
    assert str(theirs) in ok(capsys, "convert", models[kind], theirs, "--to", "huggingface")
    assert "format" not in json.loads((theirs / "config.json").read_text())
    ok(capsys, "convert", theirs, ours)
    original, straight, again = load(models[kind]), load(theirs), load(ours)
    expected = weights_of(original.model)
    for found in (straight, again):
        weights = weights_of(found.model)
        assert weights.keys() == expected.keys()
        assert all(torch.equal(weights[name], expected[name]) for name in expected)
        for fact in ("kind", "directions", "labels", "regression", "image_mean", "image_std"):
            assert getattr(found.task, fact) == getattr(original.task, fact), fact
        if original.tokenizer is not None:
            assert found.tokenizer is not None
            for text in (*TEXTS, *SOURCES):
                assert found.tokenizer.encode(text) == original.tokenizer.encode(text)
    ok(capsys, "convert", ours, tmp_path / "third")  # ours to ours: a copy
    assert (tmp_path / "third" / "config.json").read_bytes() == (ours / "config.json").read_bytes()


def test_a_published_folder_translates_as_it_is(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs = tmp_path / "opus-en-de"
    ok(capsys, "convert", models["translation"], theirs, "--to", "huggingface")
    assert ok(capsys, "translate", "--model", theirs, *SOURCES[:3]).splitlines() == TARGETS[:3]
    assert ok(capsys, "translate", "--model", theirs, "--from", "en", "--to", "de", SOURCES[5]) == f"{TARGETS[5]}\n"
    facts = json.loads(ok(capsys, "info", theirs, "--json"))
    assert (facts["directions"], facts["published as"]) == ("en-de", "marian")


def test_other_published_folders_work_as_they_are(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    for command, kind in MODEL_OF.items():
        theirs = tmp_path / kind
        if not theirs.exists():
            ok(capsys, "convert", models[kind], theirs, "--to", "huggingface")
        expected = ok(capsys, command, "--model", models[kind], TEXT_OF[command])
        assert ok(capsys, command, "--model", theirs, TEXT_OF[command]) == expected


def test_convert_keeps_what_is_there(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "notes").write_text("precious")
    file = tmp_path / "file"
    file.write_text("precious")
    for to in ("headwise", "huggingface"):
        for place in (target, file, models["masked_lm"]):
            before = place.read_bytes() if place.is_file() else contents(place)
            assert "exists already" in wrong(capsys, "convert", models["causal_lm"], place, "--to", to)
            assert (place.read_bytes() if place.is_file() else contents(place)) == before
    (tmp_path / "empty").mkdir()
    ok(capsys, "convert", models["causal_lm"], tmp_path / "empty")


def garbage(folder: Path) -> dict[str, Path]:
    """What is no model, by what is wrong with it."""
    made = {name: folder / name for name in ("empty", "unknown", "no-weights", "odd.bin", "odd.gguf", "text.txt")}
    for name in ("empty", "unknown", "no-weights"):
        made[name].mkdir()
    (made["unknown"] / "config.json").write_text('{"architectures": ["Perceptron"], "model_type": "perceptron"}')
    (made["no-weights"] / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}')
    for name in ("unknown",):
        (made[name] / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    for name in ("odd.bin", "odd.gguf", "text.txt"):
        made[name].write_bytes(b"garbage" * 9)
    return {**made, "nowhere": folder / "nowhere"}


def test_garbage_is_refused(tmp_path: Path, capsys: Capture) -> None:
    for name, path in garbage(tmp_path).items():
        said = wrong(capsys, "convert", path, tmp_path / "out")
        assert str(path) in said, name
        assert not (tmp_path / "out").exists()


def test_a_damaged_published_model_is_refused(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs = tmp_path / "theirs"
    ok(capsys, "convert", models["masked_lm"], theirs, "--to", "huggingface")
    weights, config = theirs / "model.safetensors", theirs / "config.json"
    whole, described = weights.read_bytes(), json.loads(config.read_text())
    weights.write_bytes(whole[:-50])
    assert "model.safetensors" in wrong(capsys, "convert", theirs, tmp_path / "out")
    weights.write_bytes(whole)
    for change in ({"num_hidden_layers": 1}, {"num_hidden_layers": 9}, {"hidden_size": 48}, {"vocab_size": 9}):
        config.write_text(json.dumps({**described, **change}))
        assert str(theirs) in wrong(capsys, "fill", "--model", theirs, "A ___")
    assert not (tmp_path / "out").exists()


def test_what_pictures_are_normalised_with_is_read(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs = tmp_path / "theirs"
    ok(capsys, "convert", models["images"], theirs, "--to", "huggingface")
    file = theirs / "preprocessor_config.json"
    for content in ('{"image_mean": [0.5]}', '{"image_std": "high"}', '{"image_mean": [0.1, 0.2, "x"]}', "[]", "{"):
        file.write_text(content)
        assert str(file) in wrong(capsys, "info", theirs)
    file.unlink()
    assert load(theirs).task.image_mean == load(theirs).task.image_std == (0.5, 0.5, 0.5)


def test_a_model_that_nobody_has_published(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    """Neither its shape, nor its tokenizer; and nothing is left behind."""
    out = tmp_path / "out"
    save_model(tmp_path / "shape", taught(shape=replaced(SHAPE, {"positions.kind": "rotary"}), steps=0))
    start = ["convert", tmp_path / "shape", out, "--to", "huggingface"]
    assert "no published family fits this model" in wrong(capsys, *start)
    save_model(tmp_path / "words", taught(kind="words", shape=MARIAN, steps=0))
    assert "no published form" in wrong(capsys, "convert", tmp_path / "words", out, "--to", "huggingface")
    start = ["convert", models["causal_lm"], out, "--to", "huggingface", "--as"]
    assert "there are:" in wrong(capsys, *start, "perceptron")
    assert "cannot be written as bert" in wrong(capsys, *start, "bert")
    assert not out.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": "wide"},
        {"num_hidden_layers": [2]},
        {"vocab_size": "many"},
        {"id2label": {"first": "good"}},
        {"id2label": {"0": 1, "1": 2, "2": 3}},
        {"pad_token_id": "none"},
    ],
    ids=str,
)
def test_a_config_with_a_value_of_the_wrong_type(
    change: dict[str, object], models: dict[str, Path], tmp_path: Path, capsys: Capture
) -> None:
    theirs = tmp_path / "theirs"
    ok(capsys, "convert", models["classify"], theirs, "--to", "huggingface")
    config = json.loads((theirs / "config.json").read_text())
    (theirs / "config.json").write_text(json.dumps({**config, **change}))
    assert "its config has an invalid value" in wrong(capsys, "info", theirs)


def test_the_tokenizer_of_a_published_folder(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs, text = tmp_path / "theirs", lines_file(tmp_path / "text", TEXTS)
    ok(capsys, "convert", models["causal_lm"], theirs, "--to", "huggingface")
    for verb in ("encode", "decode"):
        said = ok(capsys, "tokenizer", verb, "--model", theirs, "--input", text)
        assert said == ok(capsys, "tokenizer", verb, "--model", models["causal_lm"], "--input", text)
        text = lines_file(tmp_path / "pieces", said.splitlines())
    assert "published (library), " in ok(capsys, "info", theirs)


def test_several_ends_are_kept(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs, ours, again = tmp_path / "theirs", tmp_path / "ours", tmp_path / "again"
    ok(capsys, "convert", models["causal_lm"], theirs, "--to", "huggingface")
    (theirs / "generation_config.json").write_text('{"eos_token_id": [2, 7]}')
    ok(capsys, "convert", theirs, ours)
    ok(capsys, "convert", ours, again, "--to", "huggingface")
    for folder in (theirs, ours, again):
        ids = load(folder).description.ids
        assert ids is not None
        assert ids.ends == (2, 7)
        assert Generator(folder).served.other_ends == (7,)


def test_which_of_several_families(tmp_path: Path, capsys: Capture) -> None:
    save_model(tmp_path / "model", language_model(LLAMA))
    for name in ("llama", "mistral"):
        ok(capsys, "convert", tmp_path / "model", tmp_path / name, "--to", "huggingface", "--as", name)
        assert json.loads((tmp_path / name / "config.json").read_text())["model_type"] == name


def test_a_shape_that_does_not_fit_is_not_converted(models: dict[str, Path], tmp_path: Path, capsys: Capture) -> None:
    theirs = tmp_path / "theirs"
    ok(capsys, "convert", models["causal_lm"], theirs, "--to", "huggingface")
    tensors = load_file(theirs / "model.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.dim() == 1)
    save_file({**tensors, name: torch.cat((tensors[name], tensors[name]))}, theirs / "model.safetensors")
    assert "has the shape" in wrong(capsys, "convert", theirs, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_regression_comes_back_as_one(tmp_path: Path, capsys: Capture) -> None:
    loaded = classifier(regression=True)
    save_model(tmp_path / "ours", loaded)
    ok(capsys, "convert", tmp_path / "ours", tmp_path / "theirs", "--to", "huggingface")
    config = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert (config["problem_type"], list(config["id2label"])) == ("regression", ["0"])
    text = "A dog"
    expected = ok(capsys, "classify", "--model", tmp_path / "ours", text)
    assert ok(capsys, "classify", "--model", tmp_path / "theirs", text) == expected
