"""Checkpoints of llama2.c come back as the Llama they were made of."""

import struct
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats import read_llama2c
from headwise.models.published.formats.value import rotate_halves
from tests.models.published.formats.foreign_files import LLAMA, llama, llama2c, neighbours


@pytest.mark.parametrize("tied", [False, True])
def test_a_llama_comes_back(tmp_path: Path, tied: bool) -> None:
    tensors = llama(tied)
    (tmp_path / "model.bin").write_bytes(llama2c(tensors))
    read = read_llama2c(tmp_path / "model.bin")
    assert read.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(read.tensors[name], tensor), name
    assert read.tokenizer is None
    assert read.config["tie_word_embeddings"] is tied
    assert read.config["vocab_size"] == LLAMA["vocabulary"]
    assert read.config["num_key_value_heads"] == LLAMA["groups"]
    assert (read.config["rms_norm_eps"], read.config["rope_theta"]) == (1e-5, 10000.0)


def test_the_tokenizer_comes_along(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(llama2c(llama()))
    (tmp_path / "words").write_bytes(b"some bytes")
    assert read_llama2c(tmp_path / "model.bin", tmp_path / "words").tokenizer == {
        "kind": "llama2c",
        "data": b"some bytes",
    }
    with pytest.raises(CheckpointError, match="nowhere"):
        read_llama2c(tmp_path / "model.bin", tmp_path / "nowhere")


def rotated(vector: Tensor, angles: Tensor, halves: bool) -> Tensor:
    """One head's vector turned, pair by pair, as complex numbers."""
    pairs = vector.reshape(2, -1).T if halves else vector.reshape(-1, 2)
    turned = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned)


def test_scores_are_the_same_in_both_layouts() -> None:
    """Rotating halves after the reordering gives the scores of rotating neighbours before it."""
    heads, width, inputs = 3, 8, 5
    query, key = torch.randn(2, heads * width, inputs, dtype=torch.float64)
    x, y = torch.randn(2, inputs, dtype=torch.float64)
    angles = torch.randn(2, width // 2, dtype=torch.float64)
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        before = rotated((query @ x)[rows], angles[0], False) * rotated((key @ y)[rows], angles[1], False)
        new_query, new_key = rotate_halves(query, heads), rotate_halves(key, heads)
        after = rotated((new_query @ x)[rows], angles[0], True) * rotated((new_key @ y)[rows], angles[1], True)
        assert torch.allclose(before.sum(), after.sum())
    assert torch.equal(rotate_halves(neighbours(query, heads), heads), query)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    good = llama2c(llama())
    wrong = {
        "truncated": good[:-4],
        "damaged": good + b"\0\0\0\0",
        "no plausible header": b"",
        "plausible": struct.pack("<7i", 16, 24, 2, 3, 2, 10, 12) + good[28:],
        "truncated: ": struct.pack("<7i", *[2**31 - 2] * 2, 9999, 1, 1, 2**31 - 1, 2**31 - 1) + good[28:],
        "version 1": b"24ka" + struct.pack("<i", 1) + bytes(1000),
    }
    for message, content in wrong.items():
        (tmp_path / "model.bin").write_bytes(content)
        with pytest.raises(CheckpointError, match=rf"model\.bin.*{message}"):
            read_llama2c(tmp_path / "model.bin")
    with pytest.raises(CheckpointError, match="nowhere"):
        read_llama2c(tmp_path / "nowhere")
