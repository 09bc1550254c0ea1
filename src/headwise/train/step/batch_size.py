"""The batch size that fits in a GPU's memory, found before a run: `train.batch_tokens = "auto"`.

A step has `STEP_TOKENS` tokens whatever the memory, so that a model learns the same on a small GPU as on a large one:
a small one computes several batches per step, whose gradients are summed.
"""

import dataclasses
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.stream import Stream
from headwise.devices import autocast_dtype
from headwise.errors import CheckpointError, ConfigError
from headwise.files.tables import read_table
from headwise.train.step.backward import Plain
from headwise.train.step.out_of_memory import is_out_of_memory

STEP_TOKENS = 25_000
"""Tokens per step, as in the paper for each language."""
CPU_TOKENS = 4096
"""Tokens per batch on a CPU, which has enough memory but is slow: many small steps are better there."""
FEWEST = 256
"""The smallest batch that is tried."""
SHARE = 0.85
"""The share of free memory that a batch may use. The rest is for fragmentation and validation."""


def with_stored_batches(recipe: Recipe, stored: Path) -> Recipe:
    """The recipe with the batch size that the run was started with, if `stored` exists: a run keeps its batch size when
    it continues, on whatever machine."""
    if recipe.train.batch_tokens or not stored.exists():
        return recipe
    try:
        train = read_table(stored)["train"]
        return with_batches(recipe, int(train["batch_tokens"]), int(train["accumulate"]))
    except (CheckpointError, KeyError, TypeError, ValueError):  # damaged: `claim` refuses it, with advice
        return recipe


def with_batches(recipe: Recipe, batch_tokens: int, accumulate: int) -> Recipe:
    train = dataclasses.replace(recipe.train, batch_tokens=batch_tokens, accumulate=accumulate)
    return dataclasses.replace(recipe, train=train)


def with_fitting_batches(
    recipe: Recipe,
    open_job: Callable[[Recipe], Any],
    device: torch.device,
    say: Callable[[str], None],
    smallest: Callable[[int], int] = lambda found: found,
) -> Recipe:
    """The recipe with batches that fit in memory, if it leaves their size open.

    `smallest` gives the smallest of the sizes that all processes have found.
    """
    if recipe.train.batch_tokens:
        return recipe
    if recipe.task == "images":
        raise ConfigError('train.batch_tokens = "auto" is for texts: give the number of images in a batch')
    if device.type != "cuda":
        return with_batches(recipe, CPU_TOKENS, recipe.train.accumulate)
    job = open_job(with_batches(recipe, FEWEST, recipe.train.accumulate))
    autocast = autocast_dtype(recipe.train.precision, device)
    found = smallest(find_batch_tokens(job.loaded.model, job.objective, job.stream, recipe, autocast))
    recipe = with_step_tokens(recipe, found)
    tokens, batches = recipe.train.batch_tokens, recipe.train.accumulate
    say(f"batches of {tokens:,} tokens fit in memory, {batches} per step (train.batch_tokens, train.accumulate)")
    return recipe


def with_step_tokens(recipe: Recipe, found: int) -> Recipe:
    """The recipe with batches of at most `found` tokens, and as many per step as make `STEP_TOKENS`.

    `train.accumulate` stays a factor: 4 gives steps of four times as many tokens.
    """
    batches = -(-STEP_TOKENS // min(found, STEP_TOKENS))
    return with_batches(recipe, -(-STEP_TOKENS // batches), batches * recipe.train.accumulate)


def find_batch_tokens(
    model: nn.Module, objective: Any, stream: Stream[Any], recipe: Recipe, autocast: torch.dtype | None
) -> int:
    """The largest budget of tokens, up to a step's, with which a batch of the longest rows fits in this GPU's memory.

    It is found by real passes, with memory reserved for the optimiser. Gradients and the random state are unchanged
    afterwards.
    """
    device = next(model.parameters()).device
    backward = Plain(model, objective, autocast)
    random_state = torch.cuda.get_rng_state(device)
    model.train()

    def fits(tokens: int) -> bool:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        before, free = torch.cuda.memory_reserved(device), torch.cuda.mem_get_info(device)[0]
        good = _pass_fits(backward, stream, tokens, recipe)
        backward.clear_gradients()
        return good and torch.cuda.max_memory_reserved(device) - before <= SHARE * free

    try:
        return largest(fits, FEWEST, STEP_TOKENS)
    finally:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.set_rng_state(random_state, device)


def _pass_fits(backward: Plain, stream: Stream[Any], tokens: int, recipe: Recipe) -> bool:
    """Whether a batch of this budget fits beside the optimiser's state and the average of the weights."""
    copies = 2 + (recipe.train.ema > 0)
    try:
        held = [
            torch.empty_like(weight, dtype=torch.float32)
            for weight in backward.model.parameters()
            if weight.requires_grad
            for _ in range(copies)
        ]
        batch = stream.longest(tokens).to(backward.device)
        for _ in range(2):  # the second pass has the gradients of the first in memory
            backward(batch, max(1, batch.count))
        torch.cuda.synchronize(backward.device)
        del held
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def largest(fits: Callable[[int], bool], lowest: int, highest: int) -> int:
    """The largest number, to about a twentieth, for which `fits` holds: by doubling, then by halving the interval.

    It is `lowest` if nothing fits: a batch of one row may be that large whatever the budget.
    """
    good, bad = 0, highest + 1
    tried = lowest
    while tried < bad:
        if fits(tried):
            good = tried
            tried = min(2 * tried, highest) if tried < highest else bad
        else:
            bad = tried
    while good and bad - good > max(1, good // 20) and bad <= highest:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good or lowest
