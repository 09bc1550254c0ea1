"""A translator as ONNX graphs, run by onnxruntime: the same logits step by step, the same translations."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headwise.decode.translator import TranslateOptions, Translator
from headwise.errors import ConfigError
from headwise.models.folder.load import LoadedModel, Task, convert, load, save_model
from tests.commands import Capture
from tests.kinds import tokenizer
from tests.models.export.exporting import TEXTS, UNSEEN, example, exported, translated
from tests.shapes import VARIANTS, random_model, small
from tests.taught import SHAPE, SOURCES, TARGETS, taught

pytest.importorskip("onnx", reason="ONNX is an optional dependency (export)")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is an optional dependency (export)")

from headwise.models.export.onnx import check, write_translator  # noqa: E402

GREEDY = TranslateOptions(beam=1, alignments=False)
ODD = {f"odd-{kind}": small(width=21, heads=3, positions=kind) for kind in ("sinusoidal", "sinusoidal_halves")}
ODD |= {"odd-fairseq": small(width=21, heads=3, positions="sinusoidal_fairseq", position_offset=2)}
REFUSED = ["rotary-dynamic", "rotary-longrope"]
SHAPES = {name: config for name, config in {**VARIANTS, **ODD}.items() if name not in REFUSED}
CLOSE = {"float32": 1e-5, "float16": 2e-2, "int8": 2e-1}
"""How far logits may be off, as a share of the largest."""


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options)


def run(graph: Any, given: dict[str, Any]) -> dict[str, Any]:
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(names, given), strict=True))


def steps(folder: Path, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The logits [B, T, V] of a target, token by token."""
    encoder, decoder = session(folder / "encoder.onnx"), session(folder / "decoder.onnx")
    known = run(encoder, {"source": source})
    pasts = [value for value in decoder.get_inputs() if value.name.startswith("past_")]
    kind = known["cross_key_0"].dtype
    past = {value.name: np.zeros((len(source), value.shape[1], 0, value.shape[3]), kind) for value in pasts}
    logits = []
    for tokens in target.T:
        step = run(decoder, {"tokens": tokens, "source": source, **known, **past})
        past = {name.replace("present", "past"): value for name, value in step.items() if name != "logits"}
        logits.append(step["logits"])
    return np.stack(logits, 1)


@pytest.mark.parametrize("precision", CLOSE)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_computes_the_same(name: str, precision: str, tmp_path: Path) -> None:
    """Sources of several lengths in one batch; a target longer than a window, and than near relative positions."""
    words = tokenizer("unigram")
    torch.manual_seed(1)
    model = random_model(SHAPES[name], words.size, words.pad)
    write_translator(LoadedModel(model, words, SHAPES[name], Task((("en", "de"),))), tmp_path, precision)
    longest = 9 if name == "positions-from-two" else 14
    source = torch.randint(4, words.size, (3, 9))
    source[1, 5:] = source[2, 2:] = words.pad
    target = torch.randint(4, words.size, (3, longest))
    with torch.no_grad():
        expected = model(source, target).numpy()
    found = steps(tmp_path, source.numpy(), target.numpy())
    assert np.abs(found - expected).max() < CLOSE[precision] * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["unigram", "byte_bpe", "bytes"])
def test_its_program_translates_as_we_do(kind: str, tmp_path: Path) -> None:
    """All sentences, those it has learned and others, with our greedy search's limits."""
    loaded = taught(kind=kind, usual_tokens=200, max_tokens=200)
    folder = exported(loaded, tmp_path, "onnx")
    ours = [result.text for result in Translator(loaded, "cpu").translate(TEXTS, options=GREEDY)]
    assert translated(folder, TEXTS) == ours


@pytest.mark.parametrize("order", ["pre", "post"])
def test_quantised_it_still_translates(order: str, tmp_path: Path) -> None:
    loaded = taught(shape=dataclasses.replace(SHAPE, norm_order=order))
    sizes = []
    for precision, right in (("float32", 27), ("float16", 27), ("int8", 26)):
        folder = exported(loaded, tmp_path / precision, "onnx", precision)
        found = translated(folder, SOURCES)
        assert sum(one == other for one, other in zip(found, TARGETS, strict=True)) >= right
        sizes.append((folder / "weights.bin").stat().st_size)
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_shared_embedding_is_there_once(tmp_path: Path) -> None:
    for precision, size in (("float32", 4), ("float16", 2), ("int8", 1)):
        tied, apart = (taught(steps=0, shape=dataclasses.replace(SHAPE, tie=tie)) for tie in ("all", "none"))
        weights = [
            exported(m, tmp_path / precision / m.config.tie, "onnx", precision) / "weights.bin" for m in (tied, apart)
        ]
        more = weights[1].stat().st_size - weights[0].stat().st_size
        matrix = tied.description.rows * SHAPE.width * size
        assert 2 * matrix <= more < 2 * matrix + 8 * 4096


def test_languages_are_asked_for(tmp_path: Path) -> None:
    folder = exported(taught(both_directions=True), tmp_path, "onnx")
    assert translated(folder, SOURCES, "--to", "de") == TARGETS
    assert translated(folder, TARGETS, "--from", "de") == SOURCES


def test_a_published_model_with_tables_of_its_own(tmp_path: Path) -> None:
    save_model(tmp_path / "own", taught(shape=dataclasses.replace(SHAPE, norm_order="post")))
    convert(tmp_path / "own", tmp_path / "opus-en-de", "huggingface")
    published = load(tmp_path / "opus-en-de")
    folder = exported(published, tmp_path, "onnx")
    texts = [*SOURCES, *UNSEEN]
    ours = [result.text for result in Translator(published, "cpu").translate(texts, options=GREEDY)]
    assert translated(folder, texts) == ours


def test_the_opset_is_the_one_that_is_told(tmp_path: Path) -> None:
    import onnx

    folder = exported(taught(steps=0), tmp_path, "onnx")
    told = json.loads((folder / "translation.json").read_text())["opset"]
    for name in ("encoder.onnx", "decoder.onnx"):
        model = onnx.load(str(folder / name), load_external_data=False)
        assert [(each.domain, each.version) for each in model.opset_import] == [("", told)]
        onnx.checker.check_model(str(folder / name), full_check=True)


def test_refusals() -> None:
    for name in REFUSED:
        with pytest.raises(ConfigError, match=r"does not know such a model: rotary_scaling\.kind"):
            check(VARIANTS[name])
    with pytest.raises(ConfigError, match="stack = 'lstm'"):
        check(small(stack="lstm"))


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    exported(taught(), tmp_path, "onnx").rename(tmp_path / "graphs")
    monkeypatch.chdir(tmp_path)
    exec(compile(example(1), "docs/export.md", "exec"), {})
    assert capsys.readouterr().out == "Ein Hund isst das Haus.\n"
