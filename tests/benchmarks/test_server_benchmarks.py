"""The load, the soak and the fuzzer of the server find what they look for, in a server with a small model."""

import asyncio
import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.taught import SOURCES

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(name: str, *options: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a benchmark as a command."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, options)])
    importlib.import_module(name).main()


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "lines.en"
    path.write_text("".join(f"{source} {number}\n" for number in range(20) for source in SOURCES), encoding="utf-8")
    return path


def test_load_is_measured(
    small_folder: Path, sentences: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["load", "--models", small_folder, "--sentences", sentences, "--direction", "en-de", "--clients", 4]
    run("serve", *given, "--seconds", 1, "--systems", "headwise", monkeypatch=monkeypatch)
    table = capsys.readouterr().out
    assert "requests/s" in table
    assert '"errors": 0' in table


def test_a_soak_counts_errors_and_survives_a_killed_worker(
    small_folder: Path, sentences: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--models", small_folder, "--sentences", sentences, "--direction", "en-de", "--limit", 200, "--kill", 1]
    with pytest.raises(SystemExit) as ended:
        run("soak", *given, "--clients", 8, "--set", "workers=1", monkeypatch=monkeypatch)
    assert ended.value.code == 0, capsys.readouterr().out


def test_fuzzed_requests_are_answered_well(
    small_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run("fuzz_server", "--models", small_folder, "--limit", 120, "--seed", 1, monkeypatch=monkeypatch)
    assert ended.value.code == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}", "status 500"),
        (b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}" * 2, "2 answers"),
        (b"", "no answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong", "the next request got"),
    ],
)
def test_the_fuzzer_notices_what_is_wrong(answer: bytes, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    fuzzer: Any = importlib.import_module("fuzz_server")
    requests: Any = importlib.import_module("serving.fuzz_requests")

    async def check() -> str:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if not answer:
                await asyncio.sleep(1.5)
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            request = requests.FuzzedRequest("smuggling", b"GET / HTTP/1.1\r\n\r\n")
            found: str = await fuzzer.faults(port, request, b"right", 0.8, fuzzer.Counter())
            await asyncio.sleep(0.8 if not answer else 0.1)  # the server's side ends, too
            return found

    assert fault in asyncio.run(check())


def test_requests_of_a_seed_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    make: Any = importlib.import_module("serving.fuzz_requests").fuzzed_request
    one, two = random.Random(3), random.Random(3)
    assert [make(one) for _ in range(200)] == [make(two) for _ in range(200)]
