"""One door for all kinds of files; whatever comes through it, an error is a CheckpointError."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwise.errors import CheckpointError
from headwise.models.published.formats.foreign import read_foreign
from headwise.models.published.formats.huggingface import write_folder
from headwise.models.published.formats.value import Foreign
from tests.models.published.formats.foreign_files import llama, llama_gguf

TENSORS = llama()


def whole(read: Foreign) -> bool:
    return read.tensors.keys() == TENSORS.keys() and all(
        torch.equal(read.tensors[name], tensor) for name, tensor in TENSORS.items()
    )


def test_every_kind_is_told_by_what_it_is(tmp_path: Path) -> None:
    write_folder(tmp_path / "folder", {"model_type": "llama"}, TENSORS)
    (tmp_path / "one").mkdir()
    (tmp_path / "one/x.gguf").write_bytes(llama_gguf(TENSORS))
    (tmp_path / "renamed").write_bytes(llama_gguf(TENSORS))
    for name in ("folder", "one", "one/x.gguf", "renamed"):
        assert whole(read_foreign(tmp_path / name)), name


def test_a_config_beside_a_gguf_file_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(llama_gguf(TENSORS))
    (tmp_path / "config.json").write_text("{}")
    assert read_foreign(tmp_path).config["model_type"] == "llama"
    (tmp_path / "y.gguf").touch()
    with pytest.raises(CheckpointError, match=r"2 \.gguf files .*name one"):
        read_foreign(tmp_path)


def test_what_can_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("text")
    (tmp_path / "other.bin").write_bytes(b"other" * 100)
    (tmp_path / "nothing.bin").touch()
    for name in ("empty", "text.txt", "other.bin", "nothing.bin"):
        with pytest.raises(CheckpointError, match=rf"{name}: .*Hugging Face folder.*gguf"):
            read_foreign(tmp_path / name)
    with pytest.raises(CheckpointError, match="no such file"):
        read_foreign(tmp_path / "nowhere")


def pickled(folder: Path) -> bytes:
    torch.save(TENSORS, folder / "x")
    return (folder / "x").read_bytes()


def legacy(folder: Path) -> bytes:
    torch.save(TENSORS, folder / "x", _use_new_zipfile_serialization=False)
    return (folder / "x").read_bytes()


def safetensors(folder: Path) -> bytes:
    write_folder(folder, {}, TENSORS)
    return (folder / "model.safetensors").read_bytes()


def read_or_error(path: Path) -> Foreign | str:
    try:
        return read_foreign(path)
    except CheckpointError as error:
        return str(error)


FILES: dict[str, Callable[[Path], bytes]] = {
    "m.gguf": lambda folder: llama_gguf(TENSORS),
    "model.safetensors": safetensors,
    "pytorch_model.bin": pickled,
    "legacy/pytorch_model.bin": legacy,
}
CONTENT: dict[str, bytes] = {}


@pytest.mark.parametrize("name", FILES)
@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damage_gives_a_model_or_an_error_that_names_the_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Flipped bytes, overwritten numbers and cuts, mostly in the header: no other error, no endless loop."""
    folder = tmp_path_factory.getbasetemp() / f"damage-{name.replace('/', '-')}"
    folder.mkdir(exist_ok=True)
    if name not in CONTENT:
        (folder / "new").mkdir()
        CONTENT[name] = FILES[name](folder / "new")
    content = bytearray(CONTENT[name])
    places = st.one_of(
        st.integers(0, 1800), st.integers(0, len(content) - 1), st.integers(len(content) - 1500, len(content) - 1)
    )
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(places)
        new = data.draw(st.binary(min_size=1, max_size=8))
        content[place : place + len(new)] = new
    if data.draw(st.booleans()):
        del content[data.draw(places) :]
    path = folder / Path(name).name
    path.write_bytes(content)
    is_file = name.startswith("m.")
    if not is_file:
        (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    outcome = read_or_error(path if is_file else folder)
    if isinstance(outcome, str):
        assert str(folder) in outcome
    else:
        assert all(tensor.isfinite().numel() == tensor.numel() for tensor in outcome.tensors.values())
