"""headwise translate"""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.cli.options import (
    Countdown,
    Counter,
    add_beam,
    add_command,
    add_engine,
    add_languages,
    add_model,
    add_sampling,
    add_texts,
    given_texts,
    output,
    positive,
    refuse_same_file,
    sampling,
    translator,
)
from headwise.cli.shard import add_shard, launched, own_device, share_of
from headwise.cli.train import say
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translator import TranslateOptions, Translation


def add_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "translate",
        run_translate,
        "Translate texts, a file or standard input, line by line. From file to file, what was stopped or killed goes "
        "on with the same command.",
        """
headwise translate --model my-model "I ate an apple."
headwise translate --model my-model --input book.en.xz --output book.de --beam 1
cat lines.txt | headwise translate --model my-model --nbest 3 --scores --alignments
headwise translate --model many --from en --to fr --json "Good morning."
torchrun --nproc-per-node 8 -m headwise translate --model my-model --input web.en.zst --output web.de

Columns are separated by tabs: with --nbest above 1 the number of the input line; with --scores the score;
the text; with --alignments the word alignment (source-target, from 0).
""",
    )
    add_texts(command, "translate")
    add_shard(command, "from file to file; the last to end writes the file")
    add_model(command)
    add_engine(command)
    add_languages(command)
    add_beam(command)
    command.add_argument("--nbest", type=positive, default=1, metavar="N", help="candidates a line (default: 1)")
    command.add_argument("--scores", action="store_true", help="show log-probability / length^penalty")
    command.add_argument("--alignments", action="store_true", help="show word alignments, Pharaoh format")
    command.add_argument("--length-penalty", type=float, default=1.0, metavar="A", help="exponent (default: 1)")
    command.add_argument(
        "--max-ratio",
        type=float,
        default=2.0,
        metavar="R",
        help="longest translation, times the source (default: 2)",
    )
    command.add_argument("--no-repeat", type=int, default=0, metavar="N", help="no n-gram of this size twice")
    command.add_argument("--prefix", default="", metavar="TEXT", help="how every translation has to start")
    add_sampling(command)


def run_translate(args: argparse.Namespace) -> int:
    from headwise.decode.translator import TranslateOptions

    drawing = sampling(args)
    if args.nbest > args.beam and drawing is None:
        args.beam = args.nbest
    options = TranslateOptions(
        beam=args.beam,
        nbest=args.nbest,
        length_penalty=args.length_penalty,
        max_ratio=args.max_ratio,
        no_repeat=args.no_repeat,
        sampling=drawing,
        seed=args.seed,
        alignments=args.alignments or args.json,
    )
    if from_file_to_file(args):
        return translate_file(args, options)
    if args.shard or launched():
        raise ConfigError("several processes share the work from file to file: give --input FILE and --output FILE")
    return translate_stream(args, options)


def translate_stream(args: argparse.Namespace, options: "TranslateOptions") -> int:
    """Texts, or what comes through a pipe, as it comes."""
    texts = given_texts(args, "translate")
    engine = translator(args)
    engine.direction(args.source_language, args.target_language)
    done = 0
    with output(args.output) as file, Counter(bool(args.output), "sentences") as counter:
        for chunk in texts:
            results = engine.translate(
                chunk,
                args.source_language,
                args.target_language,
                prefix=args.prefix,
                options=replace(options, seed=args.seed + done),  # or each chunk would draw the same
            )
            for text, result in zip(chunk, results, strict=True):
                done += 1
                print(row(args, done, text, result), file=file)
                if not result.complete:
                    print(f"headwise: line {done}: cut off at the length limit (--max-ratio)", file=sys.stderr)
            file.flush()
            counter.show(done)
    return 0


# --- from file to file ---------------------------------------------------------------------------------


def from_file_to_file(args: argparse.Namespace) -> bool:
    """Whether the input can be read again after a kill, and the output appear when it is whole."""
    if args.text or args.input in (None, "-") or args.output in (None, "-"):
        return False
    source, out = Path(args.input), Path(args.output).absolute()
    if (source.exists() and not source.is_file()) or (out.exists() and not out.is_file()):
        return False
    return not any(path.absolute().is_relative_to(place) for path in (source, out) for place in ("/dev", "/proc"))


def translate_file(args: argparse.Namespace, options: "TranslateOptions") -> int:
    """Resumable, and shared with other processes where there are some."""
    from headwise.data.read.files import numbered_lines
    from headwise.decode.bulk import lines as bulk
    from headwise.decode.bulk import partial
    from headwise.decode.bulk.survey import survey
    from headwise.interrupt import StopRequest

    refuse_same_file(args.input, args.output)
    if Path(args.output).suffix in (".gz", ".xz", ".bz2", ".zst"):
        raise ConfigError(
            f"{args.output}: what is written is plain text: give a name without {Path(args.output).suffix}"
        )
    source, out = Path(args.input), Path(args.output).resolve()
    share = share_of(args)
    tell = say if share.talks else (lambda text: None)
    args.device = own_device(args.device, args.model)
    surveyed = survey(source, tell)
    engine = translator(args)
    languages = engine.direction(args.source_language, args.target_language)
    made = made_by(args, options, bulk.model_digest(engine), engine.engine, languages) | {"input": surveyed.digest}
    if partial.is_made(out, made, guarded=True):
        tell(f"{out} is complete already: same input, model and options (remove it to translate again)")
        return 0
    if out.exists():
        tell(f"note: {out} is there already; the new one takes its place when it is whole")
    lines, size = surveyed.lines, surveyed.bytes
    if share.count > 1 and not share.together:
        texts = (text for _, text in numbered_lines(source))
        lines, size = bulk.size_of(texts, out, share, made, options, engine.on_gpu)
        say(f"{share}: {lines:,} of {surveyed.lines:,} lines")
    with StopRequest(once=not share.together) as stop, Countdown(lines, "lines", size) as countdown:
        complete = bulk.translate_lines(
            engine,
            (text for _, text in numbered_lines(source)),
            out,
            languages=(args.source_language, args.target_language),
            options=options,
            made=made,
            row=lambda number, text, found: row(args, number, text, found),
            prefix=args.prefix,
            share=share,
            progress=lambda done: countdown.show(done.lines, done.source_bytes, done.tokens),
            stop=lambda: bool(stop),
            say=countdown.note,
        )
    if not complete:
        tell("stopped, all saved; the same command goes on from there")
        return stop.status
    surveyed.check(source)
    cut = partial.progress_of(out, share).cut
    if not partial.finish_together(out, made, share):
        if not share.together:
            say(f"{share} is done; the last one to end writes {out}")
    elif cut:
        say(f"{cut:,} lines were cut off at the length limit (--max-ratio); --json tells which")
    return 0


def made_by(
    args: argparse.Namespace, options: "TranslateOptions", model: str, engine: str, languages: tuple[str, str]
) -> dict[str, Any]:
    """All that the result depends on but the input. How many sentences are searched together is left out."""
    unused = ("batch_tokens",) if options.sampling else ("batch_tokens", "seed")
    search = {name: value for name, value in asdict(options).items() if name not in unused}
    shape = {name: getattr(args, name) for name in ("prefix", "json", "scores")}
    return {"model": model, "engine": engine, "languages": languages, **shape, **search}


# --- what is written -----------------------------------------------------------------------------------


def row(args: argparse.Namespace, number: int, text: str, result: "Translation") -> str:
    """What is written for a line, without the last line end."""
    from headwise.decode.alignment import pharaoh

    candidates = result.nbest or [result]
    if args.json:
        record = {"source": text, **as_json(result)}
        if args.nbest > 1:
            record["nbest"] = [as_json(candidate) for candidate in candidates]
        return json.dumps(record, ensure_ascii=False)
    rows = []
    for candidate in candidates if args.nbest > 1 else [result]:
        columns = [str(number)] if args.nbest > 1 else []
        columns += [f"{candidate.score:.4f}"] if args.scores else []
        columns += [candidate.text]
        columns += [pharaoh(candidate.alignment)] if args.alignments else []
        rows.append("\t".join(columns))
    return "\n".join(rows)


def as_json(translation: "Translation") -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "alignment": translation.alignment,
        "complete": translation.complete,
    }
