"""Masked language modelling: masked tokens are predicted from both sides; and BERT's next-sentence prediction."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.masked import MaskedBatch, MaskedStream
from headwise.data.prepare.plain_text import TokenText
from headwise.errors import ConfigError, DataError
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say
from headwise.train.start import presets_of
from headwise.train.step.learner import Validate
from headwise.train.step.loss import TokenLoss, prediction_loss
from headwise.train.tasks.language_tasks import LanguageJob, LanguageScores, check_language, open_text


def check(recipe: Recipe, model: nn.Module) -> None:
    if getattr(model, "head", None) is None or not hasattr(model, "encode"):
        raise ConfigError(
            f"a model of the family {recipe.model.family} cannot predict masked tokens: choose a masked_lm with a "
            f"language_head, such as the presets {presets_of('masked_lm')}"
        )
    if recipe.language.next_sentence and getattr(model, "next_sentence", None) is None:
        raise ConfigError("language.next_sentence needs model.output.next_sentence = true")
    check_language(recipe)


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> LanguageJob:
    prepared, loaded = open_text(recipe, run, device, say, mask=True)
    tokenizer, block = prepared.tokenizer, recipe.language.block

    def score(text: TokenText) -> LanguageScores:
        figures = measure(loaded.model, masked_stream(text, tokenizer, recipe), 0)
        return LanguageScores(figures.tokens, figures.loss, accuracy=figures.accuracy)

    return LanguageJob(
        recipe,
        prepared,
        loaded,
        masked_stream(prepared.train, tokenizer, recipe),
        fill_in(recipe.train.label_smoothing),
        validator(prepared.valid, tokenizer, recipe) if len(prepared.valid) >= block else None,
        ("loss", "accuracy"),
        score,
        shortest=block,
    )


def masked_stream(text: TokenText, tokenizer: Tokenizer, recipe: Recipe) -> MaskedStream:
    return MaskedStream(text, tokenizer, recipe.language, recipe.train.batch_tokens, recipe.seed)


def fill_in(smoothing: float) -> Callable[[nn.Module, MaskedBatch], TokenLoss]:
    """The objective, with logits for the masked tokens only. The next-sentence loss, a mean over rows, is added to the
    mean over tokens."""

    def objective(model: Any, batch: MaskedBatch) -> TokenLoss:
        memory = model.encode(batch.tokens, batch.segments).memory
        loss, nll = prediction_loss(
            hidden_states(model, memory, batch), model.head.projection, batch.targets, smoothing
        )
        if batch.follows is not None:
            logits = model.next_sentence(model.pool(memory)).float()
            loss = loss + F.cross_entropy(logits, batch.follows) * batch.count
        return TokenLoss(loss, nll)

    return objective


def hidden_states(model: Any, memory: Tensor, batch: MaskedBatch) -> Tensor:
    """[N, E]: the hidden states of the tokens to predict, before the output projection."""
    states: Tensor = model.head.transform(memory.flatten(0, 1)[batch.places])
    return states


@dataclass(frozen=True)
class MaskedFigures:
    tokens: int
    loss: float
    accuracy: float
    next_sentence: float | None


def measure(model: Any, stream: MaskedStream, limit: int) -> MaskedFigures:
    """Measure the first `limit` rows of the stream's text (0: all), always with the same masks."""
    device = next(model.parameters()).device
    sums = torch.zeros(3, device=device, dtype=torch.float64)
    tokens = rows = 0
    for batch in (each.to(device) for each in stream.in_order(limit)):
        memory = model.encode(batch.tokens, batch.segments).memory
        states, projection = hidden_states(model, memory, batch), model.head.projection
        sums[0] += prediction_loss(states, projection, batch.targets).nll
        sums[1] += (projection(states).argmax(-1) == batch.targets).sum()
        if batch.follows is not None:
            sums[2] += (model.next_sentence(model.pool(memory)).argmax(-1) == batch.follows).sum()
        tokens += batch.count
        rows += len(batch.tokens)
    if not tokens:
        raise DataError("the validation text has no row of language.block tokens")
    nll, right, followed = sums.tolist()
    return MaskedFigures(tokens, nll / tokens, right / tokens, followed / rows if stream.pairs else None)


def validator(valid: TokenText, tokenizer: Tokenizer, recipe: Recipe) -> Validate:
    stream = masked_stream(valid, tokenizer, recipe)

    def validate(model: nn.Module) -> dict[str, float]:
        figures = measure(model, stream, recipe.train.validate_pairs)
        metrics = {"loss": figures.loss, "accuracy": figures.accuracy}
        return metrics if figures.next_sentence is None else metrics | {"next sentence": figures.next_sentence}

    return validate
