"""A model is a folder: it comes back exactly, or an error says what is wrong with it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.config import TextConfig
from headwise.data.batch.stream import Position
from headwise.errors import CheckpointError
from headwise.files import tables
from headwise.files.tensors import save_tensors
from headwise.models.build import build
from headwise.models.folder.config_file import save_description
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import convert, load, read_float_model, read_model, save_model
from headwise.models.folder.run_layout import load_weights, step_folder
from headwise.models.folder.weights import check_weights, set_weights, weights_of
from headwise.recipe import override
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.checkpoint.checkpoint import write_checkpoint
from headwise.train.checkpoint.run_state import RunState
from headwise.train.step.averages import MovingAverage
from tests.shapes import VARIANTS, small
from tests.taught import taught

SHAPE = {"width": 16, "layers": 1, "attention.heads": 2, "feed_forward.hidden": 16}
TASK = Task((("en", "de"), ("de", "en")), tags=True, usual_tokens=40, max_tokens=77)


def tokenizer(kind: str = "bytes", text: str = "some words to learn") -> Tokenizer:
    return train_tokenizer(TextConfig(kind=kind, vocabulary=300), [text], ["de", "en"])


def new(**changes: object) -> LoadedModel:
    config, learned = small(**{**SHAPE, **changes}), tokenizer()
    return LoadedModel(build(config, learned.size, learned.pad), Description(config, learned, TASK))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", new())
    return tmp_path / "model"


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    edit(described)
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_comes_back_exactly(tmp_path: Path, name: str) -> None:
    config, learned = VARIANTS[name], tokenizer()
    saved = LoadedModel(build(config, learned.size, learned.pad), Description(config, learned, TASK))
    save_model(tmp_path, saved)
    loaded = load(tmp_path)
    assert (loaded.config, loaded.tokenizer, loaded.task) == (config, learned, TASK)
    before, after = weights_of(saved.model), weights_of(loaded.model)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], tensor) for name, tensor in after.items())
    assert not loaded.model.training
    source, target = torch.randint(4, learned.size, (2, 5)), torch.randint(4, learned.size, (2, 6))
    assert torch.equal(saved.model.eval()(source, target), loaded.model(source, target))


def test_weights_that_were_tied_are_tied_again(tmp_path: Path) -> None:
    save_model(tmp_path, new(tie="all"))
    model = load(tmp_path).model
    assert model.source_embedding.weight is model.target_embedding.weight is model.output_projection.weight


# --- runs and checkpoints ------------------------------------------------------------------------------


def save_step(run: Path, step: int, best_step: int, *, average: bool = False) -> LoadedModel:
    """A run's folder with one more checkpoint."""
    torch.manual_seed(step)
    loaded = new()
    run.mkdir(exist_ok=True)
    save_description(run, loaded.description)
    optimiser = torch.optim.AdamW(loaded.model.parameters())
    moving = MovingAverage(loaded.model, 0.5) if average else None
    if moving is not None:
        moving.weights = {name: tensor + 1 for name, tensor in moving.weights.items()}
    progress = RunState(step=step, position=Position(0, step), best_step=best_step, best_metric=1.0)
    write_checkpoint(step_folder(run, step), progress, loaded.model, optimiser, moving)
    return loaded


def is_model(folder: Path, expected: LoadedModel) -> bool:
    before, after = weights_of(expected.model), weights_of(load(folder).model)
    return before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_a_run_that_is_still_going_loads_as_its_best_so_far(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = save_step(run, 10, best_step=0)
    assert is_model(run, first), "nothing was validated yet: the newest"
    second = save_step(run, 20, best_step=20)
    third = save_step(run, 30, best_step=20)
    assert is_model(run, second)
    for step, expected in ((10, first), (20, second), (30, third)):
        assert is_model(run / "checkpoints" / f"step-{step:08d}", expected)
    finished = new()
    save_tensors(run / "model.safetensors", weights_of(finished.model))
    assert is_model(run, finished)


def test_a_checkpoint_loads_from_within_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = save_step(tmp_path / "run", 10, best_step=10)
    monkeypatch.chdir(tmp_path / "run" / "checkpoints" / "step-00000010")
    assert is_model(Path(), expected)


def test_a_checkpoint_with_a_moving_average_loads_as_the_average(tmp_path: Path) -> None:
    trained = save_step(tmp_path / "run", 10, best_step=10, average=True)
    loaded = load(tmp_path / "run" / "checkpoints" / "step-00000010")
    for name, tensor in weights_of(loaded.model).items():
        assert torch.equal(tensor, weights_of(trained.model)[name] + 1)


def test_a_checkpoint_that_lost_a_file_is_refused(tmp_path: Path) -> None:
    save_step(tmp_path / "run", 10, best_step=10, average=True)
    (tmp_path / "run" / "checkpoints" / "step-00000010" / "average.safetensors").unlink()
    for folder in (tmp_path / "run", tmp_path / "run" / "checkpoints" / "step-00000010"):
        with pytest.raises(CheckpointError, match=r"average\.safetensors is missing"):
            load(folder)


@pytest.mark.parametrize("state", ["{}", "[]", '{"best_step": "x"}', "{"])
def test_a_run_with_a_damaged_state_is_refused(tmp_path: Path, state: str) -> None:
    save_step(tmp_path / "run", 10, best_step=10)
    (tmp_path / "run" / "checkpoints" / "step-00000010" / "state.json").write_text(state)
    with pytest.raises(CheckpointError, match=r"state\.json: damaged"):
        load(tmp_path / "run")


def test_a_run_before_its_first_checkpoint_says_so(tmp_path: Path) -> None:
    loaded = new()
    save_description(tmp_path, loaded.description)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(CheckpointError, match="saved no checkpoint yet"):
        load(tmp_path)


# --- folders that are no models ------------------------------------------------------------------------


def test_what_is_no_model_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere: no such model folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"Nothing is downloaded: .*`hf download owner/name --local-dir name`"):
        load("owner/name")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="file: is a file, not a model folder"):
        load(str(tmp_path / "file"))
    with pytest.raises(CheckpointError, match=r"not a model folder \(it has no config\.json\)"):
        load(tmp_path)


def remove_model(described: dict[str, Any]) -> None:
    del described["model"]


def remove_vocabulary(described: dict[str, Any]) -> None:
    del described["vocabulary"]


def remove_directions(described: dict[str, Any]) -> None:
    del described["task"]["directions"]


EDITS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "newer": (lambda d: d.update(format=99), r"newer Headwise \(format 99.*upgrade"),
    "no format": (lambda d: d.pop("format"), "names no format"),
    "no model": (remove_model, "no table model"),
    "model no table": (lambda d: d.update(model=3), "no table model"),
    "no task": (lambda d: d.pop("task"), "no table task"),
    "no vocabulary": (remove_vocabulary, "tokenizer has .* tokens, the model None"),
    "other vocabulary": (lambda d: d.update(vocabulary=5), r"tokenizer has \d+ tokens, the model 5"),
    "no directions": (remove_directions, "damaged: .*directions"),
    "a lonely language": (lambda d: d["task"].update(directions=[["en"]]), "pairs of languages"),
    "no such head": (lambda d: d["task"].update(alignment_head=[0, 99]), r"no layer and head \[0, 99\]"),
    "half a head": (lambda d: d["task"].update(alignment_head=[0]), "no layer and head"),
    "unknown key": (lambda d: d["model"].update(depth=3), r"unknown key model\.depth"),
    "wrong type": (lambda d: d["model"].update(width="wide"), r"model\.width must be a whole number"),
    "unknown part": (lambda d: d["model"]["norm"].update(kind="none"), r"altered|unknown model\.norm"),
    "other width": (lambda d: d["model"].update(width=32), "altered"),
    "other heads": (lambda d: d["model"]["attention"].update(heads=4), "altered"),
    "other activation": (lambda d: d["model"]["feed_forward"].update(activation="gelu"), "altered"),
    "other languages": (lambda d: d["task"].update(directions=[["en", "fr"]]), "altered"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_altered_config_is_refused(folder: Path, name: str) -> None:
    edit, message = EDITS[name]
    change(folder, edit)
    with pytest.raises(CheckpointError, match=message) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("norm.kind", "none", r"does not describe a valid model: unknown model\.norm\.kind 'none'"),
        ("attention.heads", 3, "cannot be split into 3 heads"),
        ("width", 32, "has the shape"),
        ("layers", 2, r"do not match the config \(missing: decoder"),
        ("encoder", {"layers": 2}, r"do not match the config \(missing: encoder"),
        ("bias", False, r"do not match the config \(unexpected: "),
    ],
)
def test_a_config_that_was_written_for_other_weights_is_refused(
    folder: Path, key: str, value: object, message: str
) -> None:
    """Also where the config itself is well-formed."""

    def edit(described: dict[str, Any]) -> None:
        described["model"] = override(described["model"], {key: value})
        del described["digest"]

    change(folder, edit)
    with pytest.raises(CheckpointError, match=message):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff"])
def test_a_damaged_config_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        load(folder)


def test_a_tokenizer_of_another_run_is_refused(folder: Path) -> None:
    tokenizer("characters").save(folder)
    with pytest.raises(CheckpointError, match="they do not belong together"):
        load(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=rf"{name}.* missing"):
        load(folder)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_truncated_weights_are_refused(folder: Path, share: float) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match=r"model\.safetensors: truncated or damaged"):
        load(folder)


def test_altered_weights_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-100] ^= 4
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="does not match its digest"):
        load(folder)


def test_weights_of_a_newer_version_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = load_weights(folder)
    with monkeypatch.context() as newer:
        newer.setattr(tables, "FORMAT", 7)
        save_tensors(folder / "model.safetensors", tensors)
    with pytest.raises(CheckpointError, match=r"newer Headwise \(format 7"):
        load(folder)


def test_a_copied_folder_is_a_model(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    load(tmp_path / "copy")


def test_setting_weights_says_what_does_not_fit() -> None:
    model = new().model
    own = {name: tensor.detach().clone() for name, tensor in weights_of(model).items()}
    first = next(iter(own))
    with pytest.raises(CheckpointError, match=rf"here: .*missing: {first}"):
        set_weights(model, {name: tensor for name, tensor in own.items() if name != first}, "here")
    with pytest.raises(CheckpointError, match="unexpected: extra"):
        set_weights(model, {**own, "extra": torch.ones(1)}, "here")
    with pytest.raises(CheckpointError, match=rf"{first} has the shape \(1,\)"):
        set_weights(model, {**own, first: torch.ones(1)}, "here")
    assert all(torch.equal(own[name], tensor) for name, tensor in weights_of(model).items())


def test_an_int8_folder_as_the_model_that_it_was_made_from(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught(steps=0))
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    description, weights = read_float_model(tmp_path / "small")
    before, exact = read_float_model(tmp_path / "whole")
    assert description == before
    check_weights(description.empty("small"), weights, "small")
    for name, tensor in exact.items():
        step = tensor.abs().amax(-1, keepdim=True) / 127 if tensor.dim() > 1 else torch.zeros(())
        assert bool(((weights[name] - tensor).abs() <= 0.5001 * step).all()), name


def test_float_weights_stay_bit_for_bit(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught(steps=0))
    weights, same = read_float_model(tmp_path / "whole")[1], read_model(tmp_path / "whole")[1]
    assert all(torch.equal(weights[name], same[name]) for name in same)


def test_an_int8_folder_is_converted_to_float32_and_back(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught(steps=0))
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    convert(tmp_path / "small", tmp_path / "again", "headwise")
    convert(tmp_path / "again", tmp_path / "smaller", "headwise", precision="int8")
    first, second = (read_model(tmp_path / name, int8=True)[1] for name in ("small", "smaller"))
    assert {name for name, tensor in first.items() if tensor.dtype == torch.int8}
    for name, tensor in first.items():
        torch.testing.assert_close(second[name], tensor, rtol=1e-6, atol=0)
