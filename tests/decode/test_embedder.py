"""Texts as vectors: the pooling by hand, and padding that changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headwise.decode.embedder import Embedder
from headwise.errors import ConfigError
from headwise.models.folder.description import LoadedModel
from headwise.nn.pooling import POOLINGS
from tests.kinds import BERT, GPT, classifier, encoder, language_model
from tests.taught import taught
from tests.text.published.published_files import FAMILIES

TEXTS = ["A dog", "My sister finds a small fish.", "", "The cat"]
MODELS: dict[str, Callable[[], LoadedModel]] = {
    "encoder": encoder,
    "encoder without a head": lambda: encoder(head=False),
    "decoder": language_model,
    "translator": lambda: taught(steps=0),
    "classifier": classifier,
    "classifier of a decoder": lambda: classifier(GPT),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@torch.inference_mode()
def hidden(loaded: LoadedModel, text: str) -> Tensor:
    """[T, D] of one text alone."""
    assert loaded.tokenizer is not None
    ids = torch.tensor([loaded.tokenizer.frame(loaded.tokenizer.encode(text))[0]])
    body = getattr(loaded.model, "body", loaded.model)
    return body.decode(ids).hidden[0] if loaded.config.family == "causal_lm" else body.encode(ids).memory[0]  # type: ignore[no-any-return]


BY_HAND: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda each: each.mean(0),
    "first": lambda each: each[0],
    "last": lambda each: each[-1],
}


@every_model
@pytest.mark.parametrize("pooling", POOLINGS)
def test_it_is_the_pooling_of_each_text_alone(model: Callable[[], LoadedModel], pooling: str) -> None:
    loaded = model()
    vectors = Embedder(loaded, device="cpu").embed(TEXTS, pooling, normalise=False)
    expected = torch.stack([BY_HAND[pooling](hidden(loaded, text)) for text in TEXTS])
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=1e-5)


@every_model
def test_vectors_have_length_one_unless_they_are_raw(model: Callable[[], LoadedModel]) -> None:
    embedder = Embedder(model(), device="cpu")
    raw, unit = embedder.embed(TEXTS, normalise=False), embedder.embed(TEXTS)
    torch.testing.assert_close(unit.norm(dim=1), torch.ones(len(TEXTS)))
    torch.testing.assert_close(unit, raw / raw.norm(dim=1, keepdim=True))
    torch.testing.assert_close(embedder.embed(TEXTS[1]), unit[1], atol=1e-5, rtol=1e-5)


def test_a_text_counts_up_to_the_limit_of_its_model() -> None:
    embedder = Embedder(encoder(), device="cpu")
    words = embedder.tokenizer
    ids = words.encode("fish " * 100)
    with torch.inference_mode():
        framed = torch.tensor([words.frame(ids[: BERT.positions.max_positions - 2])[0]])
        expected = encoder().model.encode(framed).memory[0].mean(0)
    assert framed.size(1) == BERT.positions.max_positions
    torch.testing.assert_close(embedder.embed("fish " * 100, normalise=False), expected, atol=1e-5, rtol=1e-5)


def test_nothing_and_an_unknown_pooling() -> None:
    embedder = Embedder(encoder(), device="cpu")
    assert embedder.embed([]).shape == (0, embedder.width)
    with pytest.raises(ConfigError, match="there are: first, last, mean"):
        embedder.embed("a", pooling="max")


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_padding_token_in_a_text_is_attended_to_as_in_the_reference(family: str, tmp_path: Path) -> None:
    hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")
    folder = FAMILIES[family](tmp_path / family)
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    shape |= {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "pad_token_id": tokenizer.pad_token_id}
    kind = {"bert": (hf.BertConfig, hf.BertModel), "roberta": (hf.RobertaConfig, hf.RobertaModel)}[family]
    reference = kind[1](kind[0](**shape), add_pooling_layer=False).eval()
    for weight in reference.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    reference.save_pretrained(folder)
    pad = tokenizer.pad_token
    texts = [f"the old {pad} sailor", f"{pad} {pad} the boat is green and the sailor is old", "the sailor", pad]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = reference(**inputs).last_hidden_state
    real = inputs["attention_mask"][..., None]
    expected = (hidden * real).sum(1) / real.sum(1)
    ours = Embedder(folder, device="cpu").embed(texts, normalise=False)
    assert torch.allclose(ours, expected, atol=1e-5)
