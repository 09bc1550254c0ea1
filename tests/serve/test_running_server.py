"""The server as a process: killed workers, slow and vanishing clients, keys that stay secret, an orderly end."""

import asyncio
import contextlib
import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from headwise.serve.security.api_keys import ApiKeys
from tests.serve.running import RunningServer, running_server
from tests.taught import SOURCES, TARGETS

ASKED = {"q": SOURCES[0], "source": "en", "target": "de"}
BOOK = " ".join(f"{source} {number}." for number in range(300) for source in SOURCES)


@pytest.fixture(scope="module")
def server(small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    state = tmp_path_factory.mktemp("running")
    settings = {"header_timeout": 0.5, "body_timeout": 0.5, "cache": 0, "log": "debug"}
    with running_server(small_folder, state, **settings) as made:
        yield made


def exchange(server: RunningServer, data: bytes, wait: float = 5.0) -> bytes:
    """Send bytes, and read until the server closes the connection or nothing comes any more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(data)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def works(server: RunningServer) -> bool:
    return bool(httpx2.post(f"{server.url}/translate", json=ASKED).json() == {"translatedText": TARGETS[0]})


def test_slow_headers_are_cut_off(server: RunningServer) -> None:
    began = time.monotonic()
    assert b" 408 " in exchange(server, b"POST /translate HTTP/1.1\r\nhost: x\r\n")
    assert b" 408 " in exchange(server, b"")
    assert time.monotonic() - began < 4
    assert works(server)


def test_slow_bodies_are_cut_off(server: RunningServer) -> None:
    head = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    answer = exchange(server, head)
    assert b" 408 " in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert works(server)


def test_large_heads_and_broken_requests_are_refused_in_json(server: RunningServer) -> None:
    large = b"GET /health HTTP/1.1\r\nhost: x\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 900) for n in range(100))
    for data, status in ((large, b" 431 "), (b"\x16\x03\x01\x00\xa5\x01\r\n\r\n", b" 400 ")):
        answer = exchange(server, data)
        assert status in answer.partition(b"\r\n")[0]
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert works(server)


def test_the_offer_of_another_protocol_is_ignored(server: RunningServer) -> None:
    """Java's client makes it with every request: the body is none of the other protocol."""
    body = json.dumps(ASKED).encode()
    head = (
        b"POST /translate HTTP/1.1\r\nhost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAAQ\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    )
    assert json.loads(exchange(server, head + body).partition(b"\r\n\r\n")[2]) == {"translatedText": TARGETS[0]}


def test_the_answer_to_a_body_that_is_too_large_arrives(server: RunningServer) -> None:
    """Closing the connection while the body still comes would reset it, and the client would often lose the answer."""
    for path, status in (("/translate", 413), ("/nothing", 404)):
        for _ in range(3):
            answer = httpx2.post(f"{server.url}{path}", content=bytes(24_000_000))
            assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert works(server)


def test_a_head_behind_a_running_request_is_limited_too(server: RunningServer) -> None:
    body = json.dumps({**ASKED, "q": BOOK}).encode()
    head = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head % len(body) + body)
        connection.sendall(b"GET /health HTTP/1.1\r\nx-endless: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"y" * 65_536)
            assert b" 431 " in connection.recv(1000)
    assert works(server)


def test_connections_beyond_the_limit_are_told_to_come_back(small_folder: Path, tmp_path: Path) -> None:
    with running_server(small_folder, tmp_path, connections=3) as server, contextlib.ExitStack() as held:
        for _ in range(3):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        answer = exchange(server, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").lower()
        assert b" 503 " in answer
        assert b"retry-after: 2" in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"error": "too many connections"}
        held.close()
        until = time.monotonic() + 5
        while not works(server) and time.monotonic() < until:
            time.sleep(0.05)
        assert works(server)


def test_work_of_a_client_that_is_gone_is_dropped(server: RunningServer) -> None:
    body = json.dumps({**ASKED, "q": BOOK}).encode()
    head = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head % len(body) + body)
        until = time.monotonic() + 20
        while gauge(server, "waiting_characters") <= 10_000 and time.monotonic() < until:
            time.sleep(0.02)
        assert gauge(server, "waiting_characters") > 10_000
    until = time.monotonic() + 5
    while gauge(server, "waiting_characters") and time.monotonic() < until:
        time.sleep(0.02)
    assert gauge(server, "waiting_characters") == 0
    assert gauge(server, "cancelled_sentences_total") > 100
    assert works(server)


def gauge(server: RunningServer, name: str) -> float:
    lines = httpx2.get(f"{server.url}/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"headwise_{name} ")).split()[1])


def test_a_killed_worker_is_replaced_and_the_server_always_answers(server: RunningServer) -> None:
    """Requests that were on their way are tried once more; none gets a wrong answer, and none hangs."""

    async def many() -> list[Any]:
        async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:
            asked = [client.post("/translate", json={**ASKED, "q": f"{SOURCES[0]} {n}."}) for n in range(60)]
            tasks = [asyncio.create_task(each) for each in asked]
            await asyncio.sleep(0.15)
            server.kill_worker()
            began = time.monotonic()
            assert (await client.get("/health")).json() == {"status": "ok"}
            assert time.monotonic() - began < 2
            return await asyncio.gather(*tasks)

    before = server.worker_pids()
    answers = asyncio.run(many())
    statuses = {answer.status_code for answer in answers}
    assert statuses <= {200, 503}
    assert 200 in statuses
    for answer in answers:
        if answer.status_code == 503:
            assert answer.json()["error"] == "the worker was restarted, try again"
            assert answer.headers["retry-after"]
        else:
            assert answer.json()["translatedText"].startswith(TARGETS[0][:8])
    assert works(server)
    assert server.worker_pids() != before


def test_the_log_has_no_texts_and_no_keys(server: RunningServer) -> None:
    httpx2.post(f"{server.url}/translate?api_key=hw_secret", json={**ASKED, "api_key": "hw_secret"})
    httpx2.get(f"{server.url}/nothing/hw_secret", headers={"authorization": "hw_secret"})
    log = server.log.read_text()
    assert "/translate" in log
    assert "hw_secret" not in log
    assert SOURCES[0] not in log
    assert "127.0.0.1 " not in log
    assert "hw_secret" not in httpx2.get(f"{server.url}/metrics").text


def test_keys_limits_and_an_orderly_end(small_folder: Path, tmp_path: Path) -> None:
    key = ApiKeys(tmp_path).add("bot", rate=1000)
    with running_server(small_folder, tmp_path, rate=30, key_required=True, cache=0) as server:
        url = f"{server.url}/translate"
        assert httpx2.post(url, json=ASKED).json()["error"] == "Please contact the server operator to get an API key"
        for wrong in ("hw_wrong", key + "x"):
            answer = httpx2.post(url, json={**ASKED, "api_key": wrong})
            assert (answer.status_code, answer.json()) == (403, {"error": "Invalid API key"})
        assert httpx2.post(url, json={**ASKED, "api_key": key}).json() == {"translatedText": TARGETS[0]}
        limited = ApiKeys(tmp_path).add("limited")

        async def burst() -> list[Any]:
            async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=64)) as client:
                asked = {**ASKED, "api_key": limited}
                return await asyncio.gather(*(client.post(url, json=asked) for _ in range(64)))

        answers = asyncio.run(burst())
        passed = sum(answer.status_code == 200 for answer in answers)
        assert 30 <= passed <= 34
        late = next(answer for answer in answers if answer.status_code == 429)
        assert late.json() == {"error": "Slowdown: 30 per 1 minute"}
        assert 1 <= int(late.headers["retry-after"]) <= 3

        body = json.dumps({**ASKED, "api_key": key}).encode()
        head = b"POST /translate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

        async def last_words() -> Any:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head % len(body) + body[:1])  # a request that is still arriving holds the server
            async with httpx2.AsyncClient(timeout=60) as client:
                running = asyncio.create_task(client.post(url, json={**ASKED, "q": BOOK[:5_000], "api_key": key}))
                while not running.done() and not gauge(server, "waiting_characters"):
                    await asyncio.sleep(0.01)
                server.process.send_signal(signal.SIGTERM)
                while (await client.get(f"{server.url}/ready")).status_code != 503:
                    await asyncio.sleep(0.01)
                refused = await client.post(url, json={**ASKED, "api_key": key})
                assert (refused.status_code, refused.json()) == (503, {"error": "the server is stopping"})
                assert refused.headers["retry-after"]
                answer = await running
            writer.write(body[1:])
            assert b" 503 " in await reader.readuntil(b"\r\n")
            writer.close()
            return answer

        answer = asyncio.run(last_words())
        assert answer.status_code == 200, answer.text
        assert server.process.wait(10) == 0
        log = server.log.read_text()
        assert key not in log
        assert limited not in log
        assert "Traceback" not in log
