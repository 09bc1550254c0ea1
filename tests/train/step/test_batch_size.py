"""The batch size that fits is found, and steps have as many tokens whatever fits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.errors import ConfigError
from headwise.files.tables import read_table
from headwise.recipe import from_tables, to_tables
from headwise.train.run import train
from headwise.train.step.backward import Plain
from headwise.train.step.batch_size import (
    CPU_TOKENS,
    FEWEST,
    STEP_TOKENS,
    find_batch_tokens,
    largest,
    with_fitting_batches,
    with_step_tokens,
    with_stored_batches,
)
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import (
    Batches,
    batch,
    fit_recipe,
    run_recipe,
    silent,
    tiny_model,
    write_corpus,
)

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA's")


@pytest.mark.parametrize("most", [1, 255, 256, 300, 511, 4097, 12_000, 24_999, 25_000, 10**9])
def test_the_largest_that_fits_is_found_in_few_tries(most: int) -> None:
    tried: list[int] = []

    def fits(tokens: int) -> bool:
        tried.append(tokens)
        return tokens <= most

    found = largest(fits, 256, 25_000)
    if most < 256:
        assert found == 256
    else:
        assert found <= most
        assert found >= 0.94 * min(most, 25_000)
    assert len(tried) <= 14
    assert len(set(tried)) == len(tried)


@pytest.mark.parametrize("found", [256, 1000, 9_999, 12_500, 24_000, 25_000])
@pytest.mark.parametrize("factor", [1, 3])
def test_a_step_has_as_many_tokens_whatever_fits(found: int, factor: int) -> None:
    recipe = with_step_tokens(fit_recipe(batch_tokens="auto", accumulate=factor), found)
    assert recipe.train.batch_tokens <= found
    assert recipe.train.batch_tokens * recipe.train.accumulate == pytest.approx(factor * STEP_TOKENS, rel=0.02)


def test_auto_is_a_word_of_the_recipe_and_survives_json() -> None:
    recipe = fit_recipe(batch_tokens="auto")
    assert recipe.train.batch_tokens == 0
    assert from_tables(type(recipe), to_tables(recipe)) == recipe
    with pytest.raises(ConfigError, match="whole number"):
        fit_recipe(batch_tokens="automatic")


def test_a_run_on_a_cpu_keeps_what_it_began_with(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    said: list[str] = []
    recipe = run_recipe(corpus, tmp_path / "run", {"train.batch_tokens": "auto", "train.steps": 2})
    train(recipe, silent)
    stored = read_table(tmp_path / "run" / "recipe.json")["train"]
    assert (stored["batch_tokens"], stored["accumulate"]) == (CPU_TOKENS, 2)
    train(run_recipe(corpus, tmp_path / "run", {"train.batch_tokens": "auto", "train.steps": 4}), said.append)
    assert not [text for text in said if "changed" in text and "batch_tokens" in text]


def test_a_run_that_was_begun_elsewhere_goes_on_with_its_batches(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    begun = run_recipe(corpus, tmp_path / "run", {"train.batch_tokens": 96, "train.accumulate": 5, "train.steps": 1})
    train(begun, silent)
    again = with_stored_batches(
        run_recipe(corpus, tmp_path / "run", {"train.batch_tokens": "auto", "train.accumulate": 1}),
        tmp_path / "run" / "recipe.json",
    )
    assert (again.train.batch_tokens, again.train.accumulate) == (96, 5)


def test_pictures_are_counted_by_people() -> None:
    recipe = fit_recipe(batch_tokens="auto")
    pictures = type(recipe)(task="images", train=recipe.train)
    with pytest.raises(ConfigError, match="number of images"):
        with_fitting_batches(pictures, lambda trial: None, torch.device("cpu"), silent)


@pytest.fixture
def limited() -> Any:
    """A GPU of which this process may use one gigabyte."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(2**30 / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


class Longest(Batches):
    def longest(self, batch_tokens: int) -> Any:
        return batch([255] * max(1, batch_tokens // 257))


@CUDA
def test_the_budget_of_a_gpu_is_found(limited: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    total = torch.cuda.get_device_properties(0).total_memory
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, total))
    model = tiny_model(width=256, feed_forward__hidden=1024).cuda()
    recipe = fit_recipe(batch_tokens="auto")
    before = torch.cuda.get_rng_state()
    found = find_batch_tokens(model, teacher_forcing(0.1), Longest([]), recipe, None)
    assert FEWEST <= found < STEP_TOKENS
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert all(weight.grad is None for weight in model.parameters())
    backward = Plain(model, teacher_forcing(0.1), None)
    backward(Longest([]).longest(found).to(torch.device("cuda")), 1)
