"""Command line of Headwise: one module per command, which parses arguments, makes one call and prints."""

import argparse
import contextlib
import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from headwise import __version__
from headwise.cli.average import add_average
from headwise.cli.back_translate import add_back_translate
from headwise.cli.classify import add_classify
from headwise.cli.completion import add_completion
from headwise.cli.convert import add_convert
from headwise.cli.detect import add_detect
from headwise.cli.distill import add_distill
from headwise.cli.embed import add_embed
from headwise.cli.evaluate import add_evaluate, add_score
from headwise.cli.fill import add_fill
from headwise.cli.generate import add_generate
from headwise.cli.info import add_info
from headwise.cli.inspect import add_inspect
from headwise.cli.keys import add_keys
from headwise.cli.models import add_models
from headwise.cli.options import Parser
from headwise.cli.serve import add_serve
from headwise.cli.shortlist import add_shortlist
from headwise.cli.tokenizer import add_tokenizer
from headwise.cli.train import add_train
from headwise.cli.translate import add_translate
from headwise.errors import HeadwiseError, StoppedError, TrainingError
from headwise.extras import packages_for


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 2 for a mistake that the user can correct, 1 for a failure."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 whatever the locale, like the input
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    warnings.formatwarning = lambda message, *_: f"headwise: {message}\n"  # without the line of code that warns
    args = parser().parse_args(arguments)
    try:
        with without_notes() if args.quiet else contextlib.nullcontext(), packages_for(args.prog):
            code: int = args.run(args)
        sys.stdout.flush()
        return code
    except TrainingError as error:
        return fail(1, error)
    except StoppedError as error:
        return fail(128 + error.signal, error)
    except HeadwiseError as error:
        return fail(2, error)
    except KeyboardInterrupt:
        return fail(130, "interrupted")
    except (MemoryError, RuntimeError) as error:
        # Not `torch.OutOfMemoryError`: importing PyTorch would slow down every `--help` by a second.
        if not isinstance(error, MemoryError) and not re.search("out of memory|not enough memory", str(error)):
            raise
        return fail(1, "out of memory: lower train.batch_tokens, or give shorter texts")
    except OSError as error:
        if is_closed_pipe(error):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return fail(1, f"{error.filename or 'input/output'}: {error.strerror or error}")


def open_closed_streams() -> None:
    """Open standard streams that the caller has closed (`>&-`): empty input, and output to nowhere.

    Otherwise Python has none, and the next file that is opened takes the place of one for the system.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # stays open


def is_closed_pipe(error: OSError) -> bool:
    """Whether whoever reads the output has closed it; Windows reports that as an invalid argument."""
    unnamed = os.name == "nt" and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or unnamed


@contextlib.contextmanager
def without_notes() -> Iterator[None]:
    """Discard standard error within the block; errors are printed after it."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stderr(nowhere):
        yield


def fail(code: int, error: object) -> int:
    print(f"headwise: {error}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="headwise",
        description="Translate out of the box, train Transformers on sentence pairs, and look inside, head by head.",
        epilog="headwise COMMAND --help shows the options of a command, with examples.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"headwise {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for add in (
        add_train,
        add_translate,
        add_detect,
        add_evaluate,
        add_score,
        add_distill,
        add_back_translate,
        add_generate,
        add_fill,
        add_embed,
        add_classify,
        add_serve,
        add_keys,
        add_inspect,
        add_convert,
        add_shortlist,
        add_average,
        add_tokenizer,
        add_models,
        add_info,
        add_completion,
    ):
        add(commands)
    return top
