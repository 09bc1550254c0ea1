"""Commands, run and looked at: what several tests of the command line need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.cli import main

Capture = pytest.CaptureFixture[str]


def lines_file(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def ok(capsys: Capture, *arguments: object) -> str:
    """Run a command that must succeed; what it printed."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def wrong(capsys: Capture, *arguments: object, code: int = 2) -> str:
    """Run a command that must be refused, with one line and nothing else; that line."""
    try:
        found = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        found = stop.code  # type: ignore[assignment]
    captured = capsys.readouterr()
    assert found == code, captured.err
    assert captured.err.startswith("headwise")
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err.strip()


def shell(*arguments: object, given: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "headwise", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, env=environment, check=False, timeout=120)


SAVING_OFTEN = [
    sys.executable,
    "-c",
    "from headwise.cli import main; from headwise.decode.bulk import line_job; line_job.SAVE_EVERY = 0.0; "
    "raise SystemExit(main())",
]
"""The command, for those who want to kill it between two savings without waiting for seconds."""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
