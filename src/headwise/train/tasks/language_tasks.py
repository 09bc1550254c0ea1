"""The job of a language model, causal or masked: prepared text, scores, model card."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from headwise.config import Recipe
from headwise.data.batch.stream import Stream
from headwise.data.prepare.plain_text import PreparedText, TextPreparation, TokenText
from headwise.data.prepare.result import SourceFile
from headwise.data.read.text_files import text_paths
from headwise.errors import ConfigError, DataError
from headwise.metrics import shown
from headwise.models.folder.description import LoadedModel, Task
from headwise.models.folder.weights import parameter_count
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored
from headwise.train.report.card import Card, batches_of, model_card, shape_of
from headwise.train.run_folder import data_folder
from headwise.train.set_names import VALIDATION, test_set_names
from headwise.train.start import first_model, given_tokenizer, starting_point
from headwise.train.step.learner import Objective, Validate


@dataclass(frozen=True)
class LanguageScores:
    """The scores of a language model on one text."""

    tokens: int
    loss: float
    """Mean negative log-likelihood per token."""
    bits_per_character: float | None = None
    """Per character of the text: comparable between tokenizers, which figures per token are not."""
    word_perplexity: float | None = None
    accuracy: float | None = None
    """The share of tokens whose most probable prediction is right."""

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "perplexity": self.perplexity}

    def __str__(self) -> str:
        lines = [f"loss {self.loss:.4f}, perplexity {self.perplexity:.3f} per token of the model"]
        if self.bits_per_character is not None:
            lines.append(f"bits per character {self.bits_per_character:.4f}")
        if self.word_perplexity is not None:
            lines.append(f"perplexity per word {self.word_perplexity:.2f}")
        if self.accuracy is not None:
            lines.append(shown("accuracy", self.accuracy))
        return "\n".join([*lines, f"tokens {self.tokens:,}"])


def check_language(recipe: Recipe) -> None:
    """Refuse a recipe that would otherwise fail late."""
    if recipe.text.sampling:
        raise ConfigError("text.sampling is for translation: a language model sees each text as it is")
    if recipe.model.position_limit < recipe.language.block:
        raise ConfigError("model.positions.max_positions must be at least language.block")
    for path in text_paths([*recipe.data.train, *recipe.data.valid, *recipe.data.test], recipe.data):
        if not path.is_file():  # found now, not after days of training
            raise DataError(f"{path}: no such file")


def open_text(
    recipe: Recipe, run: Path, device: torch.device, say: Say, *, mask: bool = False
) -> tuple[PreparedText, LoadedModel]:
    """The recipe's text as tokens, and its model; `mask`: a tokenizer that is trained here gets a mask token."""
    start = starting_point(recipe, device)
    tokenizer = given_tokenizer(start, recipe)
    prepared = TextPreparation.of(
        recipe.data, recipe.text, data_folder(recipe, run), say, tokenizer, mask=mask
    ).prepare()
    task = Task(kind=recipe.task, max_tokens=recipe.language.block)
    return prepared, first_model(start, recipe, prepared.tokenizer, task, device)


@dataclass(frozen=True)
class LanguageJob:
    """A job of either task."""

    recipe: Recipe
    prepared: PreparedText
    loaded: LoadedModel
    stream: Stream[Any]
    objective: Objective
    validate: Validate | None
    metrics: tuple[str, ...]
    score: Callable[[TokenText], LanguageScores]
    shortest: int
    """Tokens that a text needs for its score."""
    unit: str = "tokens"

    @property
    def data_key(self) -> str:
        return self.prepared.folder.name

    @property
    def files(self) -> list[SourceFile]:
        return self.prepared.files

    @property
    def kind(self) -> str:
        return self.recipe.task.removesuffix("_lm")

    def describe(self) -> str:
        prepared = self.prepared
        return (
            f"{parameter_count(self.loaded.model) / 1e6:.1f} million parameters, a vocabulary of "
            f"{prepared.tokenizer.size:,} tokens, {len(prepared.train):,} training tokens, "
            f"{len(prepared.valid):,} for validation"
        )

    def finish(self, say: Say) -> dict[str, LanguageScores]:
        texts = {VALIDATION: self.prepared.valid}
        if self.prepared.test:
            texts = dict(zip(test_set_names(self.recipe.data), self.prepared.test, strict=True))
        scores = {}
        for name, text in texts.items():
            if len(text) < self.shortest:
                say(f"{name}: not measured: it has fewer than {self.shortest:,} tokens")
                continue
            with torch.no_grad():
                scores[name] = self.score(text)
            say(f"{name}:\n{scores[name]}")
        return scores

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        recipe, prepared = self.recipe, self.prepared
        held_out = [] if recipe.data.valid else ["The end of the training text was held out for validation."]
        card = Card(
            title=f"{self.kind.capitalize()} language model",
            summary=f"A {self.kind} Transformer language model trained with Headwise: {shape_of(self.loaded)}, a "
            f"vocabulary of {prepared.tokenizer.size:,} tokens ({prepared.tokenizer.kind}).",
            data=[f"{len(prepared.train):,} training tokens in rows of {recipe.language.block}.", *held_out],
            files=prepared.files,
            counted="lines",
            trained=f"{progress.tokens:,} predicted tokens, {batches_of(recipe)}",
        )
        return model_card(card, recipe, progress, scores, source)
