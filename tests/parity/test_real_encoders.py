"""Published encoders that nobody here made, against the reference library: the same vectors, the same fills.

`scripts/weights` fetches them.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.models.build import build
from headwise.models.folder.weights import set_weights
from headwise.models.masked_lm import MaskedLM
from headwise.models.published.exchange import Imported, export_published, import_published
from headwise.models.published.formats.huggingface import read_folder, write_folder
from headwise.nn.pooling import mean_of_real

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")
pytestmark = pytest.mark.weights

TOLERANCE = 1e-5
RELATIVE = 1e-5
"""Of logits, to the largest of them."""

SENTENCES = [
    "A man is playing a guitar.",
    "Someone makes music on a stringed instrument, while three dogs listen (and howl) in the kitchen next door.",
    "The stock market fell by 3.5% on Tuesday!",
    "Hello",
    " ".join(["Transformers read all of a text at once."] * 40),
]

CHINESE = ["今天天气很[MASK]。", "我[MASK]欢在图书馆看书,因为那里非常安静。", "北京是中国的[MASK]都。"]

REACTIONS = ["CC(C)S.CN(C)C=O>>CC(C)SC", "O=C(O)c1ccccc1.CCO>>CCOC(=O)c1ccccc1", "BrCc1ccccc1.[Na+].[OH-]>>OCc1ccccc1"]
ATOMS = re.compile(r"\[[^\]]+\]|Br|Cl|>>|%\d\d|.")


def weights(name: str) -> Path:
    folder = Path(os.environ.get("HEADWISE_WEIGHTS", "")) / name
    if not os.environ.get("HEADWISE_WEIGHTS") or not folder.is_dir():
        pytest.skip(f"no {name} in HEADWISE_WEIGHTS (see scripts/weights)")
    return folder


def opened(folder: Path) -> tuple[Imported, MaskedLM]:
    imported = import_published(read_folder(folder))
    model = build(imported.config, imported.vocabulary, imported.ids.pad).eval()
    set_weights(model, imported.weights, str(folder))
    assert isinstance(model, MaskedLM)
    return imported, model


def padded(rows: list[list[int]], pad: int = 0) -> Tensor:
    length = max(map(len, rows))
    return torch.tensor([row + [pad] * (length - len(row)) for row in rows])


def chinese_ids(folder: Path) -> tuple[Tensor, int]:
    tokenizer = hf.BertTokenizer.from_pretrained(folder)
    return padded(tokenizer(CHINESE)["input_ids"]), tokenizer.mask_token_id


def reaction_ids(folder: Path) -> tuple[Tensor, int]:
    """Of reactions in which every fifth atom, bond or bracket is masked."""
    numbers = {token: number for number, token in enumerate((folder / "vocab.txt").read_text().split())}
    rows = []
    for reaction in REACTIONS:
        ids = [numbers.get(token, numbers["[UNK]"]) for token in ATOMS.findall(reaction)]
        ids[2::5] = [numbers["[MASK]"]] * len(ids[2::5])
        rows.append([numbers["[CLS]"], *ids, numbers["[SEP]"]])
    return padded(rows), numbers["[MASK]"]


def test_minilm_embeddings_agree() -> None:
    folder = weights("minilm")
    _, ours = opened(folder)
    reference = hf.AutoModel.from_pretrained(folder).eval()
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    tokens = padded(tokenizer(SENTENCES, truncation=True, max_length=512)["input_ids"])
    real = tokens != 0
    with torch.no_grad():
        theirs = reference(tokens, attention_mask=real.long())
        hidden = ours.encode(tokens).memory
        assert (ours.pool(hidden) - theirs.pooler_output).abs().max() < TOLERANCE
        expected = torch.nn.functional.normalize(mean_of_real(theirs.last_hidden_state, real), dim=-1)
        vectors = torch.nn.functional.normalize(mean_of_real(hidden, real), dim=-1)
    assert (vectors - expected).abs().max() < TOLERANCE
    similar, other = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert similar > other + 0.2  # and they mean something


@pytest.mark.parametrize(("name", "ids"), [("rxnmapper", reaction_ids), ("albert-tiny", chinese_ids)])
def test_albert_fills_blanks_as_the_reference_does(name: str, ids: Any) -> None:
    folder = weights(name)
    _, ours = opened(folder)
    reference = hf.AlbertForMaskedLM.from_pretrained(folder).eval()
    tokens, mask = ids(folder)
    real = tokens != 0
    with torch.no_grad():
        theirs = reference(tokens, attention_mask=real.long()).logits
        logits = ours(tokens)
    assert (logits - theirs)[real].abs().max() < RELATIVE * theirs[real].abs().max()
    blanks = tokens == mask
    assert blanks.sum() >= 3
    assert torch.equal(logits[blanks].topk(5).indices, theirs[blanks].topk(5).indices)


@pytest.mark.parametrize("name", ["minilm", "rxnmapper", "albert-tiny"])
def test_weights_survive_out_and_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    folder = weights(name)
    imported, _ = opened(folder)
    original = read_folder(folder).tensors
    config, tensors = export_published(imported.config, imported.weights, imported.vocabulary, imported.ids)
    assert config["model_type"] == imported.family.model_type
    write_folder(tmp_path, config, tensors)
    again = read_folder(tmp_path)
    for key, tensor in again.tensors.items():
        assert torch.equal(tensor, original.get(key, original.get(f"{imported.family.prefix}{key}")))
    back = import_published(again)
    assert back.config == imported.config
    assert back.weights.keys() == imported.weights.keys()
