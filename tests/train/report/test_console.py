"""What a person sees of a run, and what the log keeps."""

import contextlib
import errno
import importlib.util
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwise.errors import MissingPackageError
from headwise.train.report.console import RunReporter, read_log

RECORD = {
    "step": 5,
    "loss": 9.5,
    "nll": 2.5,
    "learning_rate": 1e-3,
    "tokens": 1000,
    "seconds": 10.0,
    "gradient_norm": 1.0,
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_when_not_a_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    with RunReporter(tmp_path, 20, stream=stream) as reporter:
        reporter.started(0, 0)
        reporter.trained(RECORD)
        reporter.validated({"step": 5, "loss": 1.25, "bleu": 30.0}, best=True)
        reporter.note("[bold]not markup[/bold]")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("step 5/20  loss 2.500  lr 1.00e-03  ")
    assert lines[0].endswith("tokens/s  left 0:00:30")
    assert lines[1:] == ["step 5: validation loss 1.250  bleu 30.000  (best so far)", "[bold]not markup[/bold]"]
    assert "\x1b" not in stream.getvalue()


def test_the_first_step_is_told_at_once_and_slow_ones_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, stream = 0.0, io.StringIO()
    monkeypatch.setattr("headwise.train.report.console.time.perf_counter", lambda: now)
    with RunReporter(tmp_path, 20, stream=stream, log_every=5) as reporter:
        reporter.started(0, 0)
        for step, seconds in enumerate([1, 1, 61, 1, 1, 1, 61, 58, 1, 1], 1):
            now += seconds
            reporter.stepped(step, 9.0 - step)
            if step % 5 == 0:
                reporter.trained({**RECORD, "step": step})
    lines = stream.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"step {step}/20" for step in (1, 3, 5, 7, 10)]
    # The first step is no measure of the others; then 17 are left, of 21 s as the first 3.
    assert lines[:2] == ["step 1/20  loss 8.000", "step 3/20  loss 6.000  left 0:05:57"]
    assert [record["step"] for record in read_log(tmp_path)] == [5, 10], "the log is as it was"


def test_a_step_that_is_logged_is_told_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    with RunReporter(tmp_path, 20, stream=stream, log_every=1) as reporter:
        reporter.started(4, 0)
        reporter.stepped(5, 1.0)
        reporter.trained(RECORD)
    assert len(stream.getvalue().splitlines()) == 1


def test_a_validation_between_two_reports_does_not_count_in_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("headwise.train.report.console.time.perf_counter", lambda: now)
    with RunReporter(tmp_path, 20, stream=io.StringIO()) as reporter:
        reporter.started(0, 0)
        now = 10.0
        reporter.trained(RECORD)
        now = 20.0
        reporter.validated({"step": 7, "loss": 1.25}, best=True, seconds=5.0)
        now = 25.0
        reporter.trained({**RECORD, "step": 10, "tokens": 2000})
    rates = [record["tokens_per_second"] for record in read_log(tmp_path) if record["kind"] == "train"]
    assert rates == [100.0, 100.0]


def test_a_bar_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with RunReporter(tmp_path, 20, stream=stream) as reporter:
        reporter.started(0, 0)
        reporter.trained(RECORD)
        reporter.note("[bold]not markup[/bold]")
    shown = stream.getvalue()
    assert "5/20" in shown
    assert "[bold]not markup[/bold]" in shown


def test_what_is_no_number_is_null_in_the_log(tmp_path: Path) -> None:
    with RunReporter(tmp_path, 20, stream=io.StringIO()) as reporter:
        reporter.started(0, 0)
        reporter.trained({**RECORD, "loss": math.nan, "gradient_norm": math.inf})
    [record] = read_log(tmp_path)
    assert (record["loss"], record["gradient_norm"], record["learning_rate"]) == (None, None, 1e-3)
    assert "NaN" not in (tmp_path / "log.jsonl").read_text()


def test_a_resumed_run_forgets_the_steps_it_takes_again(tmp_path: Path) -> None:
    records = [{"kind": kind, "step": step} for step in range(1, 6) for kind in ("train", "valid")]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "log.jsonl").write_text(text + '{"kind": "train", "st')  # killed while it wrote
    assert read_log(tmp_path) == records
    with RunReporter(tmp_path, 20, stream=io.StringIO()) as reporter:
        reporter.started(3, 0)
        reporter.trained({**RECORD, "step": 4})
    assert [(record["kind"], record["step"]) for record in read_log(tmp_path)] == [
        *((record["kind"], record["step"]) for record in records[:6]),
        ("train", 4),
    ]


def test_tensorboard_shows_no_step_twice(tmp_path: Path) -> None:
    """Killed after step 5 and gone on from step 3: the steps that are taken again have their new values alone."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for first, nll in ((1, 1.0), (4, 2.0)):
        with RunReporter(tmp_path, 20, stream=io.StringIO(), tensorboard=True) as reporter:
            reporter.started(first - 1, 0)
            for step in range(first, first + 5 if first == 1 else 9):
                reporter.trained({**RECORD, "step": step, "nll": nll})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = [(event.step, event.value) for event in events.Scalars("train/nll")]
    assert shown == [(step, 1.0) for step in (1, 2, 3)] + [(step, 2.0) for step in range(4, 9)]


def test_tensorboard_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'headwise\[tensorboard\]'"):
        RunReporter(tmp_path, 20, tensorboard=True)


def test_lines_for_which_there_is_no_room_are_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunReporter(tmp_path, 20, stream=io.StringIO()) as reporter:
        reporter.started(0, 0)
        for step in range(1, 6):
            with monkeypatch.context() as patch:
                if step in (2, 3, 5):
                    patch.setattr(Path, "open", half_written)
                reporter.trained({**RECORD, "step": step})
    assert [record["step"] for record in read_log(tmp_path)] == [1, 2, 3, 4, 5]


@contextlib.contextmanager
def half_written(path: Path, *_: object, **__: object) -> Iterator[io.StringIO]:
    """A file on a disk that becomes full while it is written."""
    text = io.StringIO()
    yield text
    with open(path, "a") as file:  # noqa: PTH123 - `Path.open` is the one that fails
        file.write(text.getvalue()[:30])
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_damaged_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    good = '{"kind": "train", "step": 1}'
    lines = [
        good.encode(),
        b"[]",
        b"3",
        b'{"kind": "train"}',
        b'{"kind": 3, "step": 2}',
        b"\xff\xfe",
        b'{"kind": "valid", "step": 1}',
    ]
    (tmp_path / "log.jsonl").write_bytes(b"\n".join(lines))
    assert read_log(tmp_path) == [{"kind": "train", "step": 1}, {"kind": "valid", "step": 1}]


def test_a_closed_terminal_ends_no_run(tmp_path: Path) -> None:
    stream = io.StringIO()
    stream.close()
    stream.isatty = lambda: False  # type: ignore[method-assign]
    with RunReporter(tmp_path, 20, stream=stream) as reporter:
        reporter.started(0, 0)
        reporter.trained(RECORD)
        reporter.note("nobody reads this")
    assert len(read_log(tmp_path)) == 1
