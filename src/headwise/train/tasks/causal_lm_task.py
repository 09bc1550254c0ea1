"""The task of causal language modelling: every token of a row is predicted from those before it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headwise.config import Recipe
from headwise.data.batch.text_rows import TextBatch, TextRowStream, ordered_rows
from headwise.data.prepare.plain_text import PreparedText, TokenText
from headwise.data.prepare.result import SourceFile
from headwise.errors import ConfigError
from headwise.models.folder.description import LoadedModel, Task
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored
from headwise.train.start import first_model, given_tokenizer, presets_of, starting_point
from headwise.train.step.learner import Objective, Validate
from headwise.train.step.loss import TokenLoss, prediction_loss
from headwise.train.tasks.language_tasks import (
    LanguageScores,
    check_language,
    describe,
    final_texts,
    language_card,
    open_text,
    size_of_text,
)


def check(recipe: Recipe, model: nn.Module) -> None:
    if not hasattr(model, "decode") or hasattr(model, "encode"):
        raise ConfigError(
            f"a model of the family {recipe.model.family} does not continue text: choose a causal_lm, such as the "
            f"presets {presets_of('causal_lm')}"
        )
    check_language(recipe)


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> "CausalJob":
    start = starting_point(recipe, device)
    prepared = open_text(recipe, run, say, given_tokenizer(start, recipe))
    tokenizer, block = prepared.tokenizer, recipe.language.block
    loaded = first_model(start, recipe, tokenizer, Task(kind="causal_lm", max_tokens=block), device)
    return CausalJob(
        recipe,
        prepared,
        loaded,
        TextRowStream(prepared.train, block, recipe.train.batch_tokens, recipe.seed),
        next_token(recipe.train.label_smoothing),
        validator(prepared.valid, recipe) if len(prepared.valid) > 1 else None,
    )


@dataclass(frozen=True)
class CausalJob:
    recipe: Recipe
    prepared: PreparedText
    loaded: LoadedModel
    stream: TextRowStream
    objective: Objective
    validate: Validate | None
    metrics: tuple[str, ...] = ("loss",)
    unit: str = "tokens"

    @property
    def data_key(self) -> str:
        return self.prepared.folder.name

    @property
    def files(self) -> list[SourceFile]:
        return self.prepared.files

    def describe(self) -> str:
        return describe(self.loaded, self.prepared)

    def finish(self, say: Say) -> dict[str, LanguageScores]:
        scores = {}
        for name, text in final_texts(self.prepared, self.recipe.data).items():
            if len(text) > 1:
                scores[name] = self._score(text)
                say(f"{name}:\n{scores[name]}")
            else:
                say(f"{name}: not measured: it has no token to predict")
        return scores

    def _score(self, text: TokenText) -> LanguageScores:
        with torch.no_grad():
            nll, tokens = likelihood(self.loaded.model, text, self.recipe, 0)
        characters, words = size_of_text(self.prepared.tokenizer, text.ids[1:])
        return LanguageScores(
            tokens,
            nll / tokens,
            bits_per_character=nll / math.log(2) / characters if characters else None,
            word_perplexity=math.exp(min(nll / words, 700.0)) if words else None,
        )

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        layers = self.loaded.config.layers
        return language_card("causal", layers, self.recipe, self.prepared, self.loaded, progress, scores, source)


def next_token(smoothing: float) -> Callable[[nn.Module, TextBatch], TokenLoss]:
    """The objective: all rows in one pass under the causal mask."""

    def objective(model: Any, batch: TextBatch) -> TokenLoss:
        hidden = model.decode(batch.tokens[:, :-1]).hidden
        targets = batch.tokens[:, 1:].flatten()
        return prediction_loss(hidden.flatten(0, 1), model.output_projection, targets, smoothing)

    return objective


def validator(valid: TokenText, recipe: Recipe) -> Validate:
    """The mean loss per token over the first `train.validate_pairs` rows of the validation text (0: all). Each row of
    `language.block` tokens is a context of its own."""

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
