"""headwise distill"""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.options import Countdown, add_beam, add_command, add_languages, positive
from headwise.cli.shard import add_shard, own_device, share_of
from headwise.cli.train import add_pairs, add_run_options, add_valid_pairs, corpus_tables, say, train_tables
from headwise.config import override
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translator import Translator


def add_distill(commands: Any) -> None:
    command = add_command(
        commands,
        "distill",
        run_distill,
        "Train a small, fast translator on the translations of a large one, and compare the two. "
        "What was stopped or killed goes on with the same command.",
        """
headwise distill big-model --pairs memory.tmx --from en --to de --preset tiny --out small-model
headwise distill opus-mt-en-fr --text english.txt.xz --from en --to fr --preset deep --out small-model
headwise distill big-model recipes/europarl_en_de.toml --set data.folder=/data --preset small --out small-model
torchrun --nproc-per-node 8 -m headwise distill big-model --pairs memory.tmx --preset tiny --out small-model

The teacher translates the source sides (kept in DIR/distilled); the student is then trained as `headwise train` would,
with the same options. It is measured on --test-pairs, or else on real pairs that are held out.
""",
    )
    command.add_argument("teacher", metavar="TEACHER", help="model folder, ours or Hugging Face's")
    command.add_argument("recipe", nargs="?", metavar="RECIPE.toml", help="a recipe; options below override it")
    add_pairs(command)
    command.add_argument("--text", nargs="+", metavar="F", help="text of the source language alone")
    add_valid_pairs(command)
    command.add_argument("--test-pairs", nargs="+", metavar="FILE", help="pairs to compare the two models on")
    command.add_argument("--test-source", nargs="+", metavar="F")
    command.add_argument("--test-target", nargs="+", metavar="F")
    add_languages(command)
    add_beam(command)
    command.add_argument("--keep-references", action="store_true", help="train on the given translations too")
    command.add_argument(
        "--teacher-tokenizer", action="store_true", help="the teacher's tokenizer, not one trained on its translations"
    )
    command.add_argument(
        "--teacher-batch-tokens", type=positive, default=0, metavar="N", help="tokens times beam translated together"
    )
    add_shard(command, "of the translations; the last to end trains the student")
    add_run_options(command)
    absent = ("labelled", "images", "init", "both_directions")
    other = [f"{prefix}{kind}" for prefix in ("valid_", "test_") for kind in ("text", "labelled", "images")]
    command.set_defaults(task="translation", **dict.fromkeys([*absent, *other]))


def run_distill(args: argparse.Namespace) -> int:
    from headwise.decode.translator import TranslateOptions, Translator
    from headwise.interrupt import StopRequest
    from headwise.synthesis.distill import distill
    from headwise.train.report.card import how_to_use

    share = share_of(args)
    tell = say if share.talks else (lambda text: None)
    tables = distill_tables(args)
    teacher = Translator(args.teacher, own_device(args.device or "auto", args.teacher))
    tables = with_languages(tables, teacher)
    countdown: Countdown | None = None

    def progress(done: int, total: int) -> None:
        nonlocal countdown
        countdown = countdown or shown.enter_context(Countdown(total, "sentences"))
        countdown.show(done)

    with StopRequest(once=not share.together) as stop, ExitStack() as shown:
        result = distill(
            teacher,
            args.teacher,
            tables,
            options=TranslateOptions(beam=args.beam, alignments=False, batch_tokens=args.teacher_batch_tokens),
            keep_references=args.keep_references,
            say=tell,
            progress=progress,
            stop=lambda: bool(stop),
            share=share,
        )
    if result.stopped:
        tell("stopped, all saved; the same command goes on from there")
        return stop.status
    if result.outcome is None:
        say(f"{share} is done; the last one to end trains the student")
        return 0
    outcome = result.outcome
    if outcome.interrupted:
        tell(f"stopped at step {outcome.progress.step:,}, all saved; the same command goes on from there")
        return 128 + outcome.signal
    if result.comparison is not None:
        print(result.comparison)
        say(f"done: {how_to_use('translation', str(outcome.folder), outcome.how_to_ask)}")
    return 0


def distill_tables(args: argparse.Namespace) -> dict[str, Any]:
    """The tables of the recipe with the options laid over them; text is a corpus too."""
    text, args.text = args.text, None
    if not args.out:
        raise ConfigError("no output folder: give --out DIR")
    if not args.recipe and not text and not corpus_tables(args, ""):
        raise ConfigError("nothing to translate: give --pairs FILE, or --source F and --target F, or --text F")
    if args.teacher_tokenizer:
        refuse_tokenizer(args)
    tables = train_tables(args, [{"text": text}] if text else [])
    test = corpus_tables(args, "test_")
    settings: dict[str, Any] = {"data.test": test} if test else {}
    if args.teacher_tokenizer:
        trained = [f"text.{key}" for key in OF_TRAINING if key in tables.get("text", {})]
        if trained:
            say(f"note: --teacher-tokenizer: {', '.join(trained)} of the recipe {_means(trained)} nothing")
        settings["text.folder"] = str(Path(args.teacher).absolute())
    return override(tables, settings)


OF_TRAINING = ("kind", "vocabulary", "sample", "lossless", "folder")
"""Keys of the text table that say which tokenizer the student has."""


def refuse_tokenizer(args: argparse.Namespace) -> None:
    """Options that say which tokenizer is to be trained, beside the one that asks for the teacher's."""
    keys = {setting.partition("=")[0].strip() for setting in args.settings}
    given = [f"--set {key}" for key in sorted(keys) if key in {f"text.{each}" for each in OF_TRAINING}]
    if args.vocabulary:
        given.insert(0, "--vocabulary")
    if given:
        raise ConfigError(f"--teacher-tokenizer takes the teacher's as it is: leave out {', '.join(given)}, or it")


def _means(things: list[str]) -> str:
    return "means" if len(things) == 1 else "mean"


def with_languages(tables: dict[str, Any], teacher: "Translator") -> dict[str, Any]:
    """What the teacher translates is what the student learns, where nothing else is said."""
    data = tables["data"]
    if data.get("source_language") or data.get("target_language"):
        return tables
    if any(corpus.get("target_language") for corpus in data["train"]):
        return tables
    source, target = teacher.direction()
    return override(tables, {"data.source_language": source, "data.target_language": target})
