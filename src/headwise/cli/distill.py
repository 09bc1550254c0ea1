"""The command `headwise distill`: a small translator trained on a large one's translations."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from headwise.cli.console import say
from headwise.cli.options import add_beam, add_command, add_languages, positive
from headwise.cli.shard import add_shard, own_device, run_resumable, share_of
from headwise.cli.train import add_pairs, add_run_options, add_valid_pairs, run_keywords, stopped_training
from headwise.errors import ConfigError


def add_distill(commands: Any) -> None:
    command = add_command(
        commands,
        "distill",
        run_distill,
        "Train a small, fast translator on the translations of a large one, and compare the two. "
        "After an interruption, run the same command again to continue.",
        """
headwise distill big-model --pairs memory.tmx --from en --to de --preset tiny --out small-model
headwise distill opus-mt-en-fr --text english.txt.xz --from en --to fr --preset deep --out small-model
headwise distill big-model europarl_en_de --set data.folder=/data --preset small --out small-model
torchrun --nproc-per-node 8 -m headwise distill big-model --pairs memory.tmx --preset tiny --out small-model

The teacher translates the source sides (kept in DIR/distilled); then the student is trained as by `headwise train`,
which has the same options. Both are compared on --test-pairs, or else on held-out pairs.
""",
    )
    command.add_argument("teacher", metavar="TEACHER", help="a model's folder or name; Headwise or Hugging Face")
    command.add_argument("recipe", nargs="?", metavar="RECIPE", help="a recipe; the options below override it")
    add_pairs(command)
    command.add_argument("--text", nargs="+", metavar="F", help="text in the source language, without translations")
    add_valid_pairs(command)
    command.add_argument("--test-pairs", nargs="+", metavar="FILE", help="pairs to compare the two models on")
    command.add_argument("--test-source", nargs="+", metavar="F", help="test sources, one sentence per line")
    command.add_argument("--test-target", nargs="+", metavar="F", help="their translations, line by line")
    add_languages(command)
    add_beam(command)
    command.add_argument("--keep-references", action="store_true", help="train on the given translations too")
    command.add_argument(
        "--teacher-tokenizer", action="store_true", help="use the teacher's tokenizer instead of training a new one"
    )
    command.add_argument(
        "--teacher-batch-tokens",
        type=positive,
        default=0,
        metavar="N",
        help="source tokens times beam per batch of the teacher (default: by device)",
    )
    add_shard(command, "shares the translations; the last part to finish trains the student")
    add_run_options(command)


def run_distill(args: argparse.Namespace) -> int:
    from headwise.synthesis.distill import distill
    from headwise.train.report.card import how_to_use

    share = share_of(args)
    if not args.out:
        raise ConfigError("no output folder: give --out DIR")
    call = partial(
        distill,
        Path(args.teacher),
        args.recipe,
        test_pairs=args.test_pairs,
        test_source_files=args.test_source,
        test_target_files=args.test_target,
        beam=args.beam,
        teacher_batch_tokens=args.teacher_batch_tokens,
        teacher_device=own_device(args.device or "auto", args.teacher),
        teacher_tokenizer=args.teacher_tokenizer,
        keep_references=args.keep_references,
        **run_keywords(args),
    )
    result, status = run_resumable(share, call)
    if status:
        return status
    outcome = result.outcome
    if outcome is None:
        say(f"{share} is done; the last part to finish trains the student")
        return 0
    if outcome.interrupted:
        return stopped_training(outcome)
    if result.comparison is not None:
        print(result.comparison)
        say(f"done: {how_to_use('translation', str(outcome.folder), outcome.how_to_ask)}")
    return 0
