"""headwise train"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command, add_languages, positive
from headwise.config import modern_model, override, parse_setting, read_recipe
from headwise.errors import CheckpointError, ConfigError
from headwise.presets import DEFAULTS, PRESETS


def add_train(commands: Any) -> None:
    command = add_command(
        commands,
        "train",
        run_train,
        "Train a model: a translator from sentence pairs, a language model from text, a classifier from examples. "
        "On a folder that was begun, go on exactly where it stopped.",
        """
headwise train --pairs memory.tmx --from en --to de --out my-model
headwise train --source train.en.xz --target train.de.xz --from en --to de --out my-model --preset base
headwise train --init opus-mt-en-de --pairs memory.tmx --from en --to de --out my-model
headwise train --task causal_lm --text books.txt.xz --out my-language-model
headwise train --init my-encoder --labelled reviews.tsv --out my-classifier
headwise train --out my-model --steps 20000
headwise train recipes/multi30k_en_de.toml --set data.folder=/data/multi30k --set train.steps=2000 --out runs/m30k
""",
    )
    command.add_argument("recipe", nargs="?", metavar="RECIPE.toml", help="a recipe; options below override it")
    command.add_argument(
        "--task",
        choices=list(DEFAULTS),
        help="what to train (default: what the data are for; causal_lm for --text)",
    )
    command.add_argument("--init", metavar="DIR", help="a model folder, ours or Hugging Face's, to start from")
    add_pairs(command)
    command.add_argument("--text", nargs="+", metavar="F", help="plain text, for a language model")
    command.add_argument("--labelled", nargs="+", metavar="FILE", help="TSV, CSV or JSON lines with labels")
    command.add_argument("--images", nargs="+", metavar="DIR", help="a folder with a subfolder a class, .npz or IDX")
    add_valid_pairs(command)
    command.add_argument("--valid-text", nargs="+", metavar="F")
    command.add_argument("--valid-labelled", nargs="+", metavar="FILE")
    command.add_argument("--valid-images", nargs="+", metavar="DIR")
    add_languages(command)
    command.add_argument("--both-directions", action="store_true", default=None, help="one model for both ways")
    add_run_options(command)


def add_pairs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV or JSON lines, also .gz .xz .bz2 .zst")
    command.add_argument("--source", nargs="+", metavar="F", help="source text, a sentence a line")
    command.add_argument("--target", nargs="+", metavar="F", help="target text, line by line its translation")


def add_valid_pairs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--valid-pairs", nargs="+", metavar="FILE", help="validation pairs (default: held out)")
    command.add_argument("--valid-source", nargs="+", metavar="F")
    command.add_argument("--valid-target", nargs="+", metavar="F")


def add_run_options(command: argparse.ArgumentParser) -> None:
    """What a run is asked for beside its data."""
    command.add_argument("--out", metavar="DIR", help="output folder; an existing run there is resumed")
    command.add_argument("--preset", choices=list(PRESETS), help=f"model shape (default by task: {_defaults()})")
    command.add_argument("--steps", type=positive, metavar="N", help="training steps (default: 10,000)")
    command.add_argument(
        "--batch-tokens",
        type=lambda text: 0 if text == "auto" else positive(text),
        metavar="N",
        help="padded tokens in a batch; auto: what fits in the GPU's memory (default: 4,096)",
    )
    command.add_argument("--vocabulary", type=positive, metavar="N", help="tokens (default: by corpus size)")
    command.add_argument("--seed", type=int, metavar="N")
    command.add_argument("--device", help="auto, cpu, cuda ... (default: auto)")
    command.add_argument("--tensorboard", action="store_true", default=None, help="write TensorBoard files too")
    command.add_argument(
        "--set",
        dest="settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="any key of a recipe, such as train.checkpoint_every=200",
    )


def run_train(args: argparse.Namespace) -> int:
    from headwise.train.report.card import how_to_use
    from headwise.train.run import train
    from headwise.train.start import recipe_from

    recipe = recipe_from(train_tables(args))
    outcome = train(recipe, say=say)
    if outcome.interrupted:
        if outcome.first:
            say(f"stopped at step {outcome.progress.step:,}, all saved; the same command goes on from there")
        return 128 + outcome.signal  # as shells and schedulers expect: 130 after Ctrl-C, 143 after SIGTERM
    if outcome.first:
        say(f"done: {how_to_use(recipe.task, str(outcome.folder), outcome.how_to_ask)}")
    return 0


def say(text: str) -> None:
    """A run does not end because its terminal was closed, or the program that read its output has ended."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def train_tables(args: argparse.Namespace, more: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The tables of the recipe with the options laid over them; `more` are training corpora beside theirs."""
    corpora, valid = corpus_tables(args, ""), corpus_tables(args, "valid_")
    tables = read_recipe(Path(args.recipe)) if args.recipe else {} if corpora or more else begun(args.out)
    options: dict[str, Any] = {
        "task": args.task or (None if "task" in tables else task_of(corpora, args.init or tables.get("init"))),
        "init": args.init,
        "out": args.out,
        "seed": args.seed,
        "model.preset": args.preset,
        "text.vocabulary": args.vocabulary,
        "data.source_language": args.source_language,
        "data.target_language": args.target_language,
        "data.both_directions": args.both_directions,
        "data.train": [*corpora, *more] or None,
        "data.valid": valid or None,
        "train.steps": args.steps,
        "train.batch_tokens": args.batch_tokens,
        "train.device": args.device,
        "train.tensorboard": args.tensorboard,
    }
    given = {key: value for key, value in options.items() if value is not None}
    tables = override(tables, given | dict(map(parse_setting, args.settings)))
    check_kinds(str(tables.get("task", "translation")), [*corpora, *valid])
    data = tables.get("data", {})
    if not isinstance(data, dict) or not data.get("train"):
        raise ConfigError(
            "no training data: give --pairs FILE, or --source F and --target F, or --text, --labelled or --images, "
            "or a recipe, or the --out of a run that was begun"
        )
    return tables


KINDS = {
    "pairs": ("translation",),
    "source": ("translation",),
    "text": ("causal_lm", "masked_lm"),
    "labelled": ("classify",),
    "images": ("images",),
}
"""The tasks that each option of data is for; the first is meant unless --task, or the model to start from, says
otherwise."""


def task_of(corpora: list[dict[str, Any]], init: str | None) -> str | None:
    tasks = next((KINDS[kind] for corpus in corpora for kind in corpus if kind in KINDS), ())
    if len(tasks) > 1 and init:
        from headwise.train.start import folder_config

        family = folder_config(init).family
        return family if family in tasks else tasks[0]
    return next(iter(tasks), None)


def check_kinds(task: str, corpora: list[dict[str, Any]]) -> None:
    """Each task has data of its own."""
    for kind in (kind for corpus in corpora for kind in corpus if kind in KINDS):
        if task in DEFAULTS and task not in KINDS[kind]:
            own = " or ".join(f"--{each}" for each, tasks in KINDS.items() if task in tasks)
            raise ConfigError(f"--{kind} is for {' and '.join(KINDS[kind])}; for the task {task} give {own}")


def begun(out: str | None) -> dict[str, Any]:
    """The recipe of the run in this folder, if there is one: it goes on."""
    path = Path(out or "", "recipe.json")
    if not out or not path.is_file():
        return {}
    from headwise.train.run_folder import stored_recipe

    stored = stored_recipe(Path(out))
    if not isinstance(stored.get("model"), dict):
        raise CheckpointError(f"{path}: damaged: it is no recipe")
    return {**stored, "model": modern_model(stored["model"])}


def corpus_tables(args: argparse.Namespace, prefix: str) -> list[dict[str, Any]]:
    """The corpora that the options name; `prefix`: `valid_` for those of validation."""
    source, target = getattr(args, f"{prefix}source"), getattr(args, f"{prefix}target")
    if bool(source) != bool(target):
        dashed = prefix.replace("_", "-")
        raise ConfigError(f"--{dashed}source and --{dashed}target belong together")
    kinds = ("pairs", "text", "labelled", "images")
    corpora = [{kind: files} for kind in kinds if (files := getattr(args, prefix + kind))]
    return [*corpora, {"source": source, "target": target}] if source else corpora


def _defaults() -> str:
    return ", ".join(f"{task} {preset}" for task, preset in DEFAULTS.items())
