"""A whole run: recipe in, trained model out."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from headwise.atomic import write_json, write_text
from headwise.config import Recipe, from_tables, to_tables
from headwise.data.batches import BatchStream
from headwise.data.formats import corpus_languages, read_corpus
from headwise.data.prepare import directions, prepare, tag_languages
from headwise.data.prepared import Prepared
from headwise.decode.translator import TranslateOptions, Translator
from headwise.devices import autocast_dtype, best_device
from headwise.errors import CheckpointError, ConfigError, DataError
from headwise.evaluate import Scores, evaluate
from headwise.models.build import build
from headwise.models.encoder_decoder import check_shape
from headwise.models.folder import WEIGHTS, LoadedModel, Task, checkpoints, load_weights, save_description, step_folder
from headwise.models.weights import parameter_count, set_weights
from headwise.storage import read_json, save_tensors
from headwise.text.kinds import load_tokenizer, train_tokenizer
from headwise.train.averages import mean_weights
from headwise.train.card import model_card
from headwise.train.checkpoint import Progress
from headwise.train.curves import draw_curves
from headwise.train.interrupt import StopRequest
from headwise.train.loop import fit
from headwise.train.report import RunReporter
from headwise.train.schedules import learning_rate
from headwise.train.translation import teacher_forcing, validator

RECIPE = "recipe.json"
SCORES = "scores.json"
DATA_KEY = "data.json"
"""Names the prepared data that the run began with."""

BOUND = ("seed", "model", "text", "data")
"""Parts of a recipe that a run cannot change once it has begun."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    progress: Progress
    scores: dict[str, Scores]
    interrupted: bool
    how_to_ask: str = ""
    """What `headwise translate` needs beside the model: ` --to de` if there are several target languages."""


def train(recipe: Recipe, say: Callable[[str], None] = print) -> Outcome:
    """Prepare the data, train, and leave a model folder at `recipe.out`; goes on where an earlier run ended."""
    check(recipe)
    run = Path(recipe.out)
    make_folder(run)
    claim(run, recipe, say)
    with alone(run):
        return train_in(run, recipe, say)


def train_in(run: Path, recipe: Recipe, say: Callable[[str], None]) -> Outcome:
    """The run itself, in a folder that is this process's alone."""
    cache = Path(recipe.data.cache) if recipe.data.cache else run / "data"
    prepared = prepare(
        recipe.data,
        recipe.text,
        cache,
        recipe.seed,
        say,
        train_tokenizer=train_tokenizer,
        load_tokenizer=load_tokenizer,
    )
    check_same_data(run, prepared)

    device = best_device(recipe.train.device)
    loaded = new_model(recipe, prepared, device)
    save_description(run, loaded.config, loaded.tokenizer, loaded.task)
    write_json(run / RECIPE, to_tables(recipe))
    say(describe(loaded, prepared, device))

    reporter = RunReporter(run, recipe.train.steps, tensorboard=recipe.train.tensorboard)
    with StopRequest() as stop, reporter:
        progress = fit(
            loaded.model,
            teacher_forcing(recipe.train.label_smoothing),
            batch_stream(recipe, prepared),
            recipe,
            run,
            validate=validator(
                loaded,
                prepared.valid,
                recipe.train.batch_tokens,
                recipe.train.validate_pairs,
                recipe.train.validate_bleu,
            )
            if prepared.valid
            else None,
            reporter=reporter,
            stop=stop,
            autocast=autocast_dtype(recipe.train.precision, device),
        )
        interrupted = bool(stop) and progress.step < recipe.train.steps and not progress.finished
    draw_curves(run)
    if interrupted:
        return Outcome(run, progress, {}, True)
    scores = finish(run, recipe, prepared, loaded, progress, say)
    return Outcome(run, progress, scores, False, loaded.task.how_to_ask)


def check(recipe: Recipe) -> None:
    """Refuse what would only fail later, or never end."""
    if not recipe.out:
        raise ConfigError("no output folder: give --out DIR")
    for key in (
        "steps",
        "batch_tokens",
        "accumulate",
        "validate_every",
        "checkpoint_every",
        "log_every",
        "keep",
        "max_nonfinite",
        "average",
    ):
        if getattr(recipe.train, key) < 1:
            raise ConfigError(f"train.{key} must be at least 1")
    for key in ("learning_rate", "warmup", "decay", "epsilon", "weight_decay", "clip", "validate_pairs", "patience"):
        if not getattr(recipe.train, key) >= 0:
            raise ConfigError(f"train.{key} must not be negative")
    for key in ("beta1", "beta2", "label_smoothing", "ema"):
        if not 0 <= getattr(recipe.train, key) < 1:
            raise ConfigError(f"train.{key} must be at least 0 and below 1")
    best_device(recipe.train.device)
    check_shape(recipe.model)
    learning_rate(1, recipe.train, recipe.model)
    if recipe.model.positions == "learned" and recipe.model.max_positions < recipe.data.max_tokens + 2:
        raise ConfigError("model.max_positions must be at least data.max_tokens + 2, for <sos>, <eos> and a tag")
    if not 0 <= recipe.seed < 2**63:
        raise ConfigError("seed must be at least 0 and below 2^63")
    for corpus in recipe.data.test:  # a misspelt name should not show after days of training
        if next(iter(read_corpus(corpus, recipe.data)), None) is None:
            raise DataError(f"the test set {(corpus.pairs or corpus.source)[0]} is empty")
    if recipe.train.select_by == "bleu" and not recipe.train.validate_bleu:
        raise ConfigError('train.select_by = "bleu" needs train.validate_bleu = true')


def make_folder(run: Path) -> None:
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{run}: cannot be the output folder: {error.strerror}") from None
    if not os.access(run, os.W_OK):
        raise ConfigError(f"{run}: cannot be the output folder: no permission to write")


def claim(run: Path, recipe: Recipe, say: Callable[[str], None]) -> None:
    """An output folder belongs to one recipe: going on with another would silently mix two models."""
    if not (run / RECIPE).exists():
        if (run / WEIGHTS).exists():
            raise ConfigError(f"{run} holds a model that was not trained here: choose another --out")
        return
    stored = read_json(run / RECIPE)
    try:
        before = to_tables(from_tables(Recipe, stored))
    except (ConfigError, TypeError) as error:
        raise CheckpointError(f"{run / RECIPE}: damaged: {error}") from None
    now = to_tables(recipe)
    for part in BOUND:
        changed = _differences(before[part], now[part], part)
        changed = [change for change in changed if not change.startswith(("data.cache", "data.test"))]
        if changed:
            raise ConfigError(
                f"{run} was begun with another recipe ({'; '.join(changed[:3])}): choose another --out, "
                "or the same settings to go on"
            )
    for change in _differences(before["train"], now["train"], "train"):
        say(f"changed since the last start: {change}")


def _differences(before: object, now: object, where: str) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            difference
            for key in sorted(before.keys() | now.keys())
            for difference in _differences(before.get(key), now.get(key), f"{where}.{key}")
        ]
    return [] if before == now else [f"{where} was {before!r}, is {now!r}"]


def check_same_data(run: Path, prepared: Prepared) -> None:
    """With other data the place in it means nothing, and with another tokenizer the weights do not."""
    path, key = run / DATA_KEY, prepared.folder.name
    if path.exists() and read_json(path) != key:
        raise ConfigError(
            f"{run} was begun with other data: its files have changed; choose another --out, "
            "or put the files back to go on"
        )
    write_json(path, key)


@contextlib.contextmanager
def alone(run: Path) -> Iterator[None]:
    """Two processes in one output folder would remove each other's checkpoints. A killed one holds nothing."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    with (run / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{run} is being trained by another process: choose another --out") from None
        yield


def new_model(recipe: Recipe, prepared: Prepared, device: torch.device) -> LoadedModel:
    """The model before its first step, drawn from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    model = build(recipe.model, prepared.tokenizer.size, prepared.tokenizer.pad).to(device)
    lengths = np.concatenate([train.corpus.source.lengths for train in prepared.train])
    task = Task(
        directions=tuple(directions(recipe.data)),
        tags=bool(tag_languages(recipe.data, recipe.text)),
        usual_tokens=int(np.quantile(lengths, 0.98)),
        max_tokens=int(lengths.max()),
    )
    return LoadedModel(model, prepared.tokenizer, recipe.model, task)


def batch_stream(recipe: Recipe, prepared: Prepared) -> BatchStream:
    text, tokenizer = recipe.text, prepared.tokenizer

    def sampler(ids: list[int], rng: np.random.Generator) -> list[int]:
        return tokenizer.sample(ids, text.sampling, text.candidates, rng)

    return BatchStream(
        prepared.train,
        tokenizer,
        recipe.train.batch_tokens,
        recipe.seed,
        sampler=sampler if text.sampling else None,
    )


def describe(loaded: LoadedModel, prepared: Prepared, device: torch.device) -> str:
    parameters = parameter_count(loaded.model)
    pairs = sum(len(train.corpus) for train in prepared.train)
    return (
        f"{parameters / 1e6:.1f} million parameters, {loaded.tokenizer.size:,} tokens, {pairs:,} training pairs, "
        f"on {device.type}"
    )


def finish(
    run: Path,
    recipe: Recipe,
    prepared: Prepared,
    loaded: LoadedModel,
    progress: Progress,
    say: Callable[[str], None],
) -> dict[str, Scores]:
    """The model folder: the best or averaged weights, their scores, the card."""
    if recipe.train.average > 1:
        newest = checkpoints(run)[-recipe.train.average :]
        weights = mean_weights([load_weights(path) for path in newest])
        source = f"the mean of the last {len(newest)} checkpoints"
    elif progress.best_step:
        weights = load_weights(step_folder(run, progress.best_step))
        source = f"those of the best validation, at step {progress.best_step:,}"
    else:
        weights = load_weights(checkpoints(run)[-1])
        source = f"those of the last step, {progress.step:,}"
    set_weights(loaded.model, weights, str(run))
    save_tensors(run / WEIGHTS, weights)
    scores = test(recipe, prepared, loaded, say)
    write_text(run / "README.md", model_card(recipe, prepared, loaded, progress, scores, source))
    write_json(run / SCORES, {name: score.as_dict() for name, score in scores.items()})
    return scores


def test(recipe: Recipe, prepared: Prepared, loaded: LoadedModel, say: Callable[[str], None]) -> dict[str, Scores]:
    """Beam-search scores on the recipe's test sets, or else on the validation set."""
    sets: list[tuple[str, list[str], list[str], str, str]] = []
    for number, corpus in enumerate(recipe.data.test):
        pairs = list(read_corpus(corpus, recipe.data))
        name = Path((corpus.pairs or corpus.source)[0]).name if len(recipe.data.test) > 1 else "test set"
        languages = corpus_languages(corpus, recipe.data)
        sets.append(
            (
                f"{name} {number + 1}" if name in [each[0] for each in sets] else name,
                [pair.source for pair in pairs],
                [pair.target for pair in pairs],
                *languages,
            )
        )
    for valid in prepared.valid if not sets else []:
        limit = recipe.train.validate_pairs or None
        direction = f" {valid.source_language}-{valid.target_language}" if len(prepared.valid) > 1 else ""
        sets.append(
            (
                f"validation set{direction}",
                valid.sources[:limit],
                valid.targets[:limit],
                valid.source_language,
                valid.target_language,
            )
        )
    translator = Translator(loaded, recipe.train.device)
    scores = {}
    for name, sources, targets, source, target in sets:
        say(f"translating the {name}: {len(sources):,} sentences, beam 4")
        options = TranslateOptions(beam=4, alignments=False)
        scores[name], _ = evaluate(translator, sources, targets, source, target, options=options)
        say(f"{name}:\n{scores[name]}")
    return scores
