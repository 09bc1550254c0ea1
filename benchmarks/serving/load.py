"""Load on a server: clients that each send their next request as soon as the last one is answered.

The requests are written and the answers cut out of the stream by hand, which costs a tenth of a millisecond each: a
usual HTTP client would need more of the machine than some of the servers do.
"""

import asyncio
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass
class Load:
    """What some clients have measured."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    """Of the requests that were answered."""
    waiting: list[float] = field(default_factory=list)
    """How long the requests had waited that were not answered when the time was up."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Of the answers; 0 is a connection that was cut, or an answer without a translation."""
    in_time: int = 0
    """Translations that came before the time was up."""
    characters: int = 0
    """Of the translations."""
    own_cpu: float = 0.0
    """Seconds of CPU time that the clients needed."""

    @property
    def errors(self) -> int:
        """Requests that were not answered with a translation."""
        return sum(count for status, count in self.statuses.items() if status != 200)

    @property
    def rate(self) -> float:
        """Answered requests per second."""
        return self.in_time / self.seconds

    def percentile(self, share: float) -> tuple[float, bool]:
        """A percentile of the latency, and whether it is a lower bound: who still waits has waited at least so long."""
        times = sorted([(each, False) for each in self.latencies] + [(each, True) for each in self.waiting])
        place = min(int(share * len(times)), len(times) - 1)
        return times[place][0], any(late for _, late in times[: place + 1])


class Connection:
    """One keep-alive connection, opened when it is needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._head = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes, path: str = "/translate") -> tuple[int, bytes]:
        """Send a request; the status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)
        reader, writer = self._streams
        writer.write(b"POST %s HTTP/1.1\r\n%s%d\r\n\r\n%s" % (path.encode(), self._head, len(body), body))
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is None:
            raise ConnectionError("an answer without a length")
        answer = await reader.readexactly(int(length[1]))
        if b"\r\nconnection: close\r\n" in head.lower():
            self.close()
        return int(head.split(maxsplit=2)[1]), answer

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def translate_body(text: str | Sequence[str], source: str = "en", target: str = "fr") -> bytes:
    """The body of a request to LibreTranslate's /translate."""
    return json.dumps({"q": text, "source": source, "target": target}).encode()


async def send(
    ports: Sequence[int],
    bodies: Iterator[bytes],
    clients: int,
    seconds: float,
    *,
    grace: float = 0.0,
    at_end: Callable[[], None] = lambda: None,
) -> Load:
    """Load servers with a number of clients for some time, or until there are no more bodies.

    Then what was sent may still be answered for `grace` seconds: that counts for the latencies, not for the rate.
    `at_end` is called between the two.
    """
    load, began, cpu = Load(), time.perf_counter(), time.process_time()
    ends = began + seconds
    sent: dict[int, float] = {}

    async def client(number: int) -> None:
        connection = Connection(ports[number % len(ports)])
        try:
            for body in bodies:
                sent[number] = time.perf_counter()
                if sent[number] > ends:
                    del sent[number]
                    return
                try:
                    status, answer = await connection.ask(body)
                except (OSError, asyncio.IncompleteReadError):
                    status, answer = 0, b""
                    connection.close()
                now = time.perf_counter()
                load.latencies.append(now - sent.pop(number))
                text = json.loads(answer).get("translatedText") if status == 200 else None
                load.statuses[status if text or status != 200 else 0] += 1
                load.in_time += bool(text) and now <= ends
                load.characters += sum(map(len, text)) if text else 0
        finally:
            connection.close()

    tasks = [asyncio.create_task(client(number)) for number in range(clients)]
    done, _ = await asyncio.wait(tasks, timeout=seconds)
    load.seconds, load.own_cpu = min(time.perf_counter() - began, seconds), time.process_time() - cpu
    at_end()
    if len(done) < clients and grace:
        await asyncio.wait(tasks, timeout=grace)
    load.waiting = [time.perf_counter() - each for each in sent.values()]
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):  # a mistake of the clients, not of the server
            raise result
    return load


def endless(bodies: Sequence[bytes]) -> Iterator[bytes]:
    """The bodies again and again."""
    return itertools.cycle(bodies)
