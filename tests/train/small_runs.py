"""Small things to train: batches without a corpus, a reporter that remembers, recipes of seconds."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.data.batch.stream import Planned
from headwise.files.tensors import load_tensors
from headwise.interrupt import StopRequest
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.presets import resolve
from headwise.recipe import override
from headwise.train.loop import fit
from headwise.train.step.blend import Blend
from headwise.train.step.learner import Objective, Validate
from headwise.train.step.loss import TokenLoss
from headwise.train.tasks.translation_task import teacher_forcing
from tests.shapes import PAD, VOCABULARY, random_model, small

SOS, EOS = 1, 2
TINY = {"width": 16, "layers": 1, "attention.heads": 2, "feed_forward.hidden": 16}
FILES = ("model.safetensors", "optimiser.safetensors", "random.safetensors")


def batch(lengths: Sequence[int], first: int = 0) -> PaddedBatch:
    """Rows of random ids of these lengths; they say that they come from line `first` + 1 and on."""
    source = torch.full((len(lengths), max(lengths) + 1), PAD)
    target = torch.full((len(lengths), max(lengths) + 2), PAD)
    for row, length in enumerate(lengths):
        source[row, : length + 1] = torch.tensor([*torch.randint(4, VOCABULARY, (length,)), EOS])
        target[row, : length + 2] = torch.tensor([SOS, *torch.randint(4, VOCABULARY, (length,)), EOS])
    examples = [(0, first + row) for row in range(len(lengths))]
    return PaddedBatch(source, target, examples, sum(lengths) + len(lengths), sum(lengths) + len(lengths))


def joined(batches: Sequence[PaddedBatch]) -> PaddedBatch:
    """One batch of all their rows."""

    def stacked(tensors: list[Tensor]) -> Tensor:
        width = max(tensor.size(1) for tensor in tensors)
        return torch.cat([nn.functional.pad(t, (0, width - t.size(1)), value=PAD) for t in tensors])

    return PaddedBatch(
        stacked([each.source for each in batches]),
        stacked([each.target for each in batches]),
        [example for each in batches for example in each.examples],
        sum(each.source_tokens for each in batches),
        sum(each.target_tokens for each in batches),
    )


def some_rows(whole: PaddedBatch, rows: slice) -> PaddedBatch:
    """A batch as it would be made of these rows alone: with their tokens counted."""
    part = whole.part(rows)
    tokens = int((part.source != PAD).sum()), int((part.target[:, 1:] != PAD).sum())
    return dataclasses.replace(part, source_tokens=tokens[0], target_tokens=tokens[1])


class Batches:
    """What `fit` asks of a stream, over given batches, again and again."""

    def __init__(self, batches: Sequence[PaddedBatch]) -> None:
        self._batches = list(batches)

    uniform = False
    makers = 1

    def epoch(self, epoch: int) -> Iterator[Planned[PaddedBatch]]:
        for whole in itertools.cycle(self._batches):
            yield Planned(len(whole), lambda rows, whole=whole: some_rows(whole, rows))  # type: ignore[misc]

    def longest(self, batch_tokens: int) -> PaddedBatch:
        return max(self._batches, key=len)

    def lines(self, batch: PaddedBatch) -> list[str]:
        return [f"corpus.tsv:{index + 1}" for _, index in batch.examples]


class Memory:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.records: list[dict[str, float]] = []
        self.validations: list[tuple[int, bool]] = []
        self.notes: list[str] = []

    def started(self, step: int, tokens: int) -> None:
        self.begun.append(step)

    def stepped(self, step: int, nll: float) -> None:
        pass

    def trained(self, record: dict[str, float]) -> None:
        self.records.append(record)

    def validated(self, record: dict[str, float], best: bool, seconds: float = 0.0) -> None:
        self.validations.append((int(record["step"]), best))

    def note(self, text: str) -> None:
        self.notes.append(text)


def tiny_model(**changes: object) -> EncoderDecoder:
    return random_model(small(**{**TINY, **changes}))


def some_batches(count: int = 5) -> list[PaddedBatch]:
    torch.manual_seed(7)
    return [batch([3 + number % 3, 2, 4], 3 * number) for number in range(count)]


def fit_recipe(**train: Any) -> Recipe:
    """The model of `tiny_model`; a step is logged, validated and saved at once unless `train` says otherwise."""
    each = {"log_every": 1, "validate_every": 1, "checkpoint_every": 1, "keep": 100}
    settings = {"learning_rate": 0.01, "warmup": 4, "precision": "float32", "label_smoothing": 0.1}
    return resolve({"model": {"preset": "tiny", **TINY}, "train": {**each, **settings, **train}})


def run_fit(
    run: Path,
    *,
    model: nn.Module | None = None,
    objective: Objective | None = None,
    batches: Sequence[PaddedBatch] | None = None,
    validate: Validate | None = None,
    stop: Any = None,
    reporter: Memory | None = None,
    autocast: torch.dtype | None = None,
    blend: Blend | None = None,
    **train: Any,
) -> tuple[Any, Memory, nn.Module]:
    """`fit` on given batches: always the same first weights and the same seed, dropout on."""
    reporter = reporter or Memory()
    batches = batches or some_batches()
    torch.manual_seed(3)
    model = model or tiny_model(dropout=0.1)
    progress = fit(
        model,
        objective or teacher_forcing(0.1),
        Batches(batches),
        fit_recipe(**train),
        run,
        validate=validate,
        reporter=reporter,
        stop=stop if stop is not None else StopRequest(),
        autocast=autocast,
        blend=blend,
    )
    return progress, reporter, model


def scripted(values: Sequence[float], name: str = "loss") -> Validate:
    """A validation that gives these values in turn."""
    left = iter(values)
    return lambda model: {"loss": 1.0, name: next(left)}


def counting(objective: Objective, at: int, action: Any) -> Objective:
    """The objective, but call number `at` (from 1) goes through `action(model, loss)`."""
    calls = itertools.count(1)

    def counted(model: nn.Module, batch: PaddedBatch) -> TokenLoss:
        loss = objective(model, batch)
        result: TokenLoss = action(model, loss) if next(calls) == at else loss
        return result

    return counted


def same_tensors(one: Path, other: Path) -> bool:
    """Bit for bit."""
    left, right = load_tensors(one), load_tensors(other)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.named_parameters()}


def write_corpus(folder: Path, pairs: int = 160) -> Path:
    """Made-up sentence pairs of different lengths, no two alike."""
    subjects, verbs, things = ["the cat", "a dog", "my aunt", "one bird"], ["sees", "has"], ["fish", "a red boat", "it"]
    extra = ["", " today", " in the old house", " and waits", " again and again", " near the sea", " quietly"]
    sentences = [
        f"{subject} {verb} {thing}{more}"
        for subject, verb, thing, more in itertools.product(subjects, verbs, things, extra)
    ]
    assert len(sentences) >= pairs
    lines = [f"{sentence}.\t{' '.join(reversed(sentence.split()))} !" for sentence in sentences[:pairs]]
    path = folder / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_recipe(corpus: Path, out: Path, settings: dict[str, Any] | None = None) -> Recipe:
    """A whole run of 12 steps; the prepared data is kept beside the corpus, for the next run."""
    tables = {
        "seed": 5,
        "out": str(out),
        "model": {"preset": "tiny", **TINY, "dropout": 0.1},
        "text": {"kind": "unigram", "vocabulary": 320},
        "data": {
            "source_language": "xx",
            "target_language": "yy",
            "train": [{"pairs": [str(corpus)], "licence": "CC0-1.0"}],
            "held_out": 6,
            "cache": str(corpus.parent / "cache"),
        },
        "train": {
            "steps": 12,
            "batch_tokens": 160,
            "accumulate": 2,
            "learning_rate": 0.003,
            "warmup": 5,
            "validate_every": 4,
            "validate_pairs": 3,
            "validate_bleu": False,
            "checkpoint_every": 3,
            "log_every": 2,
            "ema": 0.9,
            "device": "cpu",
        },
    }
    return resolve(override(tables, settings or {}))


def silent(text: str) -> None:
    """Nobody is told."""
