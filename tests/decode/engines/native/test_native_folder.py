"""A folder in int8 is translated with by a process that never loads PyTorch, and that has its weights once."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from headwise.decode.engines.native import native_model
from headwise.decode.engines.native.library import supported, why_not
from headwise.decode.engines.native.native_folder import open_stored
from headwise.decode.translator import Translator
from headwise.errors import CheckpointError
from headwise.files.tensors import load_tensors, save_tensors
from headwise.models.folder.arrays import StoredArrays
from headwise.models.folder.load import convert, save_model
from headwise.recipe import override, replaced
from tests.taught import SHAPE, SOURCES, TARGETS, taught

needs_native = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    save_model(made / "whole", taught(shape=replaced(SHAPE, {"attention.heads": 2})))
    convert(made / "whole", made / "small", "headwise", precision="int8")
    return made


def ran(code: str, *arguments: str) -> list[str]:
    """The last line that a fresh interpreter printed is whether PyTorch was loaded."""
    script = f"import sys\n{code}\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


COMMAND = "from headwise.cli import main\nassert main(sys.argv[1:]) == 0"


@needs_native
class TestWithoutPyTorch:
    def test_the_command(self, folder: Path) -> None:
        model = ["--model", str(folder / "small")]
        assert ran(COMMAND, "translate", *model, *SOURCES[:3]) == [*TARGETS[:3], "False"]
        listed = ran(COMMAND, "translate", *model, "--candidates", "2", "--scores", "--prefix", "Die", SOURCES[0])
        assert len(listed) == 3
        assert listed[-1] == "False"

    def test_numbers_are_brought_back(self, folder: Path) -> None:
        found, loaded = ran(COMMAND, "translate", "--model", str(folder / "small"), f"{SOURCES[0]} 1985")
        assert "1985" in found
        assert loaded == "False"

    def test_from_file_to_file(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("\n".join(SOURCES))
        files = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
        assert ran(COMMAND, "translate", "--model", str(folder / "small"), *files) == ["False"]
        assert (tmp_path / "out").read_text().splitlines() == TARGETS

    def test_in_python(self, folder: Path) -> None:
        code = """
from headwise import Translator
translator = Translator(sys.argv[1])
found = translator.translate(sys.argv[2], alignments=True)
print(found.text)
assert found.alignment
"""
        assert ran(code, str(folder / "small"), SOURCES[0]) == [TARGETS[0], "False"]

    @pytest.mark.parametrize(
        "more", [["--engine", "plain"], ["--sample", "--temperature", "0.01"], ["--no-repeat", "9"]]
    )
    def test_what_needs_it_loads_it(self, folder: Path, more: list[str]) -> None:
        """The counter-test, and the same translations."""
        found = ran(COMMAND, "translate", "--model", str(folder / "small"), *more, SOURCES[0])
        assert found == [TARGETS[0], "True"]

    def test_the_model_is_built_when_it_is_asked_for(self, folder: Path) -> None:
        translator = Translator(folder / "small")
        assert "_served" not in vars(translator)
        translator.translate(SOURCES)
        assert "_served" not in vars(translator)
        assert translator.device == torch.device("cpu")
        assert not translator._on_gpu
        assert translator.model.pad == translator.tokenizer.pad

    def test_as_many_threads_as_pytorch_would_use(self) -> None:
        code = "from headwise.decode.engines.native.native_model import default_threads\nprint(default_threads())"
        wanted = ran("import torch\nprint(torch.get_num_threads())")[0]
        assert ran(code) == [wanted, "False"]

    def test_threads_as_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(native_model.sys, "modules", {})
        for told in ("5", "5,2"):
            monkeypatch.setenv("OMP_NUM_THREADS", told)
            assert native_model.default_threads() == 5


def test_what_has_to_be_built_is_not_opened(folder: Path, tmp_path: Path) -> None:
    assert open_stored(folder / "whole") is None
    assert open_stored(tmp_path / "nowhere") is None
    assert open_stored(tmp_path) is None
    narrow = tmp_path / "narrow"
    save_model(narrow, taught())
    convert(narrow, tmp_path / "small", "headwise", precision="int8")
    assert open_stored(tmp_path / "small") is None  # heads of eight numbers are too narrow for the engine


@needs_native
@pytest.mark.parametrize(
    "changes",
    [
        {"attention.heads": 0},
        {"attention.key_value_heads": 3},
        {"attention.key_value_heads": -1},
        {"shared_layers": 9},
        {"encoder.width": 16},
        {"positions.kind": "rotary", "positions.rotary.width": 4096},
    ],
    ids=str,
)
def test_sizes_of_no_model_never_reach_the_engine(changes: dict[str, object], folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "small", tmp_path / "small")
    described = json.loads((tmp_path / "small" / "config.json").read_text())
    del described["digest"]  # as in those from before there were any
    described["model"] = override(described["model"], changes)
    (tmp_path / "small" / "config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match=r"does not describe a valid model|damaged: model"):
        Translator(tmp_path / "small")


class TestArrays:
    def test_they_are_what_was_written(self, folder: Path) -> None:
        path = folder / "small" / "model.safetensors"
        arrays, tensors = StoredArrays(path), load_tensors(path)
        assert list(arrays) == sorted(tensors)
        assert len(arrays) == len(tensors)
        for name, tensor in tensors.items():
            assert np.array_equal(arrays[name], tensor.numpy())
            assert arrays[name].dtype == tensor.numpy().dtype
        assert "nothing" not in arrays
        assert arrays.get("nothing") is None

    def test_empty_ones_and_single_numbers(self, tmp_path: Path) -> None:
        tensors = {"none": torch.empty(0, 3), "one": torch.tensor(7.0), "row": torch.arange(5, dtype=torch.int8)}
        save_tensors(tmp_path / "file", tensors)
        arrays = StoredArrays(tmp_path / "file")
        assert {name: array.shape for name, array in arrays.items()} == {"none": (0, 3), "one": (), "row": (5,)}
        assert arrays["one"] == 7

    @pytest.mark.parametrize("where", ["length of the header", "shape", "name", "content"])
    def test_damage_is_found(self, where: str, tmp_path: Path) -> None:
        save_tensors(tmp_path / "file", {"row": torch.randn(5)})
        content = bytearray((tmp_path / "file").read_bytes())
        places = {"shape": content.index(b"[5]") + 1, "name": content.index(b"row"), "content": -1}
        content[places.get(where, 3)] ^= 1
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged"):
            StoredArrays(tmp_path / "file")

    def test_other_kinds_and_no_file_are_refused(self, tmp_path: Path) -> None:
        save_tensors(tmp_path / "file", {"row": torch.arange(5)})
        with pytest.raises(CheckpointError, match="type"):
            StoredArrays(tmp_path / "file")
        with pytest.raises(CheckpointError, match="missing"):
            StoredArrays(tmp_path / "nothing")

    def test_newer_formats_are_named(self, tmp_path: Path) -> None:
        header = json.dumps({"__metadata__": {"headwise": json.dumps({"format": 99})}}).encode()
        (tmp_path / "file").write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(CheckpointError, match="newer Headwise"):
            StoredArrays(tmp_path / "file")
