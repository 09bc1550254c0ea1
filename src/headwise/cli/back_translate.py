"""The command `headwise back-translate`: training pairs from text in the target language."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.console import say
from headwise.cli.options import (
    add_command,
    add_device,
    add_languages,
    add_sampling,
    as_utf8,
    positive,
    sampling,
)
from headwise.cli.shard import add_shard, own_device, run_resumable, share_of
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translation import TranslateOptions


def add_back_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "back-translate",
        run_back_translate,
        "Make training pairs from text in the target language: a model translates it back into the source language. "
        "After an interruption, run the same command again to continue.",
        """
headwise back-translate de-en --text news.de.xz --out synthetic.tsv
headwise back-translate de-en --text news.de.xz --out synthetic.tsv --beam 4 --max-lines 100000
headwise back-translate many --from de --to en --text news.de --out synthetic.tsv --tag "<BT>"
headwise train --pairs memory.tmx synthetic.tsv --from en --to de --out en-de
torchrun --nproc-per-node 8 -m headwise back-translate de-en --text news.de.xz --out synthetic.tsv

MODEL translates from the target language into the source language: from German into English, if the model to be
trained translates from English into German. Sources are sampled unless --beam is given. Sampled sources are better to
train on if MODEL is good; if it was trained on 100,000 pairs or fewer, use --beam 4. Pairs are cleaned as in training.
""",
    )
    command.add_argument(
        "model", metavar="MODEL", help="a model's folder or name, target to source; Headwise or Hugging Face"
    )
    command.add_argument("--text", nargs="+", metavar="F", help="text in the target language, also .gz .xz .bz2 .zst")
    command.add_argument("--out", required=True, metavar="FILE.tsv", help="pairs: synthetic source, authentic target")
    command.add_argument("--max-lines", type=positive, default=0, metavar="N", help="translate only the first N lines")
    command.add_argument("--tag", default="", metavar="TEXT", help="every synthetic source begins with TEXT")
    add_languages(command)
    command.add_argument("--beam", type=positive, metavar="N", help="search with beam N instead of sampling; 1: greedy")
    add_sampling(command)
    command.set_defaults(seed=None, candidates=1)  # None: no seed was given
    command.add_argument(
        "--batch-tokens",
        type=positive,
        default=0,
        metavar="N",
        help="source tokens times beam per batch (default: by device)",
    )
    add_shard(command, "the last part to finish writes the pairs")
    add_device(command)


def run_back_translate(args: argparse.Namespace) -> int:
    from headwise.synthesis.back_translate import back_translate

    share = share_of(args)
    if args.tag and not args.tag.strip():
        raise ConfigError("--tag is only white space: give a text, or leave it out")
    call = partial(
        back_translate,
        Path(args.model),
        args.text or [],
        args.out,
        source=args.source_language,
        target=args.target_language,
        tag=as_utf8(args.tag),
        max_lines=args.max_lines,
        device=own_device(args.device, args.model),
        options=search_options(args),
    )
    result, status = run_resumable(share, call)
    if status:
        return status
    if result.already:
        if share.reports:
            say(f"{args.out} is complete already\n{result.report}")
    elif result.report is not None:
        say(str(result.report))
        say(f"wrote {result.report.kept:,} pairs to {args.out}; train on them: headwise train --pairs {args.out} ...")
    elif share.separate:
        say(f"{share} is done; the last part to finish writes {args.out}")
    return 0


def search_options(args: argparse.Namespace) -> "TranslateOptions":
    """Sampling, unless a beam is given."""
    from headwise.decode.search.options import SamplingOptions
    from headwise.decode.translation import TranslateOptions

    drawing = sampling(args)
    if args.beam and (drawing is not None or args.seed is not None):
        option = "--seed" if drawing is None else "--sample"
        raise ConfigError(f"--beam searches, and {option} is for sampling: give one of them")
    return TranslateOptions(
        beam=args.beam or 1,
        sampling=None if args.beam else drawing or SamplingOptions(),
        seed=args.seed or 0,
        batch_tokens=args.batch_tokens,
    )
