"""Published folders as models of ours: their languages, from the folder through `Translator` to the exports."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.models.export.export import export
from headwise.models.folder.load import convert, load, read_model
from headwise.text.published.tokenizer_folder import load_published
from tests.models.export.exporting import translated
from tests.text.published import published_files as files

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

BART = {
    **{"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.4, "max_position_embeddings": 64},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48},
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
TEXTS = ["the sailor", "Tom is not at home.", "a small dog, and 3 cats"]
GREEDY = TranslateOptions(beam=1, repair=False)


@dataclass(frozen=True)
class Family:
    write: Callable[[Path], Path]
    model: str
    """The reference's class, without the ending that all have."""
    shape: dict[str, Any]
    source: str
    target: str
    prefix: str = ""
    """What the reference is given before a text."""
    told: bool = True
    """Whether the model is told the source language."""


FAMILIES = {
    "nllb": Family(files.nllb, "M2M100ForConditionalGeneration", BART, "eng_Latn", "deu_Latn"),
    "m2m100": Family(files.m2m100, "M2M100ForConditionalGeneration", BART, "en", "de"),
    "mbart": Family(files.mbart, "MBartForConditionalGeneration", BART, "en_XX", "de_DE"),
    "mbart50": Family(files.mbart50, "MBartForConditionalGeneration", BART, "en_XX", "de_DE"),
    "t5": Family(files.t5, "T5ForConditionalGeneration", T5, "en", "de", "translate English to German: "),
    "marian": Family(files.marian_many, "MarianMTModel", BART, "en", "fra", ">>fra<< ", told=False),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = write(name, tmp_path_factory.mktemp("published") / f"opus-mt-en-{name}")
        return made[name]

    return folder


def write(name: str, folder: Path) -> Path:
    family = FAMILIES[name]
    family.write(folder)
    config = json.loads((folder / "config.json").read_text())
    tokenizer = load_published(folder, config)
    assert tokenizer is not None
    torch.manual_seed(4)
    model_class = getattr(hf, family.model)
    values = {**config, **family.shape, "vocab_size": tokenizer.size}
    model = model_class(
        model_class.config_class(**{key: value for key, value in values.items() if key != "model_type"})
    )
    with torch.no_grad():  # so that no language code is ever the likeliest token
        model.get_input_embeddings().weight[list(tokenizer._tags.values())] *= 0.05
    model.save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore:Recommended")
def reference_ids(folder: Path, family: Family) -> list[list[int]]:
    languages = {"src_lang": family.source, "tgt_lang": family.target} if family.told and not family.prefix else {}
    tokenizer = hf.AutoTokenizer.from_pretrained(folder, **languages)
    return [tokenizer(family.prefix + text)["input_ids"] for text in TEXTS]


def greedy(model: Any, source: list[int], start: list[int], length: int, forbidden: tuple[int, ...]) -> list[int]:
    """The likeliest next tokens by the reference, after what the decoder is given."""
    given = torch.tensor([start])
    for _ in range(length):
        with torch.no_grad():
            logits = model(torch.tensor([source]), decoder_input_ids=given).logits[:, -1]
        logits[:, list(forbidden)] = -torch.inf
        given = torch.cat((given, logits.argmax(-1, keepdim=True)), 1)
    return given[0, len(start) :].tolist()


def score(model: Any, source: list[int], start: list[int], target: list[int]) -> float:
    """Mean log-probability of a target's tokens by the reference, without what the decoder is given."""
    given = torch.tensor([[*start, *target]])
    with torch.no_grad():
        rows = model(torch.tensor([source]), decoder_input_ids=given[:, :-1]).logits.log_softmax(-1)
    found = rows.gather(2, given[:, 1:, None])[0, len(start) - 1 :, 0]
    return float(found.mean())


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize("name", FAMILIES)
def test_the_encoder_is_given_what_the_reference_gives_it(
    folders: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    family, folder = FAMILIES[name], folders(name)
    convert(folder, tmp_path / "ours", "headwise")
    convert(folder, tmp_path / "int8", "headwise", precision="int8")
    wanted = reference_ids(folder, family)
    for path in (folder, tmp_path / "ours", tmp_path / "int8"):
        translator = Translator(path, device="cpu")
        assert [translator.source_ids(text, source=family.source, target=family.target) for text in TEXTS] == wanted


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize("name", FAMILIES)
def test_translations_and_their_scores_are_without_the_language_code(folders: Callable[[str], Path], name: str) -> None:
    family, folder = FAMILIES[name], folders(name)
    translator = Translator(folder, device="cpu")
    tokenizer = translator.tokenizer
    start = [tokenizer.decoder_start(family.target), *tokenizer.target_start(family.target)]
    model = getattr(hf, family.model).from_pretrained(folder).eval()
    for text, ids in zip(TEXTS, reference_ids(folder, family), strict=True):
        [found] = translator.translate([text], source=family.source, target=family.target, options=GREEDY)
        target = [*tokenizer.piece_ids(found.tokens), *[tokenizer.eos] * found.complete]
        assert target == greedy(model, ids, start, len(target), tokenizer.specials)
        assert found.score == pytest.approx(score(model, ids, start, target), abs=1e-4)
        [again] = translator.score([text], ["the sailor"], source=family.source, target=family.target)
        given = [*tokenizer.encode_target("the sailor"), tokenizer.eos]
        assert again == pytest.approx(score(model, ids, start, given), abs=1e-4)


@pytest.mark.filterwarnings("ignore:Recommended")
@pytest.mark.parametrize("name", FAMILIES)
def test_an_exported_folder_translates_in_the_same_way(
    folders: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2")
    family, folder = FAMILIES[name], folders(name)
    export(folder, tmp_path / "theirs")
    facts = json.loads((tmp_path / "theirs" / "translation.json").read_text())
    assert len(facts["directions"]) == len(load(folder).task.directions), "not one entry per pair of languages"
    wanted = Translator(folder, device="cpu").translate(
        TEXTS, source=family.source, target=family.target, options=GREEDY
    )
    languages = ("--from", family.source, "--to", family.target)
    found = translated(tmp_path / "theirs", TEXTS, "--beam", "1", *languages)
    for theirs, ours in zip(found, wanted, strict=True):
        assert ours.text[:20] == theirs[:20] != "", "random models hardly ever end, and length limits differ"


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.told and not family.prefix])
def test_a_source_language_has_to_be_named_where_the_model_is_told_it(
    folders: Callable[[str], Path], name: str
) -> None:
    family = FAMILIES[name]
    task = read_model(folders(name))[0].task
    with pytest.raises(ConfigError, match=r"needs to know the source language .* --from"):
        task.direction(None, family.target)
    with pytest.raises(ConfigError, match=r"several target languages: name one with --to"):
        task.direction(family.source)
    with pytest.raises(ConfigError, match="does not translate from xx to"):
        task.direction("xx", family.target)
    assert task.direction(family.source.upper(), family.target) == (family.source, family.target)
    assert task.how_to_ask.split()[::2] == ["--from", "--to"]


def test_t5_has_the_directions_of_its_prefixes(folders: Callable[[str], Path]) -> None:
    task = read_model(folders("t5"))[0].task
    assert task.directions == (("en", "de"),)
    assert task.direction() == task.direction("en") == task.direction(None, "de") == ("en", "de")
    with pytest.raises(ConfigError, match="does not translate to fr; it has: en-de"):
        task.direction(None, "fr")


def test_a_marian_of_many_targets_has_the_source_of_its_name(folders: Callable[[str], Path]) -> None:
    task = read_model(folders("marian"))[0].task
    assert task.directions == (("en", "fra"), ("en", "deu"))
    assert task.direction("en", "fra") == task.direction(None, "fra") == ("en", "fra")
    with pytest.raises(ConfigError, match="does not translate from xx to fra; it has: en-fra, en-deu"):
        task.direction("xx", "fra")


def test_a_marian_without_a_telling_name_takes_any_source(folders: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(folders("marian"), tmp_path / "opus-mt-ROMANCE-mul")
    task = read_model(tmp_path / "opus-mt-ROMANCE-mul")[0].task
    assert task.direction("it", "fra") == ("it", "fra")
