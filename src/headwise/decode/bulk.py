"""Files of any size, translated so that a kill at any moment costs a few seconds and no line is lost or doubled.

Results are appended to `NAME.partial`, a chunk at a time. `NAME.partial.json` says how many lines and bytes of it are
certain, and what made them; a later start cuts off whatever was written after that and goes on there. It is replaced
only when the bytes it speaks of are on the disk.
"""

import contextlib
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from headwise.atomic import disk_errors, write_json
from headwise.decode.translator import TranslateOptions, Translation, Translator
from headwise.errors import CheckpointError, ConfigError
from headwise.storage import read_json

CHUNK = 1024
"""Lines that are sorted and batched together, and saved together."""

GPU_BATCH_TOKENS = 16_384
"""Source tokens times beam of a batch there: a GPU that is given a few sentences waits for memory all the time."""


@dataclass(frozen=True)
class Progress:
    """What is certain of a result that is not finished: it is on the disk."""

    lines: int = 0
    bytes: int = 0


def translate_lines(
    translator: Translator,
    lines: Iterable[str],
    out: Path,
    *,
    languages: tuple[str | None, str | None],
    options: TranslateOptions,
    made: dict[str, Any],
    row: Callable[[str, Translation], str],
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] = bool,
    chunk: int = CHUNK,
) -> bool:
    """Write `row(line, its translation)` for each line into the partial result of `out`; False if stopped before the
    end. `finish` then makes the file of it.

    `lines` must be the same at each start, and `made` says what they and the translator are: going on with other
    ones is refused. `row` gives one line, without its end. Each chunk draws from a seed of its own, so that a
    result does not depend on where it was interrupted. `progress` is told the number of lines done, first of all
    of those from earlier starts.
    """
    if not options.batch_tokens and translator.device.type == "cuda":
        options = replace(options, batch_tokens=GPU_BATCH_TOKENS)
    with _claimed(out) as file:
        done = begin(out, made, chunk)
        with disk_errors(partial_path(out)):
            file.truncate(done.bytes)
        if progress is not None:
            progress(done.lines)
        for texts in _chunks(itertools.islice(lines, done.lines, None), chunk):
            drawing = replace(options, seed=options.seed + done.lines)
            results = translator.translate(texts, *languages, options=drawing)
            written = "".join(f"{row(text, found)}\n" for text, found in zip(texts, results, strict=True)).encode()
            with disk_errors(partial_path(out)):
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
            done = Progress(done.lines + len(texts), done.bytes + len(written))
            _save(out, made, chunk, done)
            if progress is not None:
                progress(done.lines)
            if stop():
                return False
    return True


def begin(out: Path, made: dict[str, Any], chunk: int = CHUNK) -> Progress:
    """What there is of the result already; an error if it was made in another way."""
    path = state_path(out)
    if not path.exists():
        _save(out, made, chunk, Progress())
        return Progress()
    state = read_json(path)
    try:
        done = Progress(int(state["lines"]), int(state["bytes"]))
        before: dict[str, Any] = {**state["made"], "chunk": state["chunk"]}
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{path}: damaged: remove it and {partial_path(out)} to start anew") from None
    refuse_changes(path, before, {**made, "chunk": chunk})
    found = partial_path(out).stat().st_size if partial_path(out).exists() else 0
    if found < done.bytes:
        raise CheckpointError(
            f"{partial_path(out)}: {found:,} bytes, but {done.bytes:,} were written: remove it and {path} to start anew"
        )
    return done


def refuse_changes(path: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """An error that names what is not as it was when the result was begun."""
    for key in dict.fromkeys([*before, *now]):
        if before.get(key) != now.get(key):
            raise ConfigError(
                f"{path}: begun with {key} {before.get(key)!r}, not {now.get(key)!r}: give the same to go on, "
                "or choose another file"
            )


def finish(out: Path, make: Callable[[Path], None] | None = None) -> None:
    """The file of a result whose lines are all there; `make` writes it from the partial one, or it is renamed."""
    with disk_errors(out):
        if make is None:
            partial_path(out).replace(out)
        else:
            make(partial_path(out))
            partial_path(out).unlink(missing_ok=True)
        state_path(out).unlink(missing_ok=True)


def model_digest(translator: Translator) -> str:
    """Names the weights and the tokenizer, wherever they came from."""
    digest = hashlib.sha256(translator.tokenizer.fingerprint.encode())
    for name, tensor in sorted(translator.model.named_parameters()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def partial_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def state_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial.json")


def _save(out: Path, made: dict[str, Any], chunk: int, done: Progress) -> None:
    write_json(state_path(out), {"lines": done.lines, "bytes": done.bytes, "chunk": chunk, "made": made})


@contextlib.contextmanager
def _claimed(out: Path) -> Iterator[Any]:
    """The partial file, open, for this process alone: two of them would write over each other's lines."""
    path = partial_path(out)
    try:
        file = path.open("ab+")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    with file:
        try:
            import fcntl
        except ImportError:  # Windows has no such locks
            pass
        else:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{path}: another process is writing it") from None
        yield file


def _chunks(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    while texts := list(itertools.islice(lines, size)):
        yield texts
