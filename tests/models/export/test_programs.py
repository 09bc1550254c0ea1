"""A translator trained here, written for `transformers`: the same ids, the same logits, and back again."""

from pathlib import Path

import pytest
import torch

from headwise.decode.translator import Translator
from headwise.models.folder.load import convert, load, save_model
from headwise.recipe import replaced

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.taught import SHAPE, taught  # noqa: E402

TEXTS = ["the cat sleeps", "A dog; two dogs!", "über 100 % größer", "日本語 🙂"]


@pytest.mark.filterwarnings("ignore:Recommended")  # a package for punctuation, which ours does without too
@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("both_directions", [False, True])
def test_it_is_the_same_model(tmp_path: Path, order: str, both_directions: bool) -> None:
    loaded = taught(both_directions=both_directions, shape=replaced(SHAPE, {"norm.order": order}))
    save_model(tmp_path / "ours", loaded)
    convert(tmp_path / "ours", tmp_path / "theirs", "huggingface")

    tokenizer = hf.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    model = hf.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "theirs").eval()
    assert model.config.model_type == {"pre": "pegasus", "post": "marian"}[order]
    own = loaded.tokenizer
    assert own is not None
    prefix = ">>de<< " if both_directions else ""
    before = [own.tag("de")] if both_directions else []
    for text in TEXTS:
        ids = [*before, *own.encode(text), own.eos]
        assert tokenizer(prefix + text)["input_ids"] == ids
        source, target = torch.tensor([ids]), torch.tensor([[own.sos, *own.encode("der Hund")]])
        with torch.no_grad():
            theirs = model(source, decoder_input_ids=target).logits
            assert (theirs - loaded.model.cpu()(source, target)).abs().max() < 1e-4

    if not both_directions:
        again = Translator(load(tmp_path / "theirs"), device="cpu")
        expected = [result.text for result in Translator(loaded, device="cpu").translate(TEXTS, repair=False)]
        assert [result.text for result in again.translate(TEXTS, repair=False)] == expected
