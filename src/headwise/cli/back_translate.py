"""headwise back-translate"""

import argparse
from pathlib import Path
from typing import Any

from headwise.cli.options import (
    Countdown,
    add_command,
    add_languages,
    add_sampling,
    positive,
    sampling,
)
from headwise.cli.shard import add_shard, own_device, share_of
from headwise.cli.train import say
from headwise.errors import ConfigError


def add_back_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "back-translate",
        run_back_translate,
        "Make sentence pairs of text in the target language: a model translates it back into the source language. "
        "What was stopped or killed goes on with the same command.",
        """
headwise back-translate de-en --text news.de.xz --out synthetic.tsv
headwise back-translate de-en --text news.de.xz --out synthetic.tsv --beam 4 --max-lines 100000
headwise back-translate many --from de --to en --text news.de --out synthetic.tsv --tag "<BT>"
headwise train --pairs memory.tmx synthetic.tsv --from en --to de --out en-de
torchrun --nproc-per-node 8 -m headwise back-translate de-en --text news.de.xz --out synthetic.tsv

MODEL translates from the target language to the source language: German to English, for an English-German model.
Sources are drawn at random unless --beam is given: that teaches more, if the model is good; if it had some 100,000
pairs or fewer to learn from, take --beam 4. The pairs are cleaned as in training.
""",
    )
    command.add_argument("model", metavar="MODEL", help="model folder, ours or Hugging Face's, target to source")
    command.add_argument("--text", nargs="+", metavar="F", help="text of the target language, also .gz .xz .bz2 .zst")
    command.add_argument("--out", required=True, metavar="FILE.tsv", help="pairs: synthetic source, real target")
    command.add_argument("--max-lines", type=positive, default=0, metavar="N", help="only the first N lines")
    command.add_argument("--tag", default="", metavar="TEXT", help="begin every synthetic source with this")
    add_languages(command)
    command.add_argument("--beam", type=positive, metavar="N", help="search with this width; 1 is greedy")
    add_sampling(command)
    command.set_defaults(seed=None)  # to tell whether it was given
    command.add_argument(
        "--batch-tokens", type=positive, default=0, metavar="N", help="tokens times beam searched together"
    )
    add_shard(command, "the last to end writes the pairs")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ... (default: auto)")


def run_back_translate(args: argparse.Namespace) -> int:
    from headwise.decode.bulk import lines as bulk
    from headwise.decode.search.options import SamplingOptions
    from headwise.decode.translator import TranslateOptions, Translator
    from headwise.interrupt import StopRequest
    from headwise.synthesis.back_translate import Synthetic, back_translate, made_before

    share = share_of(args)
    args.nbest = 1
    drawing = sampling(args)
    if args.beam and drawing is not None:
        raise ConfigError("--beam searches and --sample draws: give one of them")
    if args.beam and args.seed is not None:
        raise ConfigError("--beam searches, and --seed is of what is drawn: give one of them")
    tag = " ".join(args.tag.split())
    if args.tag and not tag:
        raise ConfigError("--tag is nothing but spaces: give a text, or leave it out")
    out = Path(args.out)
    if out.suffix.lower() not in (".tsv", ".tab"):
        raise ConfigError(f"--out {out}: the pairs are written as .tsv")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    if not args.text:
        raise ConfigError("nothing to translate: give --text F")
    if "-" in args.text:
        raise ConfigError("--text needs files: standard input cannot be read again after a kill")
    synthetic = Synthetic(
        [Path(path) for path in args.text],
        (args.source_language, args.target_language),
        TranslateOptions(
            beam=args.beam or 1,
            sampling=None if args.beam else drawing or SamplingOptions(),
            seed=args.seed or 0,
            alignments=False,
            batch_tokens=args.batch_tokens,
        ),
        tag=tag,
        max_lines=args.max_lines,
    )
    tell = say if share.talks else (lambda text: None)
    lines, size = synthetic.size()  # read to the end first: a damaged file should cost nothing
    engine = Translator(args.model, own_device(args.device, args.model))
    engine.direction(*synthetic.languages)
    made = synthetic.made(engine)
    if (report := made_before(out, made, share)) is not None:
        tell(f"{out} is complete already")
        tell(str(report))
        return 0
    if share.count > 1 and not share.together:
        texts = (pair.target for pair in synthetic.lines())
        everything = lines
        lines, size = bulk.size_of(texts, out, share, made, synthetic.options, engine.on_gpu)
        say(f"{share}: {lines:,} of {everything:,} lines")
    with StopRequest(once=not share.together) as stop, Countdown(lines, "lines", size) as countdown:
        ended = back_translate(
            engine,
            synthetic,
            out,
            made,
            share=share,
            say=countdown.note,
            progress=lambda done: countdown.show(done.lines, done.source_bytes, done.tokens),
            stop=lambda: bool(stop),
        )
    if not ended.complete:
        tell("stopped, all saved; the same command goes on from there")
        return stop.status
    if ended.report is not None:
        say(str(ended.report))
        say(f"wrote {ended.report.kept:,} pairs to {out}; headwise train --pairs {out} ... takes them")
    elif not share.together:
        say(f"{share} is done; the last one to end writes {out}")
    return 0
