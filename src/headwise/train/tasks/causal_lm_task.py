"""Causal language modelling: every token of a row is predicted from those before it."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.text_rows import TextBatch, TextRowStream, ordered_rows
from headwise.data.prepare.plain_text import TokenText
from headwise.errors import ConfigError
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say
from headwise.train.start import presets_of
from headwise.train.step.learner import Validate
from headwise.train.step.loss import TokenLoss, prediction_loss
from headwise.train.tasks.language_tasks import LanguageJob, LanguageScores, check_language, open_text


def check(recipe: Recipe, model: nn.Module) -> None:
    if not hasattr(model, "decode") or hasattr(model, "encode"):
        raise ConfigError(
            f"a model of the family {recipe.model.family} does not continue text: choose a causal_lm, such as the "
            f"presets {presets_of('causal_lm')}"
        )
    check_language(recipe)


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> LanguageJob:
    prepared, loaded = open_text(recipe, run, device, say)
    return LanguageJob(
        recipe,
        prepared,
        loaded,
        TextRowStream(prepared.train, recipe.language.block, recipe.train.batch_tokens, recipe.seed),
        next_token(recipe.train.label_smoothing),
        validator(prepared.valid, recipe) if len(prepared.valid) > 1 else None,
        ("loss",),
        lambda text: score(loaded.model, text, prepared.tokenizer, recipe),
        shortest=2,
    )


def score(model: nn.Module, text: TokenText, tokenizer: Tokenizer, recipe: Recipe) -> LanguageScores:
    """Scores per token, per character and per word; characters that the vocabulary cannot spell are not counted."""
    nll, tokens = likelihood(model, text, recipe, 0)
    characters = words = 0
    for start in range(1, len(text), 1 << 16):
        spelt = tokenizer.decode(text.ids[start : start + (1 << 16)].tolist())
        characters += len(spelt)
        words += len(spelt.split())
    return LanguageScores(
        tokens,
        nll / tokens,
        bits_per_character=nll / math.log(2) / characters if characters else None,
        word_perplexity=math.exp(min(nll / words, 700.0)) if words else None,
    )


def next_token(smoothing: float) -> Callable[[nn.Module, TextBatch], TokenLoss]:
    """The objective: all rows in one pass under the causal mask."""

    def objective(model: Any, batch: TextBatch) -> TokenLoss:
        hidden = model.decode(batch.tokens[:, :-1]).hidden
        targets = batch.tokens[:, 1:].flatten()
        return prediction_loss(hidden.flatten(0, 1), model.output_projection, targets, smoothing)

    return objective


def validator(valid: TokenText, recipe: Recipe) -> Validate:
    """The mean loss per token over the first `train.validate_pairs` rows of the validation text (0: all). The context
    of a token is its row, of `language.block` tokens."""

    def validate(model: nn.Module) -> dict[str, float]:
        nll, tokens = likelihood(model, valid, recipe, recipe.train.validate_pairs)
        return {"loss": nll / tokens}

    return validate


def likelihood(model: nn.Module, text: TokenText, recipe: Recipe, rows: int) -> tuple[float, int]:
    """The negative log-likelihood of a text, as a sum, and the number of its tokens."""
    device = next(model.parameters()).device
    objective = next_token(0.0)
    nll, tokens = torch.zeros((), device=device, dtype=torch.float64), 0
    for batch in ordered_rows(text, recipe.language.block, recipe.train.batch_tokens, rows):
        nll += objective(model, batch.to(device)).nll
        tokens += batch.count
    return nll.item(), tokens
