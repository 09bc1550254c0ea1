"""Any model folder as float32 weights."""

from pathlib import Path

import torch

from headwise.models.folder.float_weights import read_float_model
from headwise.models.folder.load import convert, read_model, save_model
from headwise.models.folder.weights import check_weights
from tests.taught import taught


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
