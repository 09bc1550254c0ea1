"""Tensors in several files: put together as they were, and refused if a part is missing or damaged."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.files.tensors import save_tensors
from headwise.models.folder.shards import has_tensors, load_whole, read_parts, save_shard
from headwise.train.checkpoint.sharded_state import fill

FILE = "model.safetensors"


def saved(folder: Path, size: int) -> dict[str, Tensor]:
    """A matrix of 5 rows, dealt out to `size` processes, and a number that the first one writes."""
    matrix, number = torch.arange(15.0).view(5, 3), torch.tensor(7.0)
    each = -(-5 // size)
    for rank in range(size):
        first = min(rank * each, 5)
        rows = matrix[first : first + each]
        parts = {f"a.weight@{first}": rows} if len(rows) else {}
        save_shard(folder, FILE, rank, size, parts | ({"scale": number} if rank == 0 else {}))
    return {"a.weight": matrix, "scale": number}


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_parts_are_put_together(tmp_path: Path, size: int) -> None:
    expected = saved(tmp_path, size)
    assert has_tensors(tmp_path, FILE)
    whole = load_whole(tmp_path, FILE)
    targets = {"a.weight": torch.zeros(5, 3), "scale": torch.zeros(())}
    fill(targets, tmp_path, FILE)
    for name, tensor in expected.items():
        assert torch.equal(whole[name], tensor)
        assert torch.equal(targets[name], tensor)


def test_a_single_file_is_read_the_same_way(tmp_path: Path) -> None:
    assert not has_tensors(tmp_path, FILE)
    save_tensors(tmp_path / FILE, {"a": torch.ones(2)})
    assert [(name, first) for name, first, _ in read_parts(tmp_path, FILE)] == [("a", None)]


def test_what_is_missing_damaged_or_of_another_model_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, 2)
    fitting = {"a.weight": torch.zeros(5, 3), "scale": torch.zeros(())}
    with pytest.raises(CheckpointError, match=r"missing: b"):
        fill({**fitting, "b": torch.zeros(1)}, tmp_path, FILE)
    with pytest.raises(CheckpointError, match=r"unexpected: scale"):
        fill({"a.weight": fitting["a.weight"]}, tmp_path, FILE)
    with pytest.raises(CheckpointError, match=r"a\.weight has the shape"):
        fill({**fitting, "a.weight": torch.zeros(5, 4)}, tmp_path, FILE)
    part = tmp_path / "model-00002-of-00002.safetensors"
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    part.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"00002-of-00002.*digest"):
        load_whole(tmp_path, FILE)
    part.unlink()
    with pytest.raises(CheckpointError, match=r"missing"):
        load_whole(tmp_path, FILE)
