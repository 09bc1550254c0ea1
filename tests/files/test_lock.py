"""Lock files."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest

from headwise.files.lock import BusyError, locked, remove_lock


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path) as held:
        assert held
        with pytest.raises(BusyError, match="somebody else"), locked(path, "somebody else"):
            pass
    with locked(path):
        pass


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = f"""
import os, pathlib
from headwise.files.lock import locked
with locked(pathlib.Path({str(path)!r})):
    print("held", flush=True)
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(BusyError), locked(path):
            pass
        child.kill()
    with locked(path) as held:
        assert held


def test_one_can_wait_for_a_lock(tmp_path: Path) -> None:
    path, order = tmp_path / "lock", list[str]()

    def wait() -> None:
        with locked(path, wait=True):
            order.append("second")

    with locked(path):
        other = threading.Thread(target=wait)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_without_locks_the_work_goes_on_unprotected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(filelock.FileLock, "acquire", unsupported)
    with locked(tmp_path / "lock") as held:
        assert not held


def test_a_lock_file_that_is_open_may_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    with locked(path):
        remove_lock(path)
    remove_lock(path)
    assert not path.exists()

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Windows removes no file that is open")

    monkeypatch.setattr(Path, "unlink", refused)
    remove_lock(path)
