"""The servers that are compared: how each is started, and when it is ready."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serving.process_tree import cpu_seconds, megabytes

START = 120.0
"""Seconds that a server may take to start."""


@dataclass(frozen=True)
class Served:
    """A system that runs: one server, or several equal ones between which the clients are divided."""

    processes: Sequence["subprocess.Popen[bytes]"]
    ports: Sequence[int]

    @property
    def cpu(self) -> float:
        """CPU seconds of all its processes so far."""
        return sum(cpu_seconds(process.pid) for process in self.processes)

    @property
    def megabytes(self) -> float:
        """Memory of all its processes."""
        return sum(megabytes(process.pid) for process in self.processes)


System = Callable[[], "contextlib.AbstractContextManager[Served]"]


@contextlib.contextmanager
def headwise(models: Path, settings: Mapping[str, object], servers: int = 1) -> Iterator[Served]:
    """Servers of Headwise, without a cache of results."""
    given = {name.replace("_", "-"): value for name, value in {"cache": 0, **settings}.items()}
    options = [f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items()]
    with contextlib.ExitStack() as stack:
        started = []
        for _ in range(servers):
            state = stack.enter_context(tempfile.TemporaryDirectory())
            arguments = ["--models", str(models), "--state", state, "--port", "0"]
            log = Path(state) / "log"
            command = [sys.executable, "-m", "headwise", "serve", *arguments, *options]
            process = stack.enter_context(_running(command, log))
            started.append((process, _port_in(process, log)))
        for _, port in started:
            wait_ready(port, "/ready")
        yield Served(*map(list, zip(*started, strict=True)))


@contextlib.contextmanager
def headwise_on_granian(python: Path, models: Path, settings: Mapping[str, object]) -> Iterator[Served]:
    """The application of Headwise on granian instead of uvicorn; `python` is of an environment that has both."""
    port, here = free_port(), Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as state:
        given = {"models": models, "state": state, **settings}
        environment = {f"HEADWISE_SERVE_{name.upper()}": str(value) for name, value in given.items()}
        environment["PYTHONPATH"] = f"{here}:{os.environ.get('PYTHONPATH', '')}"
        command = [str(python), "-m", "granian", "--interface", "asgi", "--port", str(port)]
        where = {"env": {**os.environ, **environment}}
        app = ["--factory", "--no-ws", "serving.granian_app:make"]
        with _running(command + app, Path(state) / "log", **where) as process:
            wait_ready(port, "/ready")
            yield Served([process], [port])


@contextlib.contextmanager
def libretranslate(python: Path, data: Path, threads: int) -> Iterator[Served]:
    """LibreTranslate, with the packages of `argos_package.py` in a folder."""
    port = free_port()
    environment = {"XDG_DATA_HOME": str(data.resolve()), "ARGOS_CHUNK_TYPE": "SPACY"}
    with tempfile.TemporaryDirectory() as home:
        command = [str(python), "-m", "libretranslate.main", "--port", str(port), "--threads", str(threads)]
        command += ["--disable-web-ui", "--load-only", "en,fr"]
        where = {"cwd": home, "env": {**os.environ, **environment, "HOME": home}}
        with _running(command, Path(home) / "log", **where) as process:
            wait_ready(port, "/languages")
            yield Served([process], [port])


@contextlib.contextmanager
def plain(model: Path, pool: int) -> Iterator[Served]:
    """The plain server around CTranslate2."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("plain_server.py")), str(model), str(port)]
    with (
        tempfile.TemporaryDirectory() as folder,
        _running([*command, "--pool", str(pool)], Path(folder) / "log") as process,
    ):
        wait_ready(port, "/ready")
        yield Served([process], [port])


def wait_ready(port: int, path: str) -> None:
    """Wait until a server answers with 200."""
    until = time.monotonic() + START
    while time.monotonic() < until:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no server is ready on port {port}")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def _running(command: list[str], log: Path, **where: object) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, **where)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port_in(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """The port that a server of Headwise has chosen, from its first line."""
    until = time.monotonic() + START
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://[\d.]+:(\d+)", log.read_text(encoding="utf-8")):
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"the server has not started: {log.read_text(encoding='utf-8')}")
