"""What several commands have in common: options, the model they use, the files they read and write."""

import argparse
import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.search.options import SamplingOptions
    from headwise.decode.translator import Translator


class Parser(argparse.ArgumentParser):
    """Wrong use is one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str, examples: str
) -> argparse.ArgumentParser:
    """A command with its help text; the examples are shown below the options."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    return command


def add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--model",
        metavar="DIR",
        help="model folder, run or checkpoint (default: $HEADWISE_MODEL, else the current folder)",
    )
    command.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ... (default: auto)")


def add_languages(command: argparse.ArgumentParser) -> None:
    command.add_argument("--from", dest="source_language", metavar="L", help="source language")
    command.add_argument("--to", dest="target_language", metavar="L", help="target language")


def add_beam(command: argparse.ArgumentParser) -> None:
    command.add_argument("--beam", type=positive, default=4, metavar="N", help="beam width; 1 is greedy (default: 4)")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def model_folder(args: argparse.Namespace) -> Path:
    """The folder of --model, or where a model may be expected."""
    if args.model:
        return Path(args.model)
    if os.environ.get("HEADWISE_MODEL"):
        return Path(os.environ["HEADWISE_MODEL"])
    if Path("config.json").is_file():
        return Path()
    raise ConfigError("which model? Give --model DIR, or set HEADWISE_MODEL")


def translator(args: argparse.Namespace) -> "Translator":
    from headwise.decode.translator import Translator

    def say(text: str) -> None:
        print(f"headwise: {text}", file=sys.stderr)

    shortlist = SHORTLIST[getattr(args, "shortlist", "auto")]
    return Translator(model_folder(args), args.device, getattr(args, "engine", "plain"), say, shortlist)


SHORTLIST = {"auto": None, "on": True, "off": False}


def add_engine(command: argparse.ArgumentParser) -> None:
    from headwise.decode.engines.table import AUTO, engine_help

    command.add_argument("--engine", default=AUTO, metavar="E", help=engine_help())
    command.add_argument(
        "--shortlist",
        choices=SHORTLIST,
        default="auto",
        help="only likely tokens, by what `headwise shortlist` has learnt: off; on; auto: for int8 (default: auto)",
    )


def read_lines(path: str) -> Iterator[str]:
    """The lines of a file, which may be compressed, or of standard input (`-`)."""
    from headwise.data.read.files import numbered_lines

    return (text for _, text in numbered_lines(Path(path)))


def add_texts(command: argparse.ArgumentParser, what: str) -> None:
    """Texts, a file or a pipe in; a file or a pipe out."""
    command.add_argument("text", nargs="*", metavar="TEXT", help=f"texts to {what}")
    command.add_argument("--input", metavar="FILE|-", help="the lines of a file or of standard input")
    command.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    command.add_argument("--json", action="store_true", help="one JSON object a line, with everything")


def given_texts(args: argparse.Namespace, what: str) -> Iterator[list[str]]:
    """The texts of `add_texts` in lists of a size that suits batching; the first is read before this returns."""
    if args.text and args.input:
        raise ConfigError("give texts or --input, not both")
    if args.output and args.input:
        refuse_same_file(args.input, args.output)
    if not args.text and not args.input and sys.stdin.isatty():
        raise ConfigError(f"nothing to {what}: give texts, --input FILE, or pipe lines in")
    lists = chunks(iter(args.text) if args.text else read_lines(args.input or "-"), CHUNK)
    first = next(lists, [])  # before an output is opened: a file that cannot be read should cost nothing
    return itertools.chain([first], lists)


def refuse_same_file(given: str, output: str) -> None:
    if is_same_file(given, output):
        raise ConfigError(f"--output {output} is the input: choose another file")


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


def add_sampling(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    command.add_argument(
        "--temperature", type=float, metavar="T", help="below 1: likelier tokens oftener; implies --sample"
    )
    command.add_argument("--top-k", type=int, metavar="K", help="only from the K likeliest; implies --sample")
    command.add_argument("--top-p", type=float, metavar="P", help="only from this much probability; implies --sample")
    command.add_argument("--seed", type=int, default=0, help="of --sample")


def sampling(args: argparse.Namespace) -> "SamplingOptions | None":
    """The options of `add_sampling`; one that says how to draw asks for drawing."""
    from headwise.decode.search.options import SamplingOptions

    options = {"temperature": args.temperature, "top_k": args.top_k, "top_p": args.top_p}
    given = {name: value for name, value in options.items() if value is not None}
    if not args.sample and not given:
        return None
    return SamplingOptions(**given, samples=args.nbest)


@contextmanager
def output(path: str | None) -> Iterator[IO[str]]:
    """Standard output, or a file."""
    if path is None or path == "-":
        yield sys.stdout
        return
    with ExitStack() as stack:
        try:
            opened = Path(path).open("w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
            file = stack.enter_context(opened)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
        yield file


class Counter:
    """How far a long work is, on the terminal's last line; silent where nobody watches."""

    def __init__(self, wanted: bool, unit: str) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._unit = unit

    def __enter__(self) -> "Counter":
        return self

    def show(self, done: int) -> None:
        if self._wanted:
            print(f"\r{done:,} {self._unit}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            print(file=sys.stderr)


class Countdown:
    """How far a long work is, how fast, and how long it will go on: a bar, or a line now and then where nobody
    watches."""

    EVERY = 10.0
    """Seconds between two lines of a log."""

    def __init__(self, total: int, unit: str, work: int = 0) -> None:
        """`work`: what the time left is reckoned by, if not by the units: some take longer than others."""
        self._total, self._unit, self._work = total, unit, work or total
        self._begun: tuple[float, int, int, int] | None = None
        self._said = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Countdown":
        if sys.stderr.isatty():
            from headwise.train.report.console import progress_bar

            self._bar = progress_bar(sys.stderr, f"{{task.fields[done]:,}}/{self._total:,} {self._unit}")
        return self

    def show(self, done: int, work: int | None = None, tokens: int = 0) -> None:
        now, work = time.monotonic(), done if work is None else work
        if self._begun is None:  # what an earlier start has done says nothing of the speed
            self._begun, self._said = (now, done, work, tokens), now
            if done:
                self.note(f"{done:,} of {self._total:,} {self._unit} are done already")
            if self._bar is not None:
                self._task = self._bar.add_task("", total=self._work, completed=work, done=done, figures="")
                self._bar.start()
            return
        if self._bar is None and now - self._said < self.EVERY and done < self._total:
            return
        self._said = now
        since, done_before, work_before, tokens_before = self._begun
        seconds = max(now - since, 1e-9)
        figures = f"{(done - done_before) / seconds:,.1f} {self._unit}/s"
        if tokens:
            figures += f"  {(tokens - tokens_before) / seconds:,.0f} tokens/s"
        with contextlib.suppress(OSError):  # the work does not end because nobody reads this
            if self._bar is not None:
                self._bar.update(self._task, completed=work, done=done, figures=figures)
                return
            left = (self._work - work) * seconds / (work - work_before) if work > work_before else 0
            shown = f"left {timedelta(seconds=round(left))}" if work > work_before else "left ?"
            print(f"{done:,}/{self._total:,} {self._unit}  {figures}  {shown}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line that stays."""
        with contextlib.suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
            else:
                print(text, file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()


CHUNK = 1024
"""Lines that are sorted and batched together; a file is translated in such chunks, in constant memory."""
