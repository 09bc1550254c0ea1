"""Labeller: a classifier that labels texts, pairs of texts or images."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import torch
from torch import Tensor

from headwise.data.batch.labelled_batches import shortened
from headwise.decode.batching import by_length, padded
from headwise.decode.open import check_finite, depends_on_length, open_model, the_tokenizer
from headwise.decode.pictures import normalised
from headwise.errors import ConfigError
from headwise.models.classifier import Classifier
from headwise.models.folder.description import LoadedModel
from headwise.models.vision import VisionTransformer
from headwise.text.given_texts import check_texts
from headwise.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Label:
    """The label of one input. `str(label)` is its name."""

    label: str
    """The most probable class; for a regression, the value."""
    score: float
    """Its probability; for a regression, the value."""
    probabilities: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.label


class Labeller:
    """A model that classifies."""

    def __init__(self, model: str | Path | LoadedModel, *, device: str = "auto") -> None:
        loaded, self.device = open_model(model, device)
        if not isinstance(loaded.model, Classifier):
            raise ConfigError(f"{model}: not a classifier: train one with `headwise train --task classify --init ...`")
        self.model = loaded.model.to(self.device).eval()
        self.loaded = loaded
        self.takes_images = isinstance(self.model.body, VisionTransformer)

    @overload
    def classify(self, texts: str, pairs: str | None = None) -> Label: ...  # type: ignore[overload-overlap]

    @overload
    def classify(self, texts: Iterable[str], pairs: Iterable[str] | None = None) -> list[Label]: ...

    def classify(self, texts: str | Iterable[str], pairs: str | Iterable[str] | None = None) -> Label | list[Label]:
        """Label one text, or several in their order; with `pairs`, each text together with its second one."""
        listed = check_texts(texts)
        seconds = None if pairs is None else check_texts(pairs, "pairs")
        if seconds is not None and len(seconds) != len(listed):
            raise ConfigError(f"{len(listed)} first texts, but {len(seconds)} second ones")
        found = self._classify(listed, seconds)
        return found[0] if isinstance(texts, str) else found

    @torch.inference_mode()
    def _classify(self, texts: list[str], pairs: list[str] | None) -> list[Label]:
        tokenizer = self.text_tokenizer()
        framed = []
        for i, text in enumerate(texts):
            first, second = tokenizer.encode(text), tokenizer.encode(pairs[i]) if pairs is not None else None
            framed.append(self._framed(first, second))
        labels: dict[int, Label] = {}
        for batch in by_length([len(ids) for ids, _ in framed], 8192, equal=depends_on_length(self.model)):
            tokens = padded([framed[i][0] for i in batch], tokenizer.pad, self.device)
            segments = padded([framed[i][1] for i in batch], 0, self.device)
            labels.update(zip(batch, self._labels(self.model(tokens, segments)), strict=True))
        return [labels[i] for i in range(len(texts))]

    @torch.inference_mode()
    def classify_images(self, images: Tensor) -> list[Label]:
        """Label images [N, C, size, size] of bytes, one label per image."""
        self.check_takes_images()
        labels: list[Label] = []
        for start in range(0, len(images), 256):
            batch = normalised(self.loaded, images[start : start + 256], self.device)
            labels += self._labels(self.model(batch))
        return labels

    def check_takes_images(self) -> None:
        """Raise an error if this model takes texts."""
        if not self.takes_images:
            raise ConfigError("this model classifies texts, not images")

    def text_tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts; an error if this model takes images."""
        if self.takes_images:
            raise ConfigError("this model classifies images: give it image files")
        return the_tokenizer(self.loaded, "this model")

    def _framed(self, first: list[int], second: list[int] | None) -> tuple[list[int], list[int]]:
        """Ids and segments, cut to the length that the model takes, as in training."""
        tokenizer = self.text_tokenizer()
        longest = min(self.loaded.task.max_tokens, self.loaded.config.position_limit)
        room = longest - len(tokenizer.frame([], None if second is None else [])[0])
        left, right = shortened(len(first), len(second or []), max(room, 0))
        ids, segments = tokenizer.frame(first[:left], None if second is None else second[:right])
        return (ids, segments) if ids else ([tokenizer.eos], [0])  # an empty text without special tokens

    def _labels(self, logits: Tensor) -> list[Label]:
        check_finite(logits)
        if self.loaded.task.regression:
            return [Label(f"{value:.4f}", value) for value in logits[:, 0].float().tolist()]
        names = self.loaded.task.labels
        labels = []
        probabilities = logits.float().sigmoid() if self.loaded.task.multi_label else logits.float().softmax(-1)
        for row in probabilities.tolist():
            best = max(range(len(row)), key=row.__getitem__)
            labels.append(Label(names[best], row[best], dict(zip(names, row, strict=True))))
        return labels
