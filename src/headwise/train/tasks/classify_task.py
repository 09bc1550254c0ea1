"""Classification of texts or pairs of texts, with an encoder or a decoder; or regression on them."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from headwise.config import ClassifyConfig, ModelConfig, Recipe
from headwise.data.batch.labelled_batches import LabelledBatch, LabelledSet, LabelledStream, joined
from headwise.data.prepare.fingerprint import fingerprint
from headwise.data.prepare.result import SourceFile
from headwise.data.read.labelled import class_names, read_labelled
from headwise.errors import ConfigError, DataError
from headwise.metrics import OF_NUMBERS, metric, shown
from headwise.models.build import build
from headwise.models.classifier import Classifier
from headwise.models.folder.description import LoadedModel, Task
from headwise.models.folder.weights import parameter_count
from headwise.models.masked_lm import MaskedLM
from headwise.models.vision import VisionTransformer
from headwise.recipe import replaced
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored, note_few
from headwise.train.report.card import Card, batches_of, model_card
from headwise.train.set_names import VALIDATION, test_set_names
from headwise.train.start import first_model, given_tokenizer, starting_point
from headwise.train.step.learner import Objective, Validate
from headwise.train.step.loss import TokenLoss, projected_cross_entropy
from headwise.train.tasks.classify_data import Data, encode, files, own_tokenizer, read_texts


def check(recipe: Recipe, model: nn.Module) -> None:
    """Refuse a recipe that would otherwise fail late."""
    with torch.device("meta"):
        classifier = build(dataclasses.replace(recipe.model, classes=2), 8, 0)
    body = classifier.body if isinstance(classifier, Classifier) else classifier
    if isinstance(body, VisionTransformer):
        raise ConfigError("a model of the family vision classifies images: choose the task images")
    if recipe.classify.language_model and isinstance(body, MaskedLM):
        raise ConfigError("classify.language_model is for decoders: an encoder sees the tokens that it would predict")
    if recipe.text.sampling:
        raise ConfigError("text.sampling is for translation: a classifier sees each text as it is")
    for name in metric_names(recipe.classify):
        metric(name)
        if (name in OF_NUMBERS) != recipe.classify.regression:
            what = "a regression" if recipe.classify.regression else "a classification"
            raise ConfigError(f"classify.metrics: {name} cannot measure {what}")
    for corpus in (*recipe.data.train, *recipe.data.valid, *recipe.data.test):  # found now, not late
        if next(iter(read_labelled(corpus, recipe.data, recipe.classify)), None) is None:
            raise DataError(f"{corpus.labelled[0]} has no examples")


def metric_names(config: ClassifyConfig) -> tuple[str, ...]:
    return config.metrics or (("pearson", "spearman") if config.regression else ("accuracy",))


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> "ClassifyJob":
    texts = read_texts(recipe, say)
    classes = () if recipe.classify.regression else class_names(e for corpus in texts.train for e in corpus)
    recipe = dataclasses.replace(recipe, model=classifier_config(recipe.model, len(classes) or 1))
    start = starting_point(recipe, device)
    tokenizer = given_tokenizer(start, recipe) or own_tokenizer(recipe, texts.train, run, say)
    data = encode(recipe, texts, tokenizer, classes, say)
    stream = LabelledStream(
        data.train,
        [corpus.weight for corpus in recipe.data.train],
        recipe.seed,
        batch_tokens=recipe.train.batch_tokens,
        examples=recipe.classify.batch,
    )
    longest = int(max(each.widths.max() for each in data.train))
    task = Task(kind="classify", max_tokens=longest, labels=classes, regression=recipe.classify.regression)
    return ClassifyJob(
        recipe,
        first_model(start, recipe, tokenizer, task, device),
        data,
        files(recipe, texts, run, say),
        stream,
        objective(recipe),
        validator(recipe, data.valid) if data.valid else None,
    )


def classifier_config(config: ModelConfig, classes: int) -> ModelConfig:
    """The model with a classifier on top, and without an encoder's language head.

    The first token of a decoder attends only to itself, so the last token is used for pooling instead of the first.
    """
    encoder = config.family == "masked_lm"
    pooling = "last" if config.pooling.kind == "first" and not encoder else config.pooling.kind
    return replaced(config, {"classes": classes, "pooling.kind": pooling, "output.language_head": not encoder})


def objective(recipe: Recipe) -> Callable[[nn.Module, LabelledBatch], TokenLoss]:
    """The objective: cross-entropy or squared error, summed over the examples. With `classify.language_model` the mean
    language-model loss per token is added, times that weight and the number of examples, so that a step's mean is
    L3 = L2 + lambda L1 of the GPT paper."""
    config, smoothing = recipe.classify, recipe.train.label_smoothing

    def losses(model: nn.Module, batch: LabelledBatch) -> TokenLoss:
        assert isinstance(model, Classifier)
        hidden = model.represent(batch.tokens, batch.segments)
        loss, nll = task_loss(model.classify(hidden, batch.tokens), batch.labels, smoothing)
        if config.language_model:
            language = language_model_loss(model, hidden, batch.tokens)
            loss = loss + config.language_model * batch.count * language
        return TokenLoss(loss, nll)

    return losses


def task_loss(outputs: Tensor, labels: Tensor, smoothing: float) -> TokenLoss:
    """Outputs [B, classes] against classes [B], or [B, 1] against numbers [B]; sums over the batch."""
    outputs = outputs.float()
    if labels.is_floating_point():
        squared = F.mse_loss(outputs[:, 0], labels, reduction="sum")
        return TokenLoss(squared, squared.detach())
    loss = F.cross_entropy(outputs, labels, label_smoothing=smoothing, reduction="sum")
    return TokenLoss(loss, F.cross_entropy(outputs, labels, reduction="sum").detach())


def language_model_loss(model: Classifier, hidden: Tensor, tokens: Tensor) -> Tensor:
    """The mean loss of predicting each token from those before it, without padding."""
    body: Any = model.body
    projection, wanted = body.output_projection, tokens[:, 1:]
    real = wanted != body.pad
    states = hidden[:, :-1][real] * projection.scale
    summed = projected_cross_entropy(states, projection.weight, wanted[real], 0.0, projection.bias)
    mean: Tensor = summed.loss / real.sum().clamp(min=1)
    return mean


def predict(model: nn.Module, data: LabelledSet, batch_tokens: int, limit: int = 0) -> tuple[NDArray[Any], float]:
    """The class or value of each example, in order, and the mean loss."""
    device = next(model.parameters()).device
    count = min(limit, len(data)) if limit else len(data)
    predictions = np.zeros(count, data.labels.dtype)
    total = 0.0
    with torch.no_grad():
        for batch in data.in_order(batch_tokens, limit):
            batch = batch.to(device)
            outputs: Tensor = model(batch.tokens, batch.segments).float()
            best = outputs[:, 0] if batch.labels.is_floating_point() else outputs.argmax(-1)
            predictions[batch.examples] = best.cpu().numpy()
            total += task_loss(outputs, batch.labels, 0.0).nll.item()
    return predictions, total / max(count, 1)


@dataclass(frozen=True)
class ClassifyScores:
    """The figures of one set."""

    examples: int
    metrics: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        return {"examples": self.examples, **self.metrics}

    def __str__(self) -> str:
        figures = [shown(name, figure) for name, figure in self.metrics.items()]
        return "\n".join([*figures, f"examples {self.examples:,}"])


def scores(recipe: Recipe, data: LabelledSet, predictions: NDArray[Any]) -> ClassifyScores:
    labels = data.labels[: len(predictions)]
    figures = {name: metric(name)(predictions, labels) for name in metric_names(recipe.classify)}
    return ClassifyScores(len(labels), figures)


def validator(recipe: Recipe, data: LabelledSet) -> Validate:
    """Loss and metrics over the first `train.validate_pairs` examples (0: all)."""

    def validate(model: nn.Module) -> dict[str, float]:
        predictions, loss = predict(model, data, recipe.train.batch_tokens, recipe.train.validate_pairs)
        return {"loss": loss, **scores(recipe, data, predictions).metrics}

    return validate


@dataclass(frozen=True)
class ClassifyJob:
    recipe: Recipe
    loaded: LoadedModel
    data: Data
    files: list[SourceFile]
    stream: LabelledStream
    objective: Objective
    validate: Validate | None
    unit: str = "examples"

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("loss", *metric_names(self.recipe.classify))

    @property
    def data_key(self) -> str:
        every = [*self.data.train, *([self.data.valid] if self.data.valid else [])]
        return fingerprint({"labels": self.loaded.task.labels, "sets": [each.digest for each in every]})

    def describe(self) -> str:
        what = f"{len(self.loaded.task.labels)} classes" if self.loaded.task.labels else "one number to predict"
        learning = sum(p.numel() for p in self.loaded.model.parameters() if p.requires_grad)
        parameters = parameter_count(self.loaded.model)
        part = f" ({learning / 1e6:.2f} of them learn)" if learning < parameters else ""
        return f"{parameters / 1e6:.1f} million parameters{part}, {self.examples:,} training examples, {what}"

    @property
    def examples(self) -> int:
        return sum(map(len, self.data.train))

    def finish(self, say: Say) -> dict[str, ClassifyScores]:
        """Measure the test sets, or else the whole validation set."""
        sets = dict(zip(test_set_names(self.recipe.data), self.data.test, strict=True))
        if not sets and self.data.valid:
            sets = {VALIDATION: self.data.valid}
        results = {}
        for name, data in sets.items():
            predictions, _ = predict(self.loaded.model, data, self.recipe.train.batch_tokens)
            results[name] = scores(self.recipe, data, predictions)
            say(f"{name}:\n{results[name]}")
            note_few(name, len(data), "examples", say)
        return results

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        recipe, task = self.recipe, self.loaded.task
        truncated = joined(self.data.train).truncated
        held_out = ["", "The validation examples were held out of the training data."] if not recipe.data.valid else []
        card = Card(
            title="Regression on text" if task.regression else f"Classifier of text, {len(task.labels)} classes",
            summary=f"A model of the family {recipe.model.family} with {self.describe()}, trained with Headwise."
            + ("" if task.regression else f" The classes are {', '.join(task.labels[:20])}."),
            data=[f"{self.examples:,} training examples; {truncated:,} of them were cut.", *held_out],
            files=self.files,
            counted="examples",
            trained=f"{progress.tokens:,} examples, "
            + (f"batches of {recipe.classify.batch} examples" if recipe.classify.batch else batches_of(recipe)),
        )
        return model_card(card, recipe, progress, scores, source)
