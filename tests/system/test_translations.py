"""The translation of a file survives kills and full disks, and ends with the file that nothing happened to."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from headwise.decode.bulk.partial import saved_by_all
from headwise.decode.bulk.share import WHOLE
from tests.system.test_disk import disk, fill  # noqa: F401 - a fixture
from tests.system.translations import LINES, kill_translations, prepare, said_path, start, undisturbed

FEW = 0.3
"""Of the room that the result takes."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], bytes]:
    folder = tmp_path_factory.mktemp("translations")
    arguments = prepare(folder)
    return arguments, undisturbed(arguments, folder / "whole" / "out")[0]


def leave_room(disk: Path, size: int) -> Path:  # noqa: F811
    """Fill a disk but for so many bytes."""
    spare = disk / "spare"
    spare.write_bytes(b"x" * size)
    ballast = fill(disk)
    spare.unlink()
    return ballast


@pytest.mark.slow
def test_kill_9_at_random_moments(tmp_path: Path) -> None:
    """`python -m tests.system --translations 100` is the same with more of them."""
    tally = kill_translations(tmp_path, 5, seed=1)
    assert tally.kills >= 5
    assert tally.files >= 1


def test_a_disk_that_fills(whole: tuple[list[str], bytes], disk: Path) -> None:  # noqa: F811
    """In the middle, and again when there is too little room to put the rows in order."""
    arguments, expected = whole
    out = disk / "out"
    ballast = leave_room(disk, int(FEW * len(expected)))
    process = start(arguments, out)
    process.join(60)
    told = said_path(out).read_text()
    assert process.exitcode == 2, told
    last = told.strip().splitlines()[-1]
    assert last.startswith(f"headwise: could not write {out}.partial"), last
    assert "the disk is full" in last
    assert "the same command goes on" in last
    assert "Traceback" not in told
    assert not out.exists()
    reached = saved_by_all(out, WHOLE).lines
    assert 0 < reached < len(LINES)
    ballast.unlink()
    ballast = leave_room(disk, int(1.5 * len(expected)))
    process = start(arguments, out)
    process.join(60)
    told = said_path(out).read_text()
    assert process.exitcode == 2, told
    assert f"{reached} of {len(LINES)} lines are done already" in told
    assert told.strip().splitlines()[-1].startswith(f"headwise: could not write {out}: the disk is full"), told
    assert not out.exists()
    assert saved_by_all(out, WHOLE).complete
    ballast.unlink()
    process = start(arguments, out)
    process.join(60)
    assert process.exitcode == 0, said_path(out).read_text()
    assert out.read_bytes() == expected
    assert {path.name for path in disk.iterdir()} == {"out", "out.made.json"}


def until_it_waits(process: Any, out: Path) -> None:
    """For room; or until it has ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.exitcode is None:
        process.join(0.05)
        if said_path(out).exists() and "Waiting for room" in said_path(out).read_text():
            break


def test_waiting_for_room(whole: tuple[list[str], bytes], disk: Path) -> None:  # noqa: F811
    arguments, expected = whole
    out = disk / "out"
    ballast = leave_room(disk, int(FEW * len(expected)))
    process = start(arguments, out, seconds_for_room=60)
    until_it_waits(process, out)
    assert process.exitcode is None, said_path(out).read_text()
    ballast.unlink()
    process.join(60)
    assert process.exitcode == 0, said_path(out).read_text()
    assert "there is room on the disk again" in said_path(out).read_text()
    assert out.read_bytes() == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_stopping_while_waiting_for_room(
    number: signal.Signals,
    whole: tuple[list[str], bytes],
    disk: Path,  # noqa: F811
) -> None:
    """As at any other moment: the status of the signal, and a word on how to go on."""
    arguments, expected = whole
    out = disk / "out"
    ballast = leave_room(disk, int(FEW * len(expected)))
    process = start(arguments, out, seconds_for_room=60)
    until_it_waits(process, out)
    os.kill(process.pid, number)
    process.join(30)
    told = said_path(out).read_text()
    assert process.exitcode == 128 + number, told
    assert told.strip().splitlines()[-1].startswith("headwise: stopped while the disk was full"), told
    assert "the same command goes on from there" in told.strip().splitlines()[-1]
    assert "Traceback" not in told
    ballast.unlink()
    process = start(arguments, out)
    process.join(60)
    assert process.exitcode == 0, said_path(out).read_text()
    assert out.read_bytes() == expected
