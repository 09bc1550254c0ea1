"""Files of any size, translated so that a kill at any moment costs a few seconds and no line is lost or doubled.

Lines are taken in windows, sorted by length there, and cut into groups that take a second or a few: the work can be
stopped and saved after each of them. Windows and groups follow from the lines alone. So what is translated together,
and with it every last digit of a score, does not depend on where the work was interrupted, nor on how many processes
share it: each takes every so many-th group.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwise.decode.bulk.partial import WHOLE, Done, Group, Plan, Share, open_partial, plan_of, progress_of
from headwise.decode.translator import TranslateOptions, Translation, Translator
from headwise.files.atomic import write_when_there_is_room
from headwise.files.digest import bytes_digest

WINDOW_LINES = 16_384
WINDOW_CHARACTERS = 1 << 22
"""Lines that are sorted together; they and the places of their rows are all that is kept in memory."""

CPU_GROUP_TOKENS = 8192
GPU_GROUP_TOKENS = 1 << 21
"""Source tokens times beam of a group: a second or a few of work, and some batches of it."""
BYTES_PER_TOKEN = 4
"""About; in scripts of three bytes a character, a token has fewer characters."""

SAVE_EVERY = 2.0
"""Seconds between two savings; saving takes some milliseconds."""
STOP_WITHIN = 3.0
"""Seconds after which a group is given up, once asked to stop; a batch is always searched to its end."""
LOOK_EVERY = 1.0
"""Seconds between two looks at what other processes have done."""


class _StoppedError(Exception):
    """The group at hand is given up."""


def translate_lines(
    translator: Translator,
    lines: Iterable[str],
    out: Path,
    *,
    languages: tuple[str | None, str | None],
    options: TranslateOptions,
    made: dict[str, Any],
    row: Callable[[int, str, Translation], str],
    prefix: str = "",
    share: Share = WHOLE,
    progress: Callable[[Done], None] = lambda done: None,
    stop: Callable[[], bool] = bool,
    say: Callable[[str], None] = lambda text: None,
    plan: Plan | None = None,
    save_every: float | None = None,
) -> bool:
    """Write `row(number, line, its translation)` for each line of a share into the partial result of `out`; False if
    stopped before the end. `partial.finish` then makes the file of it.

    `lines` must be the same at each start, and `made` says what they and the translator are: going on with other
    ones is refused. `row` gives what is written for a line, without the last line end; lines are numbered from 1. Each
    group draws from a seed of its own. `progress` is told what is done, first of all what was done by earlier starts;
    where processes work together, the first of them is told what all have done, and the others are told nothing.
    """
    hurry, progress = _Hurry(stop), _of_all(progress, out, share)

    def translated(group: Group) -> list[Translation]:
        drawing = replace(options, seed=(options.seed + group.number) % 2**63)
        return translator.translate(group.texts, *languages, prefix=prefix, options=drawing, progress=hurry)

    with open_partial(out, share, made, plan or default_plan(translator.on_gpu)) as partial:
        before, saved = partial.done, time.monotonic()
        progress(before)
        if before.complete:  # nothing is to be written any more: others may be making the file of it
            return True
        for group in groups(lines, partial.plan, _width(options), before):
            if group.number < before.groups or group.number % share.count != share.number:
                continue
            try:
                found = translated(group)
            except _StoppedError:
                break
            rows = [
                f"{row(group.first_line + place + 1, text, each)}\n".encode(errors="backslashreplace")
                for place, text, each in zip(group.lines, group.texts, found, strict=True)
            ]
            cut = sum(not each.complete for each in found)
            partial.add(group, rows, sum(len(each.tokens) for each in found), cut)
            progress(partial.done)
            if stop():
                break
            if time.monotonic() - saved >= (SAVE_EVERY if save_every is None else save_every):
                write_when_there_is_room(partial.save, say, stop)
                saved = time.monotonic()
        else:
            partial.complete()
        write_when_there_is_room(partial.save, say, stop)
        return partial.done.complete


def size_of(
    lines: Iterable[str], out: Path, share: Share, made: dict[str, Any], options: TranslateOptions, on_gpu: bool
) -> tuple[int, int]:
    """How many lines, and bytes of them, are a share's; to know it, all lines have to be grouped once."""
    plan = plan_of(out, share, made) or default_plan(on_gpu)
    count, size = 0, 0
    for group in groups(lines, plan, _width(options), Done()):
        if group.number % share.count == share.number:
            count += len(group.texts)
            size += sum(len(text.encode()) for text in group.texts)
    return count, size


def _width(options: TranslateOptions) -> int:
    """Of the beam."""
    return options.nbest if options.sampling else max(options.beam, options.nbest)


def _of_all(progress: Callable[[Done], None], out: Path, share: Share) -> Callable[[Done], None]:
    """What is told of processes that work together: it is on the disk. One by itself need not look there."""
    if not share.together:
        return progress
    looked = 0.0

    def look(done: Done) -> None:
        nonlocal looked
        if share.talks and time.monotonic() - looked >= LOOK_EVERY:
            looked = time.monotonic()
            progress(progress_of(out, share))

    return look


class _Hurry:
    """Called after each batch: ends a group that goes on for too long after the request to stop."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._asked: float | None = None

    def __call__(self, sentences: int) -> None:
        if not self._stop():
            return
        now = time.monotonic()
        self._asked = now if self._asked is None else self._asked
        if now - self._asked >= STOP_WITHIN:
            raise _StoppedError


def default_plan(on_gpu: bool) -> Plan:
    return Plan(WINDOW_LINES, WINDOW_CHARACTERS, GPU_GROUP_TOKENS if on_gpu else CPU_GROUP_TOKENS)


def groups(lines: Iterable[str], plan: Plan, width: int, done: Done) -> Iterator[Group]:
    """The groups of the lines, from the window on in which the work stopped; `width`: of the beam."""
    first_line, first_group = done.window_line, done.window_group
    for texts in windows(itertools.islice(lines, first_line, None), plan):
        number = first_group
        for members in by_cost(texts, plan.group_tokens // width):
            yield Group(number, first_line, first_group, members, [texts[place] for place in members])
            number += 1
        first_line, first_group = first_line + len(texts), number


def windows(lines: Iterator[str], plan: Plan) -> Iterator[list[str]]:
    """Neighbouring lines, as many as the plan allows, at least one."""
    texts: list[str] = []
    size = 0
    for text in lines:
        if texts and (len(texts) == plan.window_lines or size + len(text) > plan.window_characters):
            yield texts
            texts, size = [], 0
        texts.append(text)
        size += len(text)
    if texts:
        yield texts


def by_cost(texts: Sequence[str], tokens: int) -> Iterator[list[int]]:
    """The places of the texts, longest first, in groups of about so many tokens; no group is empty.

    Tokens are guessed from bytes: to count them would take as long as all else that is not the model.
    """
    costs = [len(text.encode()) // BYTES_PER_TOKEN + 2 for text in texts]
    members: list[int] = []
    total = 0
    for place in sorted(range(len(texts)), key=lambda place: -costs[place]):
        if members and total + costs[place] > tokens:
            yield members
            members, total = [], 0
        members.append(place)
        total += costs[place]
    if members:
        yield members


def model_digest(translator: Translator) -> str:
    """Names the weights, the tokenizer and the shortlist, wherever they came from."""
    parts = [translator.tokenizer.fingerprint, translator.weights_digest()]
    parts += [translator.shortlist.digest] if translator.shortlist else []
    return bytes_digest(" ".join(parts).encode())
