"""Real published language models and translators: the same tokens as the reference library's."""

import lzma
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.decode.generator import GenerateOptions, Generator
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.models.folder.load import convert
from headwise.models.published.formats.gguf import read_gguf

pytestmark = [
    pytest.mark.weights,
    pytest.mark.filterwarnings("ignore"),  # the reference library's own
    pytest.mark.skipif(not os.environ.get("HEADWISE_WEIGHTS"), reason="scripts/weights FOLDER fetches the models"),
]

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

WEIGHTS = Path(os.environ.get("HEADWISE_WEIGHTS", "."))
DATA = Path(os.environ.get("HEADWISE_DATA", "."))

ENGLISH = [
    "I ate an apple.",
    "Where is the station?",
    "The committee will meet again on Thursday to discuss the budget, which has grown by 12.5% since 2019.",
    "He said that he did not know who had written the letter - but nobody believed him.",
    "Thank you.",
    "Although the weather was bad, more than 3,000 people came to the concert in the old town.",
]


def reference_translations(folder: Path, texts: list[str], beam: int) -> list[list[int]]:
    tokenizer = hf.MarianTokenizer.from_pretrained(folder)
    model = hf.MarianMTModel.from_pretrained(folder).eval()
    found: list[list[int]] = []
    for start in range(0, len(texts), 16):
        batch = tokenizer(texts[start : start + 16], return_tensors="pt", padding=True)
        with torch.no_grad():
            ids: Any = model.generate(**batch, num_beams=beam)
        ends = (tokenizer.pad_token_id, tokenizer.eos_token_id)
        found += [[i for i in row if i not in ends] for row in ids.tolist()]
    return found


def agreement(folder: Path, texts: list[str], beam: int) -> float:
    """The share of the texts that are translated with the same tokens."""
    translator = Translator(folder, device="cpu")
    options = TranslateOptions(beam=beam)
    ours = [result.tokens for result in translator.translate(texts, options=options)]
    theirs = [translator.tokenizer.pieces(ids) for ids in reference_translations(folder, texts, beam)]
    return sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(texts)


@pytest.mark.parametrize("beam", [1, 4])
def test_opus_mt_translates_as_the_reference_does(beam: int) -> None:
    assert agreement(WEIGHTS / "opus-mt-en-fr", ENGLISH, beam) == 1


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("HEADWISE_DATA"), reason="HEADWISE_DATA names the folder with the test sets")
@pytest.mark.parametrize("direction", ["en-fr", "fr-en"])
def test_opus_mt_on_a_part_of_newstest(direction: str) -> None:
    source = direction[:2]
    with lzma.open(DATA / f"test/en-fr/newstest2014.{source}.xz", "rt", encoding="utf-8") as file:
        texts = file.read().splitlines()[:100]
    assert agreement(WEIGHTS / f"opus-mt-{direction}", texts, 4) >= 0.99


def test_an_opus_mt_folder_converts_and_translates_the_same(tmp_path: Path) -> None:
    convert(WEIGHTS / "opus-mt-en-fr", tmp_path / "ours", "headwise")
    convert(tmp_path / "ours", tmp_path / "theirs", "huggingface")
    before = [result.text for result in Translator(WEIGHTS / "opus-mt-en-fr", device="cpu").translate(ENGLISH)]
    assert [result.text for result in Translator(tmp_path / "ours", device="cpu").translate(ENGLISH)] == before
    theirs = reference_translations(tmp_path / "theirs", ENGLISH, 4)
    assert theirs == reference_translations(WEIGHTS / "opus-mt-en-fr", ENGLISH, 4)


@pytest.mark.parametrize(
    ("name", "prompts", "tokens"),
    [
        (
            "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ["The capital of France is", "To bake bread, you need", "  Über 中文 🙂"],
            60,
        ),
    ],
)
def test_greedy_text_is_the_references(name: str, prompts: list[str], tokens: int, tmp_path: Path) -> None:
    """Token for token, the prompts in one batch here and one by one there."""
    generator = Generator(WEIGHTS / name, device="cpu")
    ours = generator.generate(prompts, options=GenerateOptions(max_tokens=tokens))
    convert(WEIGHTS / name, tmp_path / "theirs", "huggingface")
    model = hf.LlamaForCausalLM.from_pretrained(tmp_path / "theirs").eval()
    for prompt, result in zip(prompts, ours, strict=True):
        ids = generator.prompt_ids(prompt)
        with torch.no_grad():
            whole = model.generate(torch.tensor([ids]), max_new_tokens=tokens, do_sample=False)
        theirs = [i for i in whole[0, len(ids) :].tolist() if i != generator.tokenizer.eos]
        assert result.tokens == generator.tokenizer.pieces(theirs)
        assert len(theirs) > 10


def test_smollm2_has_the_references_weights() -> None:
    for package in ("gguf", "accelerate"):
        pytest.importorskip(package, reason=f"the reference library reads this file with the package {package}")
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    model = hf.AutoModelForCausalLM.from_pretrained(WEIGHTS / "smollm2", gguf_file=name)
    tensors = read_gguf(WEIGHTS / "smollm2" / name).tensors
    for key, tensor in tensors.items():
        assert torch.equal(model.state_dict()[key], tensor), key
