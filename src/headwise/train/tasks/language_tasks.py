"""Shared by the tasks causal_lm and masked_lm: prepared text, the figures, the card."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headwise.config import DataConfig, Recipe
from headwise.data.prepare.plain_text import PreparedText, TextPreparation, TokenText
from headwise.data.read.text_files import text_paths
from headwise.errors import ConfigError, DataError
from headwise.metrics import shown
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.weights import parameter_count
from headwise.text.tokenizer import Tokenizer
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored
from headwise.train.report.card import Card, batches_of, model_card
from headwise.train.run_folder import data_folder
from headwise.train.set_names import VALIDATION, test_set_names


@dataclass(frozen=True)
class LanguageScores:
    """How well tokens are predicted."""

    tokens: int
    loss: float
    """Mean negative log-likelihood per token."""
    bits_per_character: float | None = None
    """Per character of the text: comparable between tokenizers, which figures per token are not."""
    word_perplexity: float | None = None
    accuracy: float | None = None
    """The share of tokens that were predicted as the most probable."""

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
    """Refuse a recipe that would only fail later."""
    if recipe.text.sampling:
        raise ConfigError("text.sampling is for translation: a language model sees each text as it is")
    if recipe.model.position_limit < recipe.language.block:
        raise ConfigError("model.positions.max_positions must be at least language.block")
    for path in text_paths([*recipe.data.train, *recipe.data.valid, *recipe.data.test], recipe.data):
        if not path.is_file():  # a misspelt name must not show only after days of training
            raise DataError(f"{path}: no such file")


def open_text(recipe: Recipe, run: Path, say: Say, tokenizer: Tokenizer | None, *, mask: bool = False) -> PreparedText:
    """The recipe's text as tokens; `mask`: a tokenizer that is trained here gets a mask token."""
    cache = data_folder(recipe, run)
    return TextPreparation.of(recipe.data, recipe.text, cache, say, tokenizer, mask=mask).prepare()


def final_texts(prepared: PreparedText, data: DataConfig) -> dict[str, TokenText]:
    """The texts that the finished model is measured on, by name: the test sets, or else the validation set."""
    if not prepared.test:
        return {VALIDATION: prepared.valid}
    return dict(zip(test_set_names(data), prepared.test, strict=True))


def size_of_text(tokenizer: Tokenizer, ids: Any) -> tuple[int, int]:
    """The characters and words of a text in tokens; what the vocabulary cannot spell is not counted."""
    characters = words = 0
    for start in range(0, len(ids), 1 << 16):
        text = tokenizer.decode(ids[start : start + (1 << 16)].tolist())
        characters += len(text)
        words += len(text.split())
    return characters, words


def describe(loaded: LoadedModel, prepared: PreparedText) -> str:
    parameters = parameter_count(loaded.model) / 1e6
    return (
        f"{parameters:.1f} million parameters, "
        f"{prepared.tokenizer.size:,} kinds of tokens, "
        f"{len(prepared.train):,} training tokens, {len(prepared.valid):,} for validation"
    )


def language_card(
    kind: str,
    layers: int,
    recipe: Recipe,
    prepared: PreparedText,
    loaded: LoadedModel,
    progress: RunState,
    scores: Mapping[str, Scored],
    source: str,
) -> str:
    model = loaded.config
    held_out = [] if recipe.data.valid else ["The end of the training text was held out for validation."]
    card = Card(
        title=f"{kind.capitalize()} language model",
        summary=f"A {kind} Transformer language model trained with Headwise: {layers} layers, width {model.width}, "
        f"{model.attention.heads} heads, feed-forward {model.feed_forward.hidden}, "
        f"{parameter_count(loaded.model) / 1e6:.1f} million parameters, "
        f"{prepared.tokenizer.size:,} kinds of tokens ({prepared.tokenizer.kind}).",
        data=[f"{len(prepared.train):,} training tokens in rows of {recipe.language.block}.", *held_out],
        files=prepared.files,
        counted="lines",
        trained=f"{progress.tokens:,} predicted tokens, {batches_of(recipe)}",
    )
    return model_card(card, recipe, progress, scores, source)
