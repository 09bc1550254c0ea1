"""headwise distill"""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.console import Countdown, say
from headwise.cli.options import add_beam, add_command, add_languages, positive
from headwise.cli.shard import add_shard, own_device, share_of
from headwise.cli.train import add_pairs, add_run_options, add_valid_pairs, run_keywords
from headwise.errors import ConfigError


def add_distill(commands: Any) -> None:
    command = add_command(
        commands,
        "distill",
        run_distill,
        "Train a small, fast translator on the translations of a large one, and compare the two. "
        "The same command continues after a stop or a kill.",
        """
headwise distill big-model --pairs memory.tmx --from en --to de --preset tiny --out small-model
headwise distill opus-mt-en-fr --text english.txt.xz --from en --to fr --preset deep --out small-model
headwise distill big-model europarl_en_de --set data.folder=/data --preset small --out small-model
torchrun --nproc-per-node 8 -m headwise distill big-model --pairs memory.tmx --preset tiny --out small-model

The teacher translates the source sides (kept in DIR/distilled); then the student is trained as by `headwise train`,
with the same options. Both are compared on --test-pairs, or else on held-out pairs.
""",
    )
    command.add_argument("teacher", metavar="TEACHER", help="model folder; Headwise or Hugging Face")
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
        help="source tokens times beam that the teacher searches together (default: by device)",
    )
    add_shard(command, "shares the translations; the last to end trains the student")
    add_run_options(command)


def run_distill(args: argparse.Namespace) -> int:
    from headwise.interrupt import StopRequest
    from headwise.synthesis.distill import distill
    from headwise.train.report.card import how_to_use

    share = share_of(args)
    if not args.out:
        raise ConfigError("no output folder: give --out DIR")
    keywords = run_keywords(args)
    teacher = Path(args.teacher)
    with StopRequest(once=not share.together) as stop, Countdown("lines") as countdown:
        result = distill(
            teacher,
            args.recipe,
            test_pairs=args.test_pairs,
            test_source_files=args.test_source,
            test_target_files=args.test_target,
            beam=args.beam,
            teacher_batch_tokens=args.teacher_batch_tokens,
            teacher_device=own_device(args.device or "auto", args.teacher),
            teacher_tokenizer=args.teacher_tokenizer,
            keep_references=args.keep_references,
            share=share,
            progress=countdown.show_bulk,
            stop=lambda: bool(stop),
            say=countdown.note,
            **keywords,
        )
    if result.stopped:
        if share.reports:
            say("stopped, all saved; the same command continues")
        return stop.status
    if result.outcome is None:
        say(f"{share} is done; the last part to end trains the student")
        return 0
    outcome = result.outcome
    if outcome.interrupted:
        if share.reports:
            say(f"stopped at step {outcome.progress.step:,}, all saved; the same command continues")
        return 128 + outcome.signal
    if result.comparison is not None:
        print(result.comparison)
        say(f"done: {how_to_use('translation', str(outcome.folder), outcome.how_to_ask)}")
    return 0
