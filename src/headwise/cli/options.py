"""Options that several commands share, and the models and files that these options name."""

import argparse
import difflib
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from headwise.bundled.find import bundled_folder, find_model, is_model
from headwise.cli.console import say
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.search.options import SamplingOptions
    from headwise.decode.translator import Translator


CHUNK = 1024
"""Lines that are read, sorted and batched together, so that a file of any size needs constant memory."""


class Parser(argparse.ArgumentParser):
    """Parser whose error messages are one line, which suggests a correction for a misspelt command or choice."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; unknown arguments are an error of the command that they were given to, which knows what is near."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0].partition("=")[0], list(self._option_string_actions), 1, 0.6)
            hint = f": did you mean {near[0]}?" if near and unknown[0].startswith("-") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(str(value), list(map(str, action.choices)), 1, 0.6)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(map(str, action.choices))}"
            raise argparse.ArgumentError(action, f"there is no {value!r}: {hint}")


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command with its help text; the examples are shown below the options."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument("--quiet", action="store_true", help="print no notes and no progress, only results and errors")
    command.set_defaults(run=run, prog=command.prog)
    return command


def add_model(command: argparse.ArgumentParser, *, bundled: bool = False) -> None:
    add_model_name(command, bundled=bundled)
    add_device(command)


def add_model_name(command: argparse.ArgumentParser, *, bundled: bool = False) -> None:
    """Add --model; with `bundled`, the bundled model is the last resort."""
    default = "$HEADWISE_MODEL, else the current folder" + (" if it is a model, else the bundled model" * bundled)
    command.add_argument(
        "--model",
        metavar="MODEL",
        help=f"folder of a model, training run or checkpoint, or a name of `headwise models` (default: {default})",
    )
    command.set_defaults(bundled=bundled)


def add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device", default="auto", help="cpu, cuda, cuda:1 ...; auto: a GPU if there is one (default)"
    )


def add_languages(command: argparse.ArgumentParser, *, auto: bool = False) -> None:
    more = "; auto: detected for each text" if auto else ""
    command.add_argument("--from", dest="source_language", metavar="L", help=f"source language, such as en{more}")
    command.add_argument("--to", dest="target_language", metavar="L", help="target language, such as de")


def add_beam(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--beam", type=positive, default=4, metavar="N", help="beam width; 1: greedy search (default: 4)"
    )


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def add_candidates(command: argparse.ArgumentParser, per: str) -> None:
    command.add_argument(
        "--candidates", type=positive, default=1, metavar="N", help=f"results per {per}, best first (default: 1)"
    )


def model_folder(args: argparse.Namespace) -> Path:
    """The model of --model, or else of $HEADWISE_MODEL, or else the current folder or the bundled model."""
    if named := args.model or os.environ.get("HEADWISE_MODEL"):
        return find_model(named)
    if is_model(Path()):
        return Path()
    if args.bundled:
        return bundled_folder()
    raise ConfigError("no model: give --model, or set HEADWISE_MODEL")


def translator(args: argparse.Namespace, device: str | None = None) -> "Translator":
    from headwise.decode.translator import Translator

    shortlist = SHORTLIST[getattr(args, "shortlist", "auto")]
    engine = getattr(args, "engine", "plain")
    folder = model_folder(args)
    return Translator(
        folder,
        device=device or args.device,
        engine=engine,
        shortlist=shortlist,
        say=lambda text: say(f"headwise: {text}"),
    )


SHORTLIST = {"auto": None, "on": True, "off": False}


def add_engine(command: argparse.ArgumentParser) -> None:
    from headwise.decode.engines.table import AUTO, engine_help

    command.add_argument("--engine", default=AUTO, metavar="E", help=engine_help())
    command.add_argument(
        "--shortlist",
        choices=SHORTLIST,
        default="auto",
        help="score only the tokens of a shortlist, from `headwise shortlist`; auto: with the engine int8 (default)",
    )


def read_lines(path: str) -> Iterator[str]:
    """The lines of a text file, which may be compressed, or of standard input (`-`)."""
    from headwise.data.read.files import numbered_lines

    return (text for _, text in numbered_lines(Path(path)))


def add_texts(command: argparse.ArgumentParser, what: str) -> None:
    """Add options for the texts (arguments, a file or standard input) and the output."""
    command.add_argument("text", nargs="*", metavar="TEXT", help=f"texts to {what}")
    command.add_argument(
        "--input", metavar="FILE|-", help="read one text per line from FILE (also .gz .xz .bz2 .zst) or standard input"
    )
    command.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")
    command.add_argument("--json", action="store_true", help="print one JSON object per text, with all details")


def given_texts(
    args: argparse.Namespace, what: str, join: Callable[[Iterator[str]], Iterator[str]] | None = None
) -> Iterator[list[str]]:
    """The texts of `add_texts` in chunks; the first is read before this returns."""
    if args.text and args.input:
        raise ConfigError("give texts or --input, not both")
    if args.output and args.input and is_same_file(args.input, args.output):
        raise ConfigError(f"--output {args.output} is the input: choose another file")
    if not args.text and not args.input and sys.stdin.isatty():
        raise ConfigError(f"nothing to {what}: give texts, --input FILE, or pipe lines in")
    texts = map(as_utf8, args.text) if args.text else read_lines(args.input or "-")
    joined = texts if join is None else join(texts)
    chunks = iter(lambda: list(itertools.islice(joined, CHUNK)), [])
    first = next(chunks, [])  # a file that cannot be read is reported before an output is opened
    return itertools.chain([first], chunks)


def as_utf8(argument: str) -> str:
    """An argument decoded as UTF-8: in the locale C, Python decodes arguments as ASCII and escapes all other bytes."""
    try:
        return os.fsencode(argument).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # not from a command line
        return argument


def is_same_file(one: str, other: str) -> bool:
    return Path(one).is_file() and Path(other).exists() and Path(one).samefile(other)


def add_sampling(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sample", action="store_true", help="sample instead of searching")
    command.add_argument(
        "--temperature", type=float, metavar="T", help="below 1 favours probable tokens; implies --sample"
    )
    command.add_argument(
        "--top-k", type=int, metavar="K", help="sample from the K most probable tokens; implies --sample"
    )
    command.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="sample from the most probable tokens that together have probability P; implies --sample",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="random seed for sampling (default: 0)")


def sampling(args: argparse.Namespace) -> "SamplingOptions | None":
    """The options of `add_sampling`; each of them implies sampling."""
    from headwise.decode.search.options import SamplingOptions

    options = {"temperature": args.temperature, "top_k": args.top_k, "top_p": args.top_p}
    given = {name: value for name, value in options.items() if value is not None}
    if not args.sample and not given:
        return None
    return SamplingOptions(**given, samples=args.candidates)


@contextmanager
def output(path: str | None) -> Iterator[IO[str]]:
    """Standard output, or the file at `path`, open for writing."""
    if path is None or path == "-":
        yield sys.stdout
        return
    try:
        file = Path(path).open("w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    with file:
        yield file
