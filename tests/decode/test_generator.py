"""Texts that go on: the fast way against the obvious one."""

import dataclasses
from collections.abc import Callable

import pytest
import torch

from headwise.config import ModelConfig
from headwise.decode.generator import GenerateOptions, Generator
from headwise.decode.search.options import SamplingOptions
from headwise.errors import ConfigError, DataError
from headwise.models.folder.description import Ids, LoadedModel
from headwise.recipe import replaced
from tests.kinds import GPT, LLAMA, LSTM_LM, language_model, remembering
from tests.taught import SOURCES

SHAPES = {
    "learned": GPT,
    "rotary": LLAMA,
    "relative": replaced(LLAMA, {"positions.kind": "relative"}),
    "window": replaced(LLAMA, {"attention.window": 3}),
    "parallel": replaced(LLAMA, {"norm.order": "parallel"}),
    "lstm": LSTM_LM,
}
PROMPTS = ["", "A", "The cat sees", "My sister finds a small", "fish fish fish fish fish", "The dog"]

every_shape = pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)


@torch.inference_mode()
def obvious(loaded: LoadedModel, generator: Generator, prompt: str, count: int) -> tuple[list[int], float]:
    """The likeliest token after all that stands there, again and again; and the log-probability of them all."""
    words = generator.tokenizer
    ids, total = generator.prompt_ids(prompt), 0.0
    start = len(ids)
    for _ in range(count):
        scores = loaded.model(torch.tensor([ids]))[0, -1].log_softmax(-1)
        allowed = scores.clone()
        allowed[[i for i in words.specials if i not in (words.eos, words.unk)]] = -torch.inf
        ids = [*ids, int(allowed.argmax())]
        total += float(scores[ids[-1]])
        if ids[-1] == words.eos:
            break
    return ids[start:], total


@every_shape
def test_it_is_the_obvious_loop(config: ModelConfig) -> None:
    """With a cache, in one batch of prompts of different lengths: what full passes over one text give."""
    loaded = language_model(config)
    generator = Generator(loaded, device="cpu")
    options = GenerateOptions(max_tokens=12, length_penalty=0.0)
    for prompt, result in zip(PROMPTS, generator.generate(PROMPTS, options=options), strict=True):
        ids, score = obvious(loaded, generator, prompt, 12)
        assert [*result.ids, generator.tokenizer.eos][: len(ids)] == ids
        assert result.score == pytest.approx(score, abs=1e-3)
        assert result.prompt == prompt


@every_shape
@pytest.mark.parametrize("beam", [1, 3])
def test_neighbours_change_nothing(config: ModelConfig, beam: int) -> None:
    generator = Generator(language_model(config), device="cpu")
    options = GenerateOptions(max_tokens=8, beam=beam, candidates=beam)
    for prompt, together in zip(PROMPTS, generator.generate(PROMPTS, options=options), strict=True):
        alone = generator.generate(prompt, options=options)
        assert [each.ids for each in together.candidates] == [each.ids for each in alone.candidates]
        assert together.score == pytest.approx(alone.score, abs=1e-4)
        assert len(together.candidates) == beam


def test_what_was_learned_by_heart_is_written_and_ends() -> None:
    generator = Generator(remembering(), device="cpu")
    prompts = ["The", "A dog", "My sister eats", ""]
    for prompt, result in zip(
        prompts, generator.generate(prompts, options=GenerateOptions(max_tokens=100)), strict=True
    ):
        assert prompt + result.text in SOURCES
        assert result.finished
        assert generator.tokenizer.eos not in result.ids
    cut = generator.generate("The", options=GenerateOptions(max_tokens=2))
    assert not cut.finished
    assert len(cut.ids) == 2


def test_a_beam_finds_nothing_less_likely() -> None:
    generator = Generator(remembering(), device="cpu")
    for prompt in ("The", "A", ""):
        scores = [
            generator.generate(prompt, options=GenerateOptions(max_tokens=60, beam=beam, length_penalty=0.0)).score
            for beam in (1, 6)
        ]
        assert scores[1] >= scores[0] - 1e-4


def test_the_score_is_that_of_a_pass_over_the_whole() -> None:
    loaded = remembering()
    generator = Generator(loaded, device="cpu")
    result = generator.generate("A dog", options=GenerateOptions(length_penalty=1.0))
    ids, score = obvious(loaded, generator, "A dog", 100)
    assert result.score == pytest.approx(score / len(ids), abs=1e-4)


def test_samples_follow_their_seed() -> None:
    generator = Generator(language_model(), device="cpu")

    def draw(seed: int, **how: object) -> list[list[int]]:
        options = GenerateOptions(max_tokens=10, candidates=3, sampling=SamplingOptions(**how), seed=seed)  # type: ignore[arg-type]
        return [each.ids for each in generator.generate("The cat", options=options).candidates]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert len({tuple(ids) for ids in draw(1)}) == 3
    greedy = generator.generate("The cat", options=GenerateOptions(max_tokens=10))
    assert draw(1, top_k=1) == [greedy.ids] * 3


@pytest.mark.parametrize("sampling", [None, SamplingOptions(temperature=1.5)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("model", [language_model, remembering])
def test_watching_shows_the_text_that_is_written(
    model: Callable[[], LoadedModel], sampling: SamplingOptions | None
) -> None:
    generator = Generator(model(), device="cpu")
    options = GenerateOptions(max_tokens=20, sampling=sampling, seed=4)
    told: list[str] = []
    watched = generator.generate("The", options=options, watch=told.append)
    unwatched = generator.generate("The", options=options)
    assert watched == unwatched
    assert watched.text.startswith("".join(told))
    if not watched.text.endswith("�"):  # half a character is not told
        assert "".join(told) == watched.text


def test_no_ngram_is_written_twice() -> None:
    generator = Generator(language_model(), device="cpu")
    result = generator.generate("The", options=GenerateOptions(max_tokens=30, no_repeat=2))
    pairs = list(zip(result.ids, result.ids[1:], strict=False))
    assert len(pairs) == len(set(pairs))


def test_no_special_is_written() -> None:
    generator = Generator(language_model(), device="cpu")
    words = generator.tokenizer
    sampling = SamplingOptions(temperature=50.0)  # nearly uniform
    for result in generator.generate("The", options=GenerateOptions(40, candidates=20, sampling=sampling)).candidates:
        assert not {words.pad, words.sos, words.eos} & set(result.ids)


def test_learned_positions_have_an_end() -> None:
    generator = Generator(language_model(GPT), device="cpu")
    result = generator.generate("The cat", options=GenerateOptions(max_tokens=1000))
    assert len(generator.prompt_ids("The cat")) + len(result.ids) <= GPT.positions.max_positions
    with pytest.raises(DataError, match="this model has 48 positions"):
        generator.generate("fish " * 100)


def test_many_prompts_come_back_in_order() -> None:
    generator = Generator(remembering(), device="cpu")
    prompts = [SOURCES[i % len(SOURCES)][: 4 + i % 9] for i in range(60)]
    results = generator.generate(prompts, options=GenerateOptions(max_tokens=100))  # more than fit one batch
    assert [result.prompt for result in results] == prompts
    assert generator.generate([]) == []


def test_wrong_options() -> None:
    generator = Generator(language_model(), device="cpu")
    with pytest.raises(ConfigError, match="max_tokens must be at least 1"):
        GenerateOptions(max_tokens=0)
    with pytest.raises(ConfigError, match="seed"):
        GenerateOptions(seed=-1)
    with pytest.raises(ConfigError, match="length_penalty"):
        GenerateOptions(length_penalty=float("nan"))
    for prompts, options in ((["a", "b"], GenerateOptions()), (["a"], GenerateOptions(beam=2))):
        with pytest.raises(ConfigError, match="single prompt"):
            generator.generate(prompts, options=options, watch=print)


@pytest.mark.parametrize("beam", [1, 3])
def test_any_of_several_ends_ends_a_text(beam: int) -> None:
    """Llama 3 and others have more than one; the text stops before it, and the search is no other up to there."""
    loaded = remembering()
    whole = Generator(loaded, device="cpu").generate("The cat")
    end = whole.ids[-2]
    ids = Ids(ends=(loaded.description.specials.eos or 0, end))
    described = dataclasses.replace(loaded.description, ids=ids)
    several = Generator(dataclasses.replace(loaded, description=described), device="cpu")
    cut = several.generate("The cat", options=GenerateOptions(beam=beam, candidates=beam))
    assert all(end not in each.ids for each in cut.candidates)
    assert cut.finished
    if beam == 1:
        assert cut.ids == whole.ids[: whole.ids.index(end)]
        watched: list[str] = []
        assert several.generate("The cat", watch=watched.append).ids == cut.ids
        assert "".join(watched) == cut.text
