"""One real published model, small enough for every run: RXNMapper, an ALBERT that reads chemical reactions.

Its package (MIT) is installed by scripts/setup without what it would need to run: only its files are read.
"""

import importlib.util
from pathlib import Path

import pytest
import torch

from headwise.models.folder.load import convert, load
from headwise.models.masked_lm import MaskedLM

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

REACTION = [*"CCO.CC(=O)O", ">>", *"CCOC(C)=O"]


def folder() -> Path:
    spec = importlib.util.find_spec("rxnmapper")  # finds the package without running it
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package rxnmapper is not installed: scripts/setup dev does it")
    return Path(spec.submodule_search_locations[0]) / "models/transformers/albert_heads_8_uspto_all_1310k"


def test_it_fills_blanks_as_the_reference_does(tmp_path: Path) -> None:
    words = (folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    ids = torch.tensor([[words.index(word) for word in ("[CLS]", *REACTION, "[SEP]")]])
    places = range(1, len(REACTION) + 1)
    masked = ids.repeat(len(places), 1)
    for row, place in enumerate(places):
        masked[row, place] = words.index("[MASK]")

    reference = hf.AlbertForMaskedLM.from_pretrained(folder()).eval()
    convert(folder(), tmp_path / "ours", "headwise")
    ours = load(tmp_path / "ours").model
    assert isinstance(ours, MaskedLM)
    with torch.no_grad():
        theirs, found = reference(masked).logits, ours(masked)
    assert (found - theirs).abs().max() <= 1e-5 * theirs.abs().max()
    for row, place in enumerate(places):
        assert found[row, place].topk(5).indices.tolist() == theirs[row, place].topk(5).indices.tolist()
    right = sum(int(found[row, place].argmax()) == int(ids[0, place]) for row, place in enumerate(places))
    assert right > len(places) // 2  # it has learned what reactions look like


def test_its_weights_survive_out_and_back(tmp_path: Path) -> None:
    convert(folder(), tmp_path / "ours", "headwise")
    convert(tmp_path / "ours", tmp_path / "theirs", "huggingface")
    before = torch.load(folder() / "pytorch_model.bin", map_location="cpu", weights_only=True)
    after = hf.AlbertForMaskedLM.from_pretrained(tmp_path / "theirs").state_dict()
    compared = 0
    for name, tensor in before.items():
        if name in after:
            assert torch.equal(after[name], tensor), name
            compared += 1
    assert compared >= 25
