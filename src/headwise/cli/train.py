"""headwise train"""

import argparse
import sys
from pathlib import Path
from typing import Any

from headwise.cli.options import add_command, add_languages, positive
from headwise.config import override, parse_setting, read_recipe
from headwise.errors import ConfigError
from headwise.presets import DEFAULT, PRESETS, resolve


def add_train(commands: Any) -> None:
    command = add_command(
        commands,
        "train",
        run_train,
        "Train a translator from sentence pairs; on a folder that was begun, go on exactly where it stopped.",
        """
headwise train --pairs memory.tmx --from en --to de --out my-model
headwise train --source train.en.xz --target train.de.xz --from en --to de --out my-model --preset base
headwise train recipes/multi30k_en_de.toml --set data.folder=/data/multi30k --set train.steps=2000 --out runs/m30k
""",
    )
    command.add_argument("recipe", nargs="?", metavar="RECIPE.toml", help="a recipe; options below override it")
    command.add_argument("--pairs", nargs="+", metavar="FILE", help="TMX, TSV or JSON lines, also .gz .xz .bz2 .zst")
    command.add_argument("--source", nargs="+", metavar="F", help="source text, a sentence a line")
    command.add_argument("--target", nargs="+", metavar="F", help="target text, line by line its translation")
    command.add_argument("--valid-pairs", nargs="+", metavar="FILE", help="validation pairs (default: held out)")
    command.add_argument("--valid-source", nargs="+", metavar="F")
    command.add_argument("--valid-target", nargs="+", metavar="F")
    add_languages(command)
    command.add_argument("--out", metavar="DIR", help="output folder; an existing run there is resumed")
    command.add_argument("--preset", choices=list(PRESETS), help=f"model shape (default: {DEFAULT})")
    command.add_argument("--steps", type=positive, metavar="N", help="training steps (default: 10,000)")
    command.add_argument("--batch-tokens", type=positive, metavar="N", help="padded tokens in a batch (default: 4,096)")
    command.add_argument("--vocabulary", type=positive, metavar="N", help="tokens (default: by corpus size)")
    command.add_argument("--both-directions", action="store_true", default=None, help="one model for both ways")
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
    from headwise.train.run import train

    outcome = train(resolve(train_tables(args)), say=lambda text: print(text, file=sys.stderr, flush=True))
    if outcome.interrupted:
        print(
            f"stopped at step {outcome.progress.step:,}, all saved; the same command goes on from there",
            file=sys.stderr,
        )
        return 130
    print(f'done: headwise translate --model {outcome.folder}{outcome.how_to_ask} "..."', file=sys.stderr)
    return 0


def train_tables(args: argparse.Namespace) -> dict[str, Any]:
    """The tables of the recipe with the options laid over them."""
    tables = read_recipe(Path(args.recipe)) if args.recipe else {}
    options: dict[str, Any] = {
        "out": args.out,
        "seed": args.seed,
        "model.preset": args.preset,
        "text.vocabulary": args.vocabulary,
        "data.source_language": args.source_language,
        "data.target_language": args.target_language,
        "data.both_directions": args.both_directions,
        "data.train": corpus_table(args.pairs, args.source, args.target, ""),
        "data.valid": corpus_table(args.valid_pairs, args.valid_source, args.valid_target, "valid-"),
        "train.steps": args.steps,
        "train.batch_tokens": args.batch_tokens,
        "train.device": args.device,
        "train.tensorboard": args.tensorboard,
    }
    given = {key: value for key, value in options.items() if value is not None}
    tables = override(tables, given | dict(map(parse_setting, args.settings)))
    data = tables.get("data", {})
    if not isinstance(data, dict) or not data.get("train"):
        raise ConfigError("no training data: give --pairs FILE, or --source F and --target F, or a recipe")
    return tables


def corpus_table(
    pairs: list[str] | None, source: list[str] | None, target: list[str] | None, prefix: str
) -> list[dict[str, Any]] | None:
    if bool(source) != bool(target):
        raise ConfigError(f"--{prefix}source and --{prefix}target belong together")
    corpora: list[dict[str, Any]] = []
    if pairs:
        corpora.append({"pairs": pairs})
    if source:
        corpora.append({"source": source, "target": target})
    return corpora or None
