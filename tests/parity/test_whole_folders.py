"""Published folders, used through our classes and through the reference library: the same answers.

Each folder has weights, tokenizer and settings; the models are tiny and random.
"""

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from headwise.decode.embedder import Embedder
from headwise.decode.generator import GenerateOptions, Generator
from headwise.decode.labeller import Labeller
from headwise.decode.pictures import normalised, read_images
from headwise.errors import CheckpointError, HeadwiseError
from headwise.files.tables import read_table, write_table
from headwise.models.folder.load import convert, load, read_model
from tests.text.published import published_files as files

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.parity.causal import SMALL, longrope, rope  # noqa: E402

ENCODER = {key: SMALL[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}
TEXTS = ["the sailor", "Tom is not at home. " * 60, "a small dog, and 3 cats " * 30]


def saved(model: Any, folder: Path, **settings: Any) -> Path:
    """A folder with this model, whose config.json is changed by `settings`."""
    model.save_pretrained(folder)
    if settings:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **settings}))
    return folder


def classifier(folder: Path, **settings: Any) -> Path:
    files.bert(folder)
    torch.manual_seed(3)
    shape = {**ENCODER, "vocab_size": 400, "max_position_embeddings": 512, "num_labels": 3, "initializer_range": 0.3}
    return saved(hf.BertForSequenceClassification(hf.BertConfig(**shape)), folder, **settings)


def logits_of(folder: Path, *texts: str) -> torch.Tensor:
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits: torch.Tensor = model(**tokenizer(*texts, truncation=True, max_length=512, return_tensors="pt")).logits
    return logits[0]


# --- classifiers ---------------------------------------------------------------------------------------


def test_a_classifier_sees_as_many_tokens_as_it_has_positions(tmp_path: Path) -> None:
    folder = classifier(tmp_path)
    labeller = Labeller(folder, device="cpu")
    assert labeller.loaded.task.max_tokens == 512
    for text, label in zip(TEXTS, labeller.classify(TEXTS), strict=True):
        expected = logits_of(folder, text).softmax(-1).tolist()
        assert list(label.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    convert(folder, tmp_path / "ours", "headwise")
    assert Labeller(tmp_path / "ours", device="cpu").classify(TEXTS) == labeller.classify(TEXTS)


def test_classes_that_do_not_exclude_each_other_have_a_probability_each(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "theirs", problem_type="multi_label_classification")
    (label,) = Labeller(folder, device="cpu").classify(TEXTS[:1])
    expected = logits_of(folder, TEXTS[0]).sigmoid().tolist()
    assert list(label.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    assert label.score == max(label.probabilities.values())
    convert(folder, tmp_path / "ours", "headwise")
    convert(tmp_path / "ours", tmp_path / "again", "huggingface")
    assert json.loads((tmp_path / "again" / "config.json").read_text())["problem_type"] == "multi_label_classification"


@pytest.mark.parametrize("problem", ["regression", "ranking"])
def test_outputs_that_mean_something_else_are_refused(tmp_path: Path, problem: str) -> None:
    with pytest.raises(CheckpointError, match=r"regression with 3 outputs|'ranking' is not supported"):
        load(classifier(tmp_path, problem_type=problem))


def test_weights_that_are_nan_give_no_answer(tmp_path: Path) -> None:
    loaded = load(classifier(tmp_path))
    with torch.no_grad():
        loaded.model.output.weight[0, 0] = math.nan
    with pytest.raises(HeadwiseError, match="NaN"):
        Labeller(loaded, device="cpu").classify(TEXTS[:1])
    with torch.no_grad():
        loaded.model.body.embedding.weight.fill_(math.nan)
    with pytest.raises(HeadwiseError, match="NaN"):
        Embedder(loaded, device="cpu").embed(TEXTS[:1])


# --- pictures ------------------------------------------------------------------------------------------

PREPARED: dict[str, dict[str, Any]] = {
    "plain": {},
    "not normalised": {"do_normalize": False},
    "not rescaled": {"do_rescale": False},
    "rescaled to -1 and 1": {"rescale_factor": 1 / 127.5, "image_mean": [1.0, 1.0, 1.0], "image_std": [1.0, 1.0, 1.0]},
    "bicubic": {"resample": 3},
    "nearest": {"resample": 0},
    "cut": {"size": {"height": 48, "width": 40}, "do_center_crop": True, "crop_size": {"height": 32, "width": 32}},
    "cut from the shorter side": {"size": {"shortest_edge": 37}, "do_center_crop": True, "crop_size": 32},
    "statistics": {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.4, 0.7]},
}


def vision(folder: Path, **settings: Any) -> Path:
    torch.manual_seed(3)
    shape = {**ENCODER, "image_size": 32, "patch_size": 8, "num_labels": 4, "initializer_range": 0.3}
    saved(hf.ViTForImageClassification(hf.ViTConfig(**shape)), folder)
    described = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, **settings}
    (folder / "preprocessor_config.json").write_text(json.dumps(described))
    return folder


@pytest.fixture
def pictures(tmp_path: Path) -> list[str]:
    names = []
    for number, size in enumerate(((64, 48), (32, 32), (45, 131), (20, 20))):
        pixels = np.random.default_rng(number).integers(0, 256, (size[1], size[0], 3), np.uint8)
        names.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(pixels).save(names[-1])
    return names


@pytest.mark.parametrize("settings", PREPARED.values(), ids=PREPARED)
def test_pictures_are_prepared_as_the_folder_says(
    tmp_path: Path, pictures: list[str], settings: dict[str, Any]
) -> None:
    folder = vision(tmp_path / "vit", **settings)
    processor = hf.ViTImageProcessorPil.from_pretrained(folder)
    loaded = load(folder)
    ours = normalised(loaded, read_images(loaded, pictures), torch.device("cpu"))
    for name, found in zip(pictures, ours, strict=True):
        expected = processor(Image.open(name), return_tensors="pt")["pixel_values"][0]
        assert torch.allclose(found, expected, atol=1e-4 * float(expected.abs().max()))
    model = hf.ViTForImageClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        probabilities = model(ours).logits.softmax(-1).tolist()
    labels = Labeller(folder, device="cpu").classify_images(read_images(loaded, pictures))
    for label, row in zip(labels, probabilities, strict=True):
        assert list(label.probabilities.values()) == pytest.approx(row, abs=1e-5)


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("do_resize", {"do_resize": False}),
        ("size", {"size": {"height": 48, "width": 48}}),
        ("size", {"size": {"shortest_edge": 40}}),
        ("size", {"size": {"height": 16, "width": 16}, "do_center_crop": True, "crop_size": 32}),
        ("crop_size", {"do_center_crop": True, "crop_size": 16}),
        ("resample", {"resample": 9}),
        ("do_pad", {"do_pad": True}),
        ("do_normalize", {"do_normalize": "no"}),
        ("rescale_factor", {"rescale_factor": 0}),
        ("image_std", {"image_std": [1, 0, 1]}),
        ("CLIP", {"image_processor_type": "CLIPImageProcessor"}),
    ],
)
def test_what_cannot_be_prepared_is_refused_by_name(tmp_path: Path, key: str, settings: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=rf"preprocessor_config\.json: .*{key}"):
        load(vision(tmp_path, **settings))


def test_pictures_of_an_exported_folder_are_prepared_as_here(tmp_path: Path, pictures: list[str]) -> None:
    settings = PREPARED["cut"]
    convert(vision(tmp_path / "theirs", **settings), tmp_path / "ours", "headwise")
    convert(tmp_path / "ours", tmp_path / "again", "huggingface")
    assert load(tmp_path / "again").task == load(tmp_path / "ours").task


# --- generation ----------------------------------------------------------------------------------------


def decoder(folder: Path, name: str, **changes: Any) -> Path:
    files.gpt2(folder)
    torch.manual_seed(5)
    config = getattr(hf, f"{name}Config")(**{**SMALL, "vocab_size": 512, "initializer_range": 0.3, **changes})
    config.bos_token_id = config.eos_token_id = 0
    return saved(getattr(hf, f"{name}ForCausalLM")(config), folder)


LENGTH = 16
SCALED = {
    "phi3": ("Phi3", longrope(4, LENGTH)),
    "llama": ("Llama", longrope(4, LENGTH)),
    "dynamic": ("Llama", {"rope_parameters": rope("dynamic", factor=4.0), "max_position_embeddings": LENGTH}),
}


@pytest.mark.parametrize("kind", SCALED)
def test_each_prompt_goes_on_as_if_it_were_alone(tmp_path: Path, kind: str) -> None:
    name, changes = SCALED[kind]
    generator = Generator(decoder(tmp_path, name, **changes), device="cpu")
    prompts = ["a", "the small dog", "one two three four five six seven eight nine", "the cat and me"]
    options = GenerateOptions(max_tokens=24)
    together = generator.generate(prompts, options=options)
    assert [each.ids for each in together] == [generator.generate(prompt, options=options).ids for prompt in prompts]


@pytest.mark.parametrize("kind", SCALED)
def test_each_text_has_the_vector_that_it_has_alone(tmp_path: Path, kind: str) -> None:
    name, changes = SCALED[kind]
    embedder = Embedder(decoder(tmp_path, name, **changes), device="cpu")
    texts = ["the small dog", "one two three four five six seven eight nine " * 2]
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert torch.allclose(embedder.embed(text), vector, atol=1e-5)


def test_long_rope_computes_its_cache_anew_when_the_factors_change(tmp_path: Path) -> None:
    name, changes = SCALED["phi3"]
    folder = decoder(tmp_path, name, **changes)
    generator = Generator(folder, device="cpu")
    assert generator._stepper.switch == LENGTH
    model = hf.AutoModelForCausalLM.from_pretrained(folder).eval()
    for length in (1, 5, 12, 15, 16, 17, 18, 25):
        prompt = torch.randint(1, 400, (1, length), generator=torch.Generator().manual_seed(length))
        expected = prompt
        for _ in range(20):  # without a cache
            with torch.no_grad():
                expected = torch.cat((expected, model(expected, use_cache=False).logits[:, -1:].argmax(-1)), 1)
        [[found]] = generator._search(prompt.tolist(), GenerateOptions(max_tokens=20), torch.Generator(), None)
        assert found.tokens == expected[0, length : length + len(found.tokens)].tolist()
        assert len(found.tokens) == 20 or found.finished


def test_settings_of_generation_that_are_not_obeyed_are_named(tmp_path: Path) -> None:
    folder = decoder(tmp_path, "Llama")
    generation = {"no_repeat_ngram_size": 3, "repetition_penalty": 1.0, "min_length": 5, "bad_words_ids": [[4]]}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    with pytest.warns(UserWarning, match=r"not supported and are ignored: no_repeat_ngram_size = 3, min_length = 5$"):
        load(folder)
    (folder / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[4], [5, 6]], "suppress_tokens": [1]}))
    with pytest.warns(UserWarning, match="suppress_tokens = .*, bad_words_ids"):
        load(folder)
    (folder / "generation_config.json").write_text(json.dumps({"repetition_penalty": 1.0, "min_length": 0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(folder)


# --- vectors -------------------------------------------------------------------------------------------


def sentences(folder: Path, pooling: dict[str, bool], *more: str, **settings: Any) -> Path:
    files.bert(folder)
    torch.manual_seed(3)
    config = hf.BertConfig(**ENCODER, vocab_size=400, max_position_embeddings=64, initializer_range=0.3)
    saved(hf.BertModel(config), folder)
    names = ["models.Transformer", "models.Pooling", *more]
    modules = [
        {"idx": i, "path": ("", "1_Pooling")[i == 1], "type": f"sentence_transformers.{n}"} for i, n in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **pooling}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 20, **settings}))
    return folder


def test_vectors_are_pooled_as_the_folder_says(tmp_path: Path) -> None:
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    folder = sentences(tmp_path / "theirs", pooling, "models.Normalize")
    tokenizer = hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModel.from_pretrained(folder).eval()
    convert(folder, tmp_path / "ours", "headwise")
    for path in (folder, tmp_path / "ours"):
        for text in TEXTS:
            given = tokenizer(text, truncation=True, max_length=20, return_tensors="pt")
            with torch.no_grad():
                expected = model(**given).last_hidden_state[0, 0]
            found = Embedder(path, device="cpu").embed(text)
            assert torch.allclose(found, expected / expected.norm(), atol=1e-5)


def test_modules_that_are_not_known_are_refused_by_name(tmp_path: Path) -> None:
    mean = {"pooling_mode_mean_tokens": True}
    with pytest.raises(CheckpointError, match=r"modules\.json: the module Dense is not supported"):
        load(sentences(tmp_path / "dense", mean, "models.Dense"))
    with pytest.raises(CheckpointError, match="pooling by max_tokens is not supported"):
        load(sentences(tmp_path / "max", {"pooling_mode_max_tokens": True}))
    with pytest.raises(CheckpointError, match="pooling by cls_token and mean_tokens is not supported"):
        load(sentences(tmp_path / "two", {"pooling_mode_cls_token": True, **mean}))
    with pytest.raises(CheckpointError, match="do_lower_case = true is not supported"):
        load(sentences(tmp_path / "lower", mean, do_lower_case=True))


# --- configs -------------------------------------------------------------------------------------------


def logits(folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Ours and the reference's."""
    description, weights = read_model(folder)
    tokens = torch.randint(4, 60, (2, 9), generator=torch.Generator().manual_seed(1))
    given = (tokens, tokens) if description.task.kind == "translation" else (tokens,)
    model = hf.AutoModelForSeq2SeqLM if len(given) == 2 else hf.AutoModelForCausalLM
    names = dict(zip(("input_ids", "decoder_input_ids"), given, strict=False))
    with torch.no_grad():
        theirs = model.from_pretrained(folder).eval()(**names).logits
        return description.build(str(folder), weights).model(*given), theirs


@pytest.mark.parametrize("name", ["Llama", "Mistral"])
def test_a_share_of_heads_that_the_reference_ignores_is_ignored(tmp_path: Path, name: str) -> None:
    folder = decoder(tmp_path, name, num_key_value_heads=2)
    saved_config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**saved_config, "partial_rotary_factor": 0.5}))
    ours, theirs = logits(folder)
    assert torch.allclose(ours, theirs, atol=1e-4)
    linear = {"rope_parameters": rope("linear", factor=2.0), "partial_rotary_factor": 0.5}
    (folder / "config.json").write_text(json.dumps({**saved_config, **linear}))
    with pytest.raises(CheckpointError, match=r"partial_rotary_factor 0\.5 with linear rotary is not supported"):
        load(folder)


def test_t5_has_the_activation_that_its_config_names_last(tmp_path: Path) -> None:
    files.t5(tmp_path)
    torch.manual_seed(3)
    shape = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 600}
    config = hf.T5Config(**shape, feed_forward_proj="gated-gelu", decoder_start_token_id=0)
    folder = saved(hf.T5ForConditionalGeneration(config), tmp_path, dense_act_fn="relu")
    ours, theirs = logits(folder)
    assert torch.allclose(ours, theirs, atol=1e-4)
    assert read_model(folder)[0].config.feed_forward.activation == "relu"


@pytest.mark.parametrize(
    "change",
    [
        {"num_hidden_layers": 10_000_000},
        {"num_hidden_layers": 1000},
        {"hidden_size": 10**12},
        {"hidden_size": 2**63},
        {"hidden_size": 10**19},
        {"vocab_size": -5},
        {"vocab_size": 10**20},
        {"max_position_embeddings": 10**19},
        {"architectures": [{"a": 1}]},
        {"architectures": "BertForSequenceClassification"},
    ],
)
def test_a_hostile_config_is_refused_at_once(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        load(classifier(tmp_path, **change))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"encoder": {"layers": 1_000_000}}, "model.encoder.layers must be at most"),
        ({"layers": 1000}, "its config has 1,000 layers, but there are 41 tensors"),
        ({"width": 10**12}, "model.width must be at most"),
        ({"width": 2**63}, "model.width must be at most"),
    ],
)
def test_a_hostile_config_of_ours_is_refused_at_once(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    convert(classifier(tmp_path / "theirs"), tmp_path / "ours", "headwise")
    path = tmp_path / "ours" / "config.json"
    described = read_table(path)
    write_table(path, {**described, "model": {**described["model"], **change}})
    with pytest.raises(CheckpointError, match=re.escape(says)):
        load(tmp_path / "ours")


def test_albert_may_share_one_layer_but_not_a_million_times(tmp_path: Path) -> None:
    files.albert(tmp_path)
    shape = {**ENCODER, "embedding_size": 16, "vocab_size": 500, "num_hidden_layers": 40}
    folder = saved(hf.AlbertForMaskedLM(hf.AlbertConfig(**shape)), tmp_path)
    assert load(folder).config.encoder_side.layers == 40
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 10**6}))
    with pytest.raises(CheckpointError, match="1000000"):
        load(folder)
