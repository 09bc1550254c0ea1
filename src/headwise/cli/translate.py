"""headwise translate"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headwise.cli.options import (
    CHUNK,
    Counter,
    add_beam,
    add_command,
    add_languages,
    add_model,
    output,
    positive,
    read_lines,
    translator,
)
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.translator import Translation


def add_translate(commands: Any) -> None:
    command = add_command(
        commands,
        "translate",
        run_translate,
        "Translate texts, a file or standard input, line by line.",
        """
headwise translate --model my-model "I ate an apple."
headwise translate --model my-model --input book.en.xz --output book.de --beam 1
cat lines.txt | headwise translate --model my-model --nbest 3 --scores --alignments
headwise translate --model many --from en --to fr --json "Good morning."

Columns are separated by tabs: with --nbest above 1 the number of the input line; with --scores the score;
the text; with --alignments the word alignment (source-target, from 0).
""",
    )
    command.add_argument("text", nargs="*", metavar="TEXT", help="texts to translate")
    add_model(command)
    command.add_argument("--input", metavar="FILE|-", help="translate the lines of a file or of standard input")
    command.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    add_languages(command)
    add_beam(command)
    command.add_argument("--nbest", type=positive, default=1, metavar="N", help="candidates a line (default: 1)")
    command.add_argument("--scores", action="store_true", help="show log-probability / length^penalty")
    command.add_argument("--alignments", action="store_true", help="show word alignments, Pharaoh format")
    command.add_argument("--json", action="store_true", help="one JSON object a line, with everything")
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
    command.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    command.add_argument("--temperature", type=float, default=1.0)
    command.add_argument("--top-k", type=int, default=0)
    command.add_argument("--top-p", type=float, default=1.0)
    command.add_argument("--seed", type=int, default=0, help="of --sample")


def run_translate(args: argparse.Namespace) -> int:
    from headwise.decode.sampling import SamplingOptions
    from headwise.decode.translator import TranslateOptions

    if args.text and args.input:
        raise ConfigError("give texts or --input, not both")
    if args.output and args.input and is_same_file(args.input, args.output):
        raise ConfigError(f"--output {args.output} is the input: choose another file")
    if not args.text and not args.input and sys.stdin.isatty():
        raise ConfigError("nothing to translate: give texts, --input FILE, or pipe lines in")
    if args.nbest > args.beam and not args.sample:
        args.beam = args.nbest
    sampling = None
    if args.sample:
        sampling = SamplingOptions(args.temperature, args.top_k, args.top_p, samples=args.nbest)
    options = TranslateOptions(
        beam=args.beam,
        nbest=args.nbest,
        length_penalty=args.length_penalty,
        max_ratio=args.max_ratio,
        no_repeat=args.no_repeat,
        sampling=sampling,
        seed=args.seed,
        alignments=args.alignments or args.json,
    )
    engine = translator(args)
    engine.direction(args.source_language, args.target_language)
    texts = chunks(iter(args.text) if args.text else read_lines(args.input or "-"), CHUNK)
    first = next(texts, [])  # before the output is opened: a file that cannot be read should cost nothing
    done = 0
    with output(args.output) as file, Counter(bool(args.output), "sentences") as counter:
        for chunk in itertools.chain([first], texts):
            results = engine.translate(
                chunk,
                args.source_language,
                args.target_language,
                prefix=args.prefix,
                options=replace(options, seed=args.seed + done),  # or each chunk would draw the same
            )
            for text, result in zip(chunk, results, strict=True):
                done += 1
                print_translation(text, result, done, args, file)
                if not result.complete:
                    print(f"headwise: line {done}: cut off at the length limit (--max-ratio)", file=sys.stderr)
            file.flush()
            counter.show(done)
    return 0


def print_translation(text: str, result: "Translation", number: int, args: argparse.Namespace, file: IO[str]) -> None:
    from headwise.decode.alignment import pharaoh

    candidates = result.nbest or [result]
    if args.json:
        record = {"source": text, **as_json(result)}
        if args.nbest > 1:
            record["nbest"] = [as_json(candidate) for candidate in candidates]
        print(json.dumps(record, ensure_ascii=False), file=file)
        return
    for candidate in candidates if args.nbest > 1 else [result]:
        columns = [str(number)] if args.nbest > 1 else []
        columns += [f"{candidate.score:.4f}"] if args.scores else []
        columns += [candidate.text]
        columns += [pharaoh(candidate.alignment)] if args.alignments else []
        print("\t".join(columns), file=file)


def as_json(translation: "Translation") -> dict[str, Any]:
    return {
        "text": translation.text,
        "score": translation.score,
        "tokens": translation.tokens,
        "alignment": translation.alignment,
        "complete": translation.complete,
    }


def is_same_file(one: str, other: str) -> bool:
    return Path(one).is_file() and Path(other).exists() and Path(one).samefile(other)


def chunks(items: Iterator[str], size: int) -> Iterator[list[str]]:
    """The items in lists of this size; the last may be shorter."""
    chunk: list[str] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
