"""A model written for CTranslate2: the same log-probabilities, the same translations."""

import contextlib
import dataclasses
import json
from pathlib import Path

import pytest
import tokenizers
import torch

from headwise.config import ModelConfig
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.models.export.ctranslate2 import NEVER, check, write_generator, write_translator
from headwise.models.export.export import export
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import convert, load, save_model
from headwise.recipe import replaced
from headwise.text.tokenizer import Tokenizer
from tests.commands import Capture
from tests.kinds import GPT, LLAMA, language_model, tokenizer
from tests.models.export.exporting import TEXTS, UNSEEN, example, exported, translated
from tests.shapes import DECODER_VARIANTS, VARIANTS, random_model
from tests.taught import SHAPE, SOURCES, TARGETS, taught

ctranslate2 = pytest.importorskip("ctranslate2", reason="CTranslate2 is an optional dependency (export)")

GREEDY, BEAM = TranslateOptions(beam=1, repair=False), TranslateOptions(beam=4, repair=False)
SHORT = [text.split(".")[0] for text in UNSEEN[:3]]


def expressible(variants: dict[str, ModelConfig]) -> list[str]:
    """Those that CTranslate2 has words for."""
    names = []
    for name, config in variants.items():
        with contextlib.suppress(ConfigError):
            check(config)
            names.append(name)
    return names


def test_little_is_refused() -> None:
    refused = [name for name in VARIANTS if name not in expressible(VARIANTS)]
    assert refused == ["rotary-dynamic", "rotary-llama3", "rotary-yarn", "rotary-longrope", "window"]
    with pytest.raises(ConfigError, match=r"not support stack = 'lstm', attention\.window = 3; try --to huggingface"):
        check(dataclasses.replace(VARIANTS["window"], stack="lstm"))


@pytest.mark.parametrize("name", expressible(VARIANTS))
def test_every_shape_computes_the_same(name: str, tmp_path: Path) -> None:
    """All at once, as it scores, and step by step, as it translates."""
    words = tokenizer("unigram")
    torch.manual_seed(1)
    model = random_model(VARIANTS[name], words.size, words.pad)
    loaded = LoadedModel(model, Description(VARIANTS[name], words, Task((("en", "de"),))))
    write_translator(loaded, tmp_path, "float32")
    theirs = ctranslate2.Translator(str(tmp_path), intra_threads=1)
    sources, targets = ([words.encode(text)[:6] for text in texts] for texts in (SHORT, reversed(SHORT)))
    names = words.pieces(range(words.size))
    spelt = [[[names[i] for i in row] for row in rows] for rows in (sources, targets)]

    for source, target, scored in zip(sources, targets, theirs.score_batch(*spelt), strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([[*source, words.eos]]), torch.tensor([[words.sos, *target]]))[0]
        logits[:, list(words.specials)] = NEVER
        expected = logits.log_softmax(-1).gather(1, torch.tensor([[*target, words.eos]]).T)[:, 0]
        assert (expected - torch.tensor(scored.log_probs)).abs().max() < 1e-4

    limit = 7 if name == "positions-from-two" else 12
    for source, row in zip(sources, spelt[0], strict=True):
        found = theirs.translate_batch([row], beam_size=1, max_decoding_length=limit)[0].hypotheses[0]
        assert words.piece_ids(found) == greedy(model, [*source, words.eos], words, limit)


def greedy(model: torch.nn.Module, source: list[int], words: Tokenizer, limit: int) -> list[int]:
    """The plainest search: everything anew for each token."""
    written: list[int] = []
    while len(written) < limit:
        with torch.no_grad():
            logits = model(torch.tensor([source]), torch.tensor([[words.sos, *written]]))[0, -1]
        logits[list(words.specials)] = NEVER
        token = int(logits.argmax())
        if token == words.eos:
            break
        written.append(token)
    return written


@pytest.mark.parametrize("name", expressible(DECODER_VARIANTS))
def test_every_language_model_goes_on_alike(name: str, tmp_path: Path) -> None:
    words = tokenizer("unigram")
    torch.manual_seed(1)
    model = random_model(DECODER_VARIANTS[name], words.size, words.pad)
    write_generator(
        LoadedModel(model, Description(DECODER_VARIANTS[name], words, Task(kind="causal_lm"))), tmp_path, "float32"
    )
    theirs = ctranslate2.Generator(str(tmp_path), intra_threads=1)
    names, never = words.pieces(range(words.size)), [words.pad, words.sos]
    for text in SHORT:
        ids = words.encode(text)[:6]
        start = [names[i] for i in ids]
        found = theirs.generate_batch([start], max_length=8, include_prompt_in_result=False, end_token=[])
        expected = list(ids)
        for _ in range(8):
            with torch.no_grad():
                logits = model(torch.tensor([expected]))[0, -1]
            logits[never] = NEVER
            expected.append(int(logits.argmax()))
        assert found[0].sequences_ids[0] == expected[len(ids) :]


@pytest.mark.parametrize("shape", [GPT, LLAMA], ids=["gpt", "llama"])
def test_a_folder_of_a_language_model(shape: ModelConfig, tmp_path: Path) -> None:
    loaded = language_model(shape)
    folder = exported(loaded, tmp_path)
    assert "ctranslate2.Generator" in (folder / "README.md").read_text()
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    start = library.encode("The cat", add_special_tokens=False)
    assert loaded.tokenizer is not None
    assert start.ids == loaded.tokenizer.encode("The cat")
    generator = ctranslate2.Generator(str(folder), intra_threads=1)
    assert generator.generate_batch([start.tokens], max_length=3)[0].sequences_ids[0][: len(start.ids)] == start.ids


@pytest.mark.parametrize("kind", ["unigram", "bpe", "byte_bpe", "wordpiece", "words", "characters", "bytes"])
def test_its_program_translates_as_we_do(kind: str, tmp_path: Path) -> None:
    """Whatever cuts the text: greedily all sentences, those it has learned and others, except that its length limit is
    the batch's; with a beam those it has learned."""
    loaded = taught(kind=kind, usual_tokens=200, max_tokens=200)
    folder = exported(loaded, tmp_path)
    translator = Translator(loaded, device="cpu")
    for text, found, expected in zip(
        TEXTS, translated(folder, TEXTS, "--beam", "1"), translator.translate(TEXTS, options=GREEDY), strict=True
    ):
        assert found == expected.text if expected.complete else found.startswith(expected.text), text
    ours = [result.text for result in translator.translate(SOURCES, options=BEAM)]
    learned = [index for index, (text, target) in enumerate(zip(ours, TARGETS, strict=True)) if text == target]
    assert learned
    theirs = translated(folder, SOURCES)
    assert [theirs[index] for index in learned] == [ours[index] for index in learned]


@pytest.mark.parametrize("order", ["pre", "post"])
def test_quantised_it_still_translates(order: str, tmp_path: Path) -> None:
    loaded = taught(shape=replaced(SHAPE, {"norm.order": order}))
    ours = [result.text for result in Translator(loaded, device="cpu").translate(SOURCES, options=BEAM)]
    assert ours == TARGETS
    sizes = {}
    for precision, right in (("float32", 27), ("float16", 27), ("int8", 26)):
        folder = exported(loaded, tmp_path / precision, precision)
        found = translated(folder, SOURCES)
        assert sum(one == other for one, other in zip(found, ours, strict=True)) >= right
        sizes[precision] = (folder / "model.bin").stat().st_size
    assert max(sizes["int8"], sizes["float16"]) < sizes["float32"]


def test_languages_are_asked_for(tmp_path: Path) -> None:
    loaded = taught(both_directions=True)
    folder = exported(loaded, tmp_path)
    assert translated(folder, SOURCES, "--to", "de") == TARGETS
    assert translated(folder, TARGETS, "--from", "de") == SOURCES
    facts = json.loads((folder / "translation.json").read_text())
    assert [each["before"] for each in facts["directions"]] == [["<2de>"], ["<2en>"]]


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_published_model_with_tables_of_its_own(order: str, tmp_path: Path) -> None:
    """As OPUS-MT is: two SentencePiece models, and a table of ids."""
    pytest.importorskip("transformers", reason="its files are read as the reference writes them")
    loaded = taught(shape=replaced(SHAPE, {"norm.order": order}))
    save_model(tmp_path / "own", loaded)
    convert(tmp_path / "own", tmp_path / "opus-en-de", "huggingface")
    published = load(tmp_path / "opus-en-de")
    assert published.tokenizer is not None
    assert published.tokenizer.kind == "mapped"
    folder = exported(published, tmp_path)
    texts = [*SOURCES, *UNSEEN[:2]]
    ours = [result.text for result in Translator(published, device="cpu").translate(texts, options=GREEDY)]
    assert translated(folder, texts, "--beam", "1") == ours
    assert ours[: len(SOURCES)] == TARGETS


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    folder = exported(taught(), tmp_path)
    folder.rename(tmp_path / "fast")
    monkeypatch.chdir(tmp_path)
    exec(compile(example(0), "docs/export.md", "exec"), {})
    assert capsys.readouterr().out == "Ein Hund isst das Haus.\n"


def test_a_model_that_exists_in_int8_only_can_be_exported(tmp_path: Path) -> None:
    save_model(tmp_path / "whole", taught())
    convert(tmp_path / "whole", tmp_path / "small", "headwise", precision="int8")
    export(tmp_path / "small", tmp_path / "exported")
    assert translated(tmp_path / "exported", SOURCES) == TARGETS
