"""Hugging Face folders: read exactly, never executed, written so that others load them."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats.huggingface import read_folder, write_folder

CONFIG = {"model_type": "made_up", "architectures": ["MadeUp"], "hidden_size": 4, "name": "Grüße"}


def tensors() -> dict[str, Tensor]:
    return {
        "a": torch.randn(3, 4),
        "b.half": torch.randn(5).half(),
        "b.brain": torch.randn(2, 2).bfloat16(),
        "c.whole": torch.arange(6).reshape(2, 3),
        "d": torch.tensor(2.5),
    }


def same(found: Any, expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor), name


def described(folder: Path) -> Path:
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def refused(folder: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        read_folder(folder)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    content = {**tensors(), "turned": torch.randn(2, 3).T}
    write_folder(tmp_path / "model", CONFIG, content, {"eos_token_id": 2})
    read = read_folder(tmp_path / "model")
    same(read.tensors, content)
    assert (read.config, read.where, read.tokenizer) == (CONFIG, str(tmp_path / "model"), None)
    assert json.loads((tmp_path / "model/generation_config.json").read_text()) == {"eos_token_id": 2}
    with safe_open(tmp_path / "model" / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
    assert not list((tmp_path / "model").glob(".*"))


def test_weights_without_a_config_are_no_model(tmp_path: Path) -> None:
    save_file({"old": torch.ones(2)}, tmp_path / "model.safetensors")
    refused(tmp_path, r"config\.json: missing")


def test_safetensors_in_shards_come_back(tmp_path: Path) -> None:
    content = tensors()
    sharded(tmp_path, content)
    same(read_folder(tmp_path).tensors, content)


@pytest.mark.parametrize("archive", [True, False])
def test_a_pickle_of_tensors_comes_back(tmp_path: Path, archive: bool) -> None:
    content = tensors()
    named = {**content, "parameter": torch.nn.Parameter(content["a"]), "tied": content["a"]}
    torch.save(named, described(tmp_path) / "pytorch_model.bin", _use_new_zipfile_serialization=archive)
    read = read_folder(tmp_path).tensors
    same(read, {**content, "parameter": content["a"], "tied": content["a"]})
    assert not any(tensor.requires_grad for tensor in read.values())


def test_a_pickle_in_shards_comes_back(tmp_path: Path) -> None:
    content = tensors()
    files = {name: f"pytorch_model-{number:05d}-of-00005.bin" for number, name in enumerate(content, 1)}
    for name, file in files.items():
        torch.save({name: content[name]}, tmp_path / file)
    (described(tmp_path) / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": files}))
    same(read_folder(tmp_path).tensors, content)


class Attack:
    """Makes a folder when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("form", ["archive", "legacy", "bare"])
def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, form: str) -> None:
    content, path = {"a": torch.ones(2), "b": Attack(tmp_path / "trace")}, described(tmp_path) / "pytorch_model.bin"
    if form == "bare":
        path.write_bytes(pickle.dumps({"b": content["b"]}, protocol=2))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "archive")
    refused(tmp_path, "refused, because .* could run code: .*mkdir")
    assert not (tmp_path / "trace").exists()


def test_code_in_a_folder_is_not_touched(tmp_path: Path) -> None:
    write_folder(tmp_path, {**CONFIG, "auto_map": {"AutoModel": "modeling.Made"}}, tensors())
    (tmp_path / "modeling.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'trace')!r})\n")
    read_folder(tmp_path)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("content", [[torch.ones(2)], {"a": 1}, {1: torch.ones(2)}, {"a": {"b": torch.ones(2)}}])
def test_a_pickle_of_other_things_is_refused(tmp_path: Path, content: Any) -> None:
    torch.save(content, described(tmp_path) / "pytorch_model.bin")
    refused(tmp_path, r"pytorch_model\.bin: .* not (a tensor|named tensors)")


def test_a_tensor_larger_than_its_memory_is_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(1).expand(10**12)}, described(tmp_path) / "pytorch_model.bin")
    refused(tmp_path, "more than the file holds")


CONFIGS = {
    "not valid JSON": b"{",
    "not UTF-8|not valid JSON": b"\xff\xfe\xfa",
    "must be a JSON object": b"[1]",
    "nested too deeply|not valid JSON": b"[" * 100_000,
    "digits|not valid JSON": b'{"a": ' + b"1" * 10_000 + b"}",
}


@pytest.mark.parametrize("message", CONFIGS)
def test_a_config_that_is_none(tmp_path: Path, message: str) -> None:
    write_folder(tmp_path, CONFIG, tensors())
    (tmp_path / "config.json").write_bytes(CONFIGS[message])
    refused(tmp_path, rf"config\.json: .*({message})")


def test_a_folder_without_weights(tmp_path: Path) -> None:
    refused(described(tmp_path), "no weights: neither model.safetensors nor pytorch_model.bin")
    (tmp_path / "tf_model.h5").touch()
    refused(tmp_path, r"tf_model\.h5 cannot be read")
    refused(tmp_path / "nowhere", "no such folder")
    refused(tmp_path / "config.json", "a file, not a folder")


def sharded(folder: Path, content: dict[str, Tensor]) -> dict[str, Any]:
    """Write a folder of two shards; returns its index."""
    folder.mkdir(exist_ok=True)
    names = list(content)
    weight_map: dict[str, str] = {}
    for number, part in enumerate((names[:2], names[2:]), 1):
        file = f"model-{number:05d}-of-00002.safetensors"
        save_file({name: content[name] for name in part}, folder / file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (described(folder) / "model.safetensors.index.json").write_text(json.dumps(index))
    return index


@pytest.mark.parametrize(
    "name", ["../a.safetensors", "/etc/passwd", "..", ".", "", "x/y", "x\\y", "c:x", "a\0b", 3, None]
)
def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path, name: Any) -> None:
    index = sharded(tmp_path / "model", tensors())
    (tmp_path / "a.safetensors").write_bytes(next((tmp_path / "model").glob("*-00001-*.safetensors")).read_bytes())
    index["weight_map"]["a"] = name
    (tmp_path / "model/model.safetensors.index.json").write_text(json.dumps(index))
    refused(tmp_path / "model", "not a file in the same folder")


def test_index_and_shards_must_agree(tmp_path: Path) -> None:
    index, path = sharded(tmp_path, tensors()), tmp_path / "model.safetensors.index.json"
    listed = index["weight_map"]
    for wrong, message in (
        ({}, "no weight_map"),
        ({"weight_map": ["a"]}, "no weight_map"),
        ({"weight_map": {**listed, "z": listed["a"]}}, "missing: z"),
        ({"weight_map": {name: file for name, file in listed.items() if name != "a"}}, "unexpected: a"),
    ):
        path.write_text(json.dumps(wrong))
        refused(tmp_path, message)
    path.write_text(json.dumps(index))
    (tmp_path / listed["d"]).unlink()
    refused(tmp_path, f"{listed['d']} is missing")
