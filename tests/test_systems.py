"""What differs between Linux, macOS and Windows, as far as it can be tested on any of them."""

import errno
import os
import signal

import pytest

from headwise.cli import is_closed_pipe
from headwise.devices import usable_cpus
from headwise.interrupt import SIGNALS


def test_processors_are_counted_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= len(usable_cpus()) <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert len(usable_cpus()) == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cpus() == {0}


def test_a_closed_pipe_is_recognised_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert is_closed_pipe(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not is_closed_pipe(OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(os, "name", "posix")
    assert not is_closed_pipe(invalid)
    monkeypatch.setattr(os, "name", "nt")
    assert is_closed_pipe(invalid)
    assert not is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "a:b"))


def test_runs_stop_at_the_signals_that_the_system_has() -> None:
    assert signal.SIGINT in SIGNALS
    assert signal.SIGTERM in SIGNALS
    for name in ("SIGHUP", "SIGBREAK"):
        assert (getattr(signal, name, None) in SIGNALS) == hasattr(signal, name)
