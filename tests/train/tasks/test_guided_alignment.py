"""Guided alignment: a head learns to align words, translation uses it, and nothing changes without it."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.stream import batches_from
from headwise.data.batch.token_links import NONE
from headwise.decode.alignment import align
from headwise.decode.engines.engine import Aligner
from headwise.decode.engines.native.native_engine import native_runs
from headwise.decode.scoring import cross_attention
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import convert
from headwise.presets import resolve
from headwise.recipe import override
from headwise.train.run import train
from headwise.train.start import recipe_from
from headwise.train.tasks import link_tables as link_tables_module
from headwise.train.tasks.guided_alignment import Guidance
from headwise.train.tasks.link_tables import FILE, link_tables
from headwise.train.tasks.translation_task import TranslationJob, open_job, teacher_forcing
from tests.train.small_runs import silent

WORDS = {
    word: number for number, word in enumerate(("ran", "cat", "dog", "sun", "sea", "red", "big", "low", "new", "old"))
}
"""English words; their translations are w0, w1 and so on."""


def random_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of different words, whose translation has the opposite order."""
    draw = random.Random(seed)
    sentences = [draw.sample(list(WORDS), draw.randint(2, 6)) for _ in range(count)]
    return [(" ".join(words), " ".join(f"w{WORDS[word]}" for word in reversed(words))) for words in sentences]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in random_pairs(600, 1)), encoding="utf-8")
    return path


def recipe(pairs: Path, out: Path, settings: dict[str, Any] | None = None) -> Recipe:
    tables: dict[str, Any] = {
        "seed": 2,
        "out": str(out),
        "model": {
            "preset": "tiny",
            "width": 32,
            "layers": 2,
            "encoder.layers": 1,
            "attention.heads": 2,
            "feed_forward.hidden": 32,
            "dropout": 0.1,
        },
        "text": {"kind": "words"},
        "data": {
            "source_language": "en",
            "target_language": "xx",
            "train": [{"pairs": [str(pairs)]}],
            "held_out": 10,
            "cache": str(pairs.parent / "cache"),
        },
        "train": {
            "steps": 120,
            "batch_tokens": 256,
            "learning_rate": 0.01,
            "validate_every": 120,
            "validate_bleu": False,
            "checkpoint_every": 120,
            "guided_alignment": 0.5,
            "device": "cpu",
        },
    }
    tables = override(tables, settings or {})
    if "init" in tables:
        tables["model"] = {}
    return recipe_from(tables)


def job(of: Recipe) -> TranslationJob:
    return open_job(of, Path(of.out), torch.device("cpu"), silent)


def errors(translator: Translator, later: int, head: tuple[int, ...] = ()) -> float:
    """The share of words that are not aligned with their translations."""
    tokenizer, wrong, words = translator.tokenizer, 0, 0
    for source, target in random_pairs(30, 9):
        ids = [*tokenizer.encode(source), tokenizer.eos], [tokenizer.sos, *tokenizer.encode(target)]
        (weights,) = cross_attention(translator.model, [ids[0]], [ids[1]], head)
        found = align(weights[later:], tokenizer.word_ids(ids[0]), tokenizer.word_ids(ids[1][1:]))
        count = len(source.split())
        wrong += len({(count - 1 - word, word) for word in range(count)} - set(found))
        words += count
    return wrong / words


def test_a_head_learns_to_align_words_and_translation_uses_it(pairs: Path, tmp_path: Path) -> None:
    guided, plain = tmp_path / "guided", tmp_path / "plain"
    train(recipe(pairs, guided), silent)
    train(recipe(pairs, plain, {"train.guided_alignment": 0}), silent)
    translator = Translator(guided)
    assert translator.task.alignment_head == (0, 0)
    assert Translator(plain).task.alignment_head == ()
    assert errors(translator, 1, (0, 0)) < 0.05
    assert errors(Translator(plain), 1, (0, 0)) > 0.2
    assert errors(Translator(plain), 0) > 0.2

    convert(guided, tmp_path / "int8", "headwise", precision="int8")
    with Translator(tmp_path / "int8") as int8:
        assert isinstance(int8._engine, Aligner) or not native_runs(int8.config)
        for each in (translator, int8):
            assert share_of_right_links(each) > 0.9

    again = job(recipe(pairs, tmp_path / "again", {"init": str(guided), "train.guided_alignment": 0}))
    assert again.loaded.task.alignment_head == (0, 0), "further training keeps the head"
    assert next(batches_from(again.stream))[0].links is None


def share_of_right_links(translator: Translator) -> float:
    """Of the words in translations that are the translation of some source word."""
    translations = {f"w{number}": word for word, number in WORDS.items()}
    right = linked = 0
    sources = [source for source, _ in random_pairs(20, 11)]
    for source, result in zip(sources, translator.translate(sources, alignments=True), strict=True):
        for there, here in result.alignment:
            word = translations.get(result.text.split()[here])
            if word in source.split():
                linked += 1
                right += source.split()[there] == word
    assert linked > 20
    return right / linked


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # by the tracer of torch.compile
@pytest.mark.parametrize("packed", ["never", "always"])
@pytest.mark.parametrize("autocast", [None, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_loss_is_the_cross_entropy_of_one_head(
    pairs: Path, tmp_path: Path, packed: str, autocast: torch.dtype | None, compiled: bool
) -> None:
    of = job(recipe(pairs, tmp_path / "run", {"train.packed": packed, "model.dropout": 0.0}))
    model, batch = of.loaded.model, next(batches_from(of.stream))[0]
    assert batch.links is not None
    assert int((batch.links != NONE).sum()) > 50
    assert (packed == "always") == hasattr(batch, "shown")
    if compiled:
        torch.compiler.reset()
        for layer in model.decoder.layers:  # type: ignore[union-attr]
            layer.compile(backend="aot_eager", fullgraph=True)
    objectives = [teacher_forcing(0.1, 0.0, Guidance(layer, 1, 0.7)) for layer in (0, 1)]
    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        plain = teacher_forcing(0.1)(model, batch)
        guided = [objective(model, batch) for objective in objectives]
        twice = teacher_forcing(0.1, 5.0, Guidance(0, 1, 0.7))(model, batch)
    rough = {"rel": 0.05} if autocast else {"rel": 1e-4}
    for layer, found in enumerate(guided):
        assert (found.loss - plain.loss).item() == pytest.approx(0.7 * slow_loss(model, of, layer), **rough)
        assert found.nll.item() == pytest.approx(plain.nll.item())
    assert twice.loss.item() == pytest.approx(guided[0].loss.item(), rel=1e-4), "two equal passes, their mean"
    guided[1].loss.backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())
    torch.compiler.reset()


def slow_loss(model: nn.Module, of: TranslationJob, layer: int) -> float:
    """By the captured weights of head 1, pair by pair, in float32."""
    batch = next(batches_from(of.stream))[0]
    if hasattr(batch, "shown"):
        members = np.array([index for _, index in batch.examples])
        batch = of.stream._rows.batch(members, 0)  # type: ignore[assignment]
    total = 0.0
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        encoded = model.encode(batch.source)  # type: ignore[operator]
        weights = model.decode(batch.target[:, :-1], encoded, capture=True).cross_weights[layer][:, 1]  # type: ignore[operator]
        for row, position in (batch.links != NONE).nonzero().tolist():  # type: ignore[union-attr]
            total -= weights[row, position, batch.links[row, position]].log().item()  # type: ignore[index]
    return total


def test_links_are_learnt_once_and_a_damaged_table_again(pairs: Path, tmp_path: Path) -> None:
    prepared = job(recipe(pairs, tmp_path / "run")).prepared
    said: list[str] = []
    first = link_tables(tmp_path, prepared.tokenizer.size, prepared.train, said.append)
    assert said == ["learning word alignments of en-xx"]
    assert set(first) == {("en", "xx"), ("xx", "en")}
    second = link_tables(tmp_path, prepared.tokenizer.size, prepared.train, said.append)
    (tmp_path / FILE.format("-en-xx")).write_bytes(b"damaged")
    third = link_tables(tmp_path, prepared.tokenizer.size, prepared.train, said.append)
    assert len(said) == 2
    for again in (second, third):
        for name in first:
            assert np.array_equal(again[name].cells, first[name].cells)
            assert np.array_equal(again[name].chances, first[name].chances)


def test_all_corpora_of_a_direction_are_learnt_from(pairs: Path, tmp_path: Path) -> None:
    """Those without languages, too, whose opposite direction has the same name; but the opposite one adds nothing."""
    (corpus,) = job(recipe(pairs, tmp_path / "run")).prepared.train
    half = [dataclasses.replace(corpus, source_language="", target_language="")] * 2
    other = dataclasses.replace(corpus, source_language="xx", target_language="en", corpus=corpus.corpus.swapped())
    seen: list[int] = []

    def counted(groups: Any, vocabulary: int) -> Any:
        seen.extend(len(group) for group in groups)
        return learnt(groups, vocabulary)

    learnt = link_tables_module._learnt
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_tables_module, "_learnt", counted)
        tables = link_tables(tmp_path, 300, [*half, corpus, other], silent)
    assert seen == [2, 1]
    assert set(tables) == {("", ""), ("en", "xx"), ("xx", "en")}


def test_links_are_right(pairs: Path, tmp_path: Path) -> None:
    of = job(recipe(pairs, tmp_path / "run"))
    tokenizer, right, linked = of.prepared.tokenizer, 0, 0
    batch = next(batches_from(of.stream))[0]
    numbers = {f"w{number}": word for word, number in WORDS.items()}
    assert batch.links is not None
    for source, target, links in zip(batch.source.tolist(), batch.target.tolist(), batch.links.tolist(), strict=True):  # type: ignore[union-attr]
        for token, link in zip(target, links, strict=False):
            if link != NONE:
                linked += 1
                right += tokenizer.decode([source[link]]) == numbers.get(tokenizer.decode([token]))
    assert linked > 0.8 * (batch.count - len(batch))
    assert right == linked


def test_a_model_without_multi_head_attention_is_refused(pairs: Path, tmp_path: Path) -> None:
    tables = {"model": {"preset": "lstm", "width": 16, "layers": 1}}
    given = dataclasses.replace(recipe(pairs, tmp_path / "run"), model=resolve(tables).model)
    with pytest.raises(ConfigError, match=r"leave train\.guided_alignment out"):
        train(given, silent)


def test_a_given_head_is_used_by_every_engine(pairs: Path, tmp_path: Path) -> None:
    """The rows of a trained head are those of the decoder's input: one later than those that predict a token."""
    loaded = job(recipe(pairs, tmp_path / "run")).loaded
    head = (1, 1)
    task = dataclasses.replace(loaded.task, alignment_head=head)
    given = LoadedModel(loaded.model.eval(), dataclasses.replace(loaded.description, task=task))
    translator = Translator(given, engine="plain")
    tokenizer, source = translator.tokenizer, "cat dog sun sea red"
    (result,) = translator.translate([source], alignments=True)
    ids = [*tokenizer.encode(source), tokenizer.eos], [tokenizer.sos, *tokenizer.encode(result.text)]
    (weights,) = cross_attention(translator.model, [ids[0]], [ids[1]], head)
    words = tokenizer.word_ids(ids[0]), tokenizer.word_ids(ids[1][1:])  # which have no punctuation marks
    assert result.alignment == align(weights[1:], *words)
    assert result.alignment != align(weights, *words) or result.alignment != align(weights[:-1], *words)
