"""A server in a process of its own, on a free port."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2


@dataclass
class RunningServer:
    """A server that runs."""

    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def worker_pids(self) -> list[int]:
        """The processes of its workers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def kill_worker(self) -> None:
        os.kill(self.worker_pids()[0], signal.SIGKILL)


@contextlib.contextmanager
def running_server(models: Path, state: Path, **settings: object) -> Iterator[RunningServer]:
    """Start `headwise serve`, wait until it is ready, and end it."""
    log = state / "log"
    given = {"models": models, "state": state, "port": 0, "workers": 1, "threads": 1, **settings}
    options = [
        f"--{name.replace('_', '-')}" + (f"={value}" if value is not True else "") for name, value in given.items()
    ]
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "headwise", "serve", *options], stderr=file, stdout=file)
    try:
        yield RunningServer(process, _port(process, log), log)
    finally:
        process.kill()
        process.wait()


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        found = re.search(r"http://[\d.]+:(\d+)", log.read_text())
        if found:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"http://127.0.0.1:{found[1]}/ready").status_code == 200:
                    return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"the server did not become ready: {log.read_text()}")
