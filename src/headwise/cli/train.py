"""The command `headwise train`: training of any model."""

import argparse
from typing import TYPE_CHECKING, Any

from headwise.cli.console import say
from headwise.cli.options import add_command, add_languages, positive
from headwise.cli.shard import STOPPED
from headwise.presets import DEFAULTS, PRESETS
from headwise.recipe import parse_setting

if TYPE_CHECKING:
    from headwise.train.one_call import RunKeywords
    from headwise.train.run import Outcome


def add_train(commands: Any) -> None:
    command = add_command(
        commands,
        "train",
        run_train,
        "Train a model: a translator from sentence pairs, a language model from text, a classifier from labelled "
        "examples. A run that exists in the output folder continues where it stopped.",
        """
headwise train --pairs memory.tmx --from en --to de --out my-model
headwise train --pairs corpus.tmx --from en --to de --out my-model --init none --preset base
headwise train --source train.en.xz --target train.de.xz --from en --to de --out my-model --preset base
headwise train --init opus-mt-en-de --pairs memory.tmx --from en --to de --out my-model
headwise train --task causal_lm --text books.txt.xz --out my-language-model
headwise train --init my-encoder --labelled reviews.tsv --out my-classifier
headwise train --out my-model --steps 20000
headwise train multi30k_en_de --set data.folder=/data/multi30k --set train.steps=2000 --out runs/m30k
""",
    )
    command.add_argument(
        "recipe",
        nargs="?",
        metavar="RECIPE",
        help="a TOML file, or the name of a shipped recipe; the options below override it",
    )
    command.add_argument(
        "--task",
        choices=list(DEFAULTS),
        help="what to train (default: chosen by the kind of data; causal_lm for --text)",
    )
    command.add_argument(
        "--init",
        metavar="MODEL",
        help="start from this model: a folder, Headwise or Hugging Face, or a name; none: a new model (default for "
        "translation: the bundled model, if it covers the languages and the pairs are few)",
    )
    add_pairs(command)
    command.add_argument("--text", nargs="+", metavar="F", help="plain text, for a language model")
    command.add_argument("--labelled", nargs="+", metavar="FILE", help="TSV, CSV or JSON lines with labels")
    command.add_argument(
        "--images", nargs="+", metavar="DIR", help="a folder with one subfolder per class, an .npz file or IDX files"
    )
    add_valid_pairs(command)
    command.add_argument("--valid-text", nargs="+", metavar="F", help="validation text (default: held out)")
    command.add_argument("--valid-labelled", nargs="+", metavar="FILE", help="validation examples (default: held out)")
    command.add_argument("--valid-images", nargs="+", metavar="DIR", help="validation images (default: held out)")
    add_languages(command)
    command.add_argument(
        "--both-directions", action="store_true", default=None, help="one model that translates in both directions"
    )
    add_run_options(command)


def add_pairs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV, CSV, JSON lines; also .gz .xz .bz2 .zst")
    command.add_argument("--source", nargs="+", metavar="F", help="source text, one sentence per line")
    command.add_argument("--target", nargs="+", metavar="F", help="its translation, line by line")


def add_valid_pairs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--valid-pairs", nargs="+", metavar="FILE", help="validation pairs (default: held out)")
    command.add_argument("--valid-source", nargs="+", metavar="F", help="validation sources, one sentence per line")
    command.add_argument("--valid-target", nargs="+", metavar="F", help="their translations, line by line")


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a run that are not about its data."""
    command.add_argument("--out", metavar="DIR", help="output folder; a run that exists there continues")
    command.add_argument("--preset", choices=list(PRESETS), help=f"model shape (default by task: {_defaults()})")
    command.add_argument(
        "--steps",
        type=positive,
        metavar="N",
        help="training steps (default: 10,000, or by the amount of data if tuned)",
    )
    command.add_argument(
        "--batch-tokens",
        type=lambda text: 0 if text == "auto" else positive(text),
        metavar="N",
        help="tokens per batch, padding included; auto: as many as fit a GPU (default: 4,096; 1,024 if tuned)",
    )
    command.add_argument(
        "--vocabulary", type=positive, metavar="N", help="size of the vocabulary (default: by corpus size)"
    )
    command.add_argument(
        "--noise",
        choices=["none", "usual"],
        help="usual: capitals, typos, tags and more in a share of the training pairs (default: none)",
    )
    command.add_argument(
        "--seed", type=int, metavar="N", help="random seed of weights, batches and dropout (default: 1)"
    )
    command.add_argument("--device", help="cpu, cuda, cuda:1 ...; auto: a GPU if there is one (default)")
    command.add_argument("--tensorboard", action="store_true", default=None, help="write TensorBoard files too")
    command.add_argument(
        "--set",
        dest="settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="any key of a recipe, such as train.checkpoint_every=200 or model.attention.heads=8",
    )


def run_train(args: argparse.Namespace) -> int:
    from headwise.train.one_call import complete_recipe, train
    from headwise.train.report.card import how_to_use

    recipe = complete_recipe(args.recipe, say, **run_keywords(args))
    outcome = train(recipe, say=say)
    if outcome.interrupted:
        return stopped_training(outcome)
    if outcome.first:
        say(f"done: {how_to_use(recipe.task, str(outcome.folder), outcome.how_to_ask)}")
    return 0


def stopped_training(outcome: "Outcome") -> int:
    """Report that a run was interrupted; returns the exit status that shells expect: 130 after Ctrl-C."""
    if outcome.first:
        say(f"stopped at step {outcome.progress.step:,}; {STOPPED}")
    return 128 + outcome.signal


RENAMED = {
    "source_files": "source",
    "target_files": "target",
    "valid_source_files": "valid_source",
    "valid_target_files": "valid_target",
    "source": "source_language",
    "target": "target_language",
}
"""Keywords of the Python call whose option has another name."""


def run_keywords(args: argparse.Namespace) -> "RunKeywords":
    """The options as keywords of the Python call."""
    from headwise.train.one_call import RunKeywords

    given = {name: getattr(args, RENAMED.get(name, name), None) for name in RunKeywords.__annotations__}
    keywords = {name: value for name, value in given.items() if value is not None}
    return RunKeywords(**{**keywords, "settings": dict(map(parse_setting, args.settings))})  # type: ignore[typeddict-item]


def _defaults() -> str:
    return ", ".join(f"{task} {preset}" for task, preset in DEFAULTS.items())
