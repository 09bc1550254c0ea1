"""The description of a model: config, tokenizer and task. PyTorch is imported only to build a model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwise.config import ModelConfig
from headwise.errors import CheckpointError, ConfigError
from headwise.text.language.codes import Direction, short_code
from headwise.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch
    from torch import nn

    from headwise.models.folder.weights import Weights

INT8 = "int8"
PRECISIONS = ("float32", INT8)


@dataclass(frozen=True)
class ImageFit:
    """How an image of any shape becomes the square that a model takes.

    Without sizes, its largest central square is scaled. Otherwise the image is stretched to height and width, or
    scaled until its shorter side is `shortest`, and its centre is cropped.
    """

    resample: str = "bicubic"
    """The name of the filter in Pillow."""
    height: int = 0
    width: int = 0
    shortest: int = 0

    @property
    def stretches(self) -> bool:
        return bool(self.height or self.shortest)


COMMANDS = {
    "translation": "headwise translate",
    "causal_lm": "headwise generate",
    "masked_lm": "headwise fill",
    "classify": "headwise classify",
    "images": "headwise classify",
    "embed": "headwise embed",
}
"""The command that a model of each kind is used with."""


@dataclass(frozen=True)
class Task:
    """The task of a model: what it was trained for, and with which labels or languages."""

    directions: tuple[Direction, ...] = ()
    """Language codes of a translator, source and target; an empty code is an unknown language."""
    tags: bool = False
    """Whether language codes are part of the model's input."""
    usual_tokens: int = 128
    """Nearly all training sources were at most this long: longer texts are better translated in parts."""
    max_tokens: int = 256
    """The length of the longest training source."""
    kind: str = "translation"
    """translation, causal_lm, masked_lm, classify, images, or embed: an encoder without a head."""
    labels: tuple[str, ...] = ()
    """Names of a classifier's classes, in order."""
    regression: bool = False
    """The classifier has one output, a number."""
    multi_label: bool = False
    """Any number of classes can apply (sigmoid), instead of exactly one (softmax)."""
    image_mean: tuple[float, ...] = ()
    image_std: tuple[float, ...] = ()
    """Mean and standard deviation per channel that images are normalised with, for pixels between 0 and 1."""
    image_fit: ImageFit = field(default_factory=ImageFit)
    pooling: str = ""
    """The pooling of a text's vector (sentence-transformers): mean, first or last; empty: not specified."""
    published: str = ""
    """The published family (`model_type`) that the model came from, if it did."""
    sources: tuple[str, ...] = ()
    """Source languages of a translator whose input names them (NLLB, M2M100, mBART, T5). A direction with an empty
    source has any of them."""
    alignment_head: tuple[int, ...] = ()
    """Layer and head of the decoder's cross-attention that were trained to align words, from 0; empty: none were."""
    aligns_given: bool = True
    """Whether that head aligns the token that the decoder is given, or, as in Marian, the one that it predicts."""
    terms: bool = False
    """Whether it was trained on sources with annotated terms (text/term_marks.py), and follows them."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Target languages of a translator, each once."""
        return tuple(dict.fromkeys(target for _, target in self.directions))

    @property
    def how_to_ask(self) -> str:
        """The options that `headwise translate` needs for this model."""
        source = f" --from {self.sources[0]}" if self.sources else ""
        return source + (f" --to {self.targets[-1 if self.sources else 0]}" if len(self.targets) > 1 else "")

    @property
    def known_directions(self) -> str:
        """The directions of a translator in words; a long list is shortened."""
        if self.sources and not any(source for source, _ in self.directions):
            return f"from any to any of {_listed(self.sources)}"
        languages = tuple(dict.fromkeys(source for source, _ in self.directions))
        if len(languages) > 2 and {*self.directions} == {*itertools.permutations(languages, 2)}:
            return f"from any to any of {_listed(languages)}"
        return _listed([f"{source or '?'}-{target or '?'}" for source, target in self.directions])

    def direction(self, source: str | None = None, target: str | None = None) -> Direction:
        """The direction with these languages; a ConfigError if there is none, or if it is ambiguous."""
        ways = (self._fitting(source, target, fits) for fits in (_same, _variants, _language))
        fitting: list[Direction] = next((found for found in ways if found), [])
        if not fitting:
            wanted = (
                f"from {source} to {target}" if source and target else f"to {target}" if target else f"from {source}"
            )
            raise ConfigError(f"this model does not translate {wanted}; it has: {self.known_directions}")
        targets = list(dict.fromkeys(code for _, code in fitting))
        if len(targets) > 1:
            raise ConfigError(f"this model has several target languages: name one with --to ({_listed(targets)})")
        if self.sources and len(fitting) > 1:
            raise ConfigError(
                f"this model needs to know the source language ({self.known_directions}): name it with --from"
            )
        return fitting[0]

    def _fitting(self, source: str | None, target: str | None, fits: Callable[[str, str], bool]) -> list[Direction]:
        """The directions that match these languages."""
        return [
            (code, language)
            for known, language in self.directions
            if target is None or fits(language, target)
            for code in self._sources(known, language, source)
            if source is None or fits(code, source)
        ]

    def _sources(self, known: str, target: str, wanted: str | None) -> tuple[str, ...]:
        """The source languages of a direction; an unknown one matches any that is wanted."""
        if known or self.sources:
            return (known,) if known else self.sources
        return (wanted or "",) if target else ("",)


SHOWN = 20
"""Languages or directions that a message lists."""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _variants(one: str, other: str) -> bool:
    """Whether one code is the other with a region or script: `en` and `en-US`."""
    first, second = (code.casefold().replace("_", "-").split("-") for code in (one, other))
    return first == second or (first[0] == second[0] and 1 in (len(first), len(second)))


def _language(known: str, asked: str) -> bool:
    """Whether a language is asked for by its code, as in `_variants`, or by its name or long code: `German`, `deu`."""
    has_region = "-" in asked or "_" in asked  # which is not ignored
    return _variants(known, asked) or (short_code(known) == short_code(asked) and not has_region)


@dataclass(frozen=True)
class Ids:
    """The special tokens that a model's config names."""

    pad: int = 0
    sos: int | None = None
    """The first token that a decoder is given."""
    eos: int | None = None
    ends: tuple[int, ...] = ()
    """All EOS tokens, if there are several."""


@dataclass(frozen=True)
class Description:
    """A model without its weights."""

    config: ModelConfig
    tokenizer: Tokenizer | None
    """None for a vision model, or one that was published without a tokenizer."""
    task: Task
    vocabulary: int = 0
    """Rows of the embedding, if there are more than tokens of the tokenizer; 0: as many."""
    ids: Ids | None = None
    """The special tokens of a model without a tokenizer."""
    precision: str = "float32"
    """The type of the stored matrices: float32, or int8 for translation on a CPU."""

    @property
    def rows(self) -> int:
        """Rows of the embedding."""
        return self.vocabulary or (self.tokenizer.size if self.tokenizer else 0)

    @property
    def specials(self) -> Ids:
        """The special tokens, of the tokenizer if there is one."""
        if self.tokenizer is not None:
            return Ids(self.tokenizer.pad, self.tokenizer.sos, self.tokenizer.eos, self.ids.ends if self.ids else ())
        return self.ids or Ids()

    def build(self, where: str, weights: Weights, device: str | torch.device = "cpu") -> LoadedModel:
        """Build the model with these weights, ready for inference."""
        import torch

        from headwise.models.folder.weights import adopt_weights

        model = self.empty(where)
        floats = {name: tensor if tensor.dtype == torch.int8 else tensor.float() for name, tensor in weights.items()}
        adopt_weights(model, floats, where)
        return LoadedModel(model.to(device).eval(), self)

    def empty(self, where: str) -> nn.Module:
        """Build the model on the meta device: names and shapes of its weights, without memory."""
        import torch

        from headwise.models.build import build
        from headwise.nn.int8 import to_int8

        try:
            with torch.device("meta"):
                model = build(self.config, self.rows, self.specials.pad)
                return to_int8(model) if self.precision == INT8 else model
        except (ConfigError, ValueError, TypeError, RuntimeError, ArithmeticError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CheckpointError(f"{where}: its config.json does not describe a valid model: {reason}") from None


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory with its description."""

    model: nn.Module
    description: Description

    @property
    def config(self) -> ModelConfig:
        return self.description.config

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self.description.tokenizer

    @property
    def task(self) -> Task:
        return self.description.task
