"""Fuzzing of a running server: whatever is sent, no error of the server's own, no hang, and the next answer is right.

    python benchmarks/fuzz_server.py --models FOLDER --limit 20000

FOLDER has a translator from English to German, and may have a language model `writer` and an encoder `reader`. Headwise
is started with short timeouts, and gets requests of these kinds over raw sockets: fields of wrong types, lone
surrogates, numbers beyond all limits and damaged JSON on every route; damaged forms and multipart bodies, cut ones
too; odd methods and paths; requests whose end is ambiguous (smuggling), pipelined ones, what is hardly HTTP;
connections that are cut or slow; bodies of 24 MB. After each, a usual request must have its usual answer.

A request fails if its answer has a status from 500 other than 503, if there is no answer and no end within `--seconds`,
or if there are more answers than requests. The requests are the same for the same seed and limit.
"""

import argparse
import asyncio
import contextlib
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

from rows import Row, add_output, show, write
from serving.fuzz_requests import GOOD, FuzzedRequest, fuzzed_request, request_bytes
from serving.systems import Served, headwise

SETTINGS = {"header_timeout": 2, "body_timeout": 2, "suggestions": True, "cache": 100, "workers": 1, "threads": 1}
MORE = ("smuggling", "broken", "pipelined", "page")
"""Kinds that may be answered more than once: after an answer, another is waited for."""
PAUSE = 0.3
ANSWER = re.compile(rb"HTTP/1\.[01] (\d\d\d) ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=20_000, help="requests (default: 20,000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-a-time", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0, help="after which a request hangs (default: 60)")
    parser.add_argument("--show", action="store_true", help="print the statuses of each kind")
    add_output(parser)
    args = parser.parse_args()
    with headwise(args.models, SETTINGS) as served:
        row = asyncio.run(fuzz(served, args))
    show([row], list(row))
    write([{"benchmark": "fuzz_server", "seed": args.seed, **row}], args.json)
    sys.exit(bool(row["failures"]))


async def fuzz(served: Served, args: argparse.Namespace) -> Row:
    """Send all requests, several at a time."""
    drawn, port, began = random.Random(args.seed), served.ports[0], time.perf_counter()
    usual = await exchange(port, FuzzedRequest("good", request_bytes("/translate", GOOD, "application/json")), 60.0)
    assert b" 200 " in usual, usual
    expected = usual.partition(b"\r\n\r\n")[2]
    counts: Counter[str] = Counter()
    failures, slowest = 0, (0.0, "")
    left = args.limit

    async def client() -> None:
        nonlocal left, failures, slowest
        while left > 0:
            left -= 1
            request = fuzzed_request(drawn)
            sent = time.perf_counter()
            fault = await faults(port, request, expected, args.seconds, counts)
            slowest = max(slowest, (time.perf_counter() - sent, request.kind))
            if fault:
                failures += 1
                print(f"{request.kind}: {fault}: {request.data[-2000:]!r}", flush=True)

    await asyncio.gather(*(client() for _ in range(args.at_a_time)))
    if args.show:
        for name in sorted(counts):
            print(f"{name:20} {counts[name]:,}")
    return {
        "requests": args.limit,
        "failures": failures,
        "statuses": " ".join(sorted({name.split()[1] for name in counts})),
        "slowest": slowest[0],
        "kind": slowest[1],
        "seconds": time.perf_counter() - began,
        "MB": served.megabytes,
    }


async def faults(port: int, request: FuzzedRequest, expected: bytes, seconds: float, counts: Counter[str]) -> str:
    """What is wrong with the answer to a request, or to the usual one after it; empty if nothing is."""
    try:
        answer = await asyncio.wait_for(exchange(port, request, seconds), seconds)
    except TimeoutError:
        return f"no answer within {seconds:g} s"
    found = [int(status) for status in ANSWER.findall(answer)]
    counts.update(f"{request.kind} {status}" for status in found or ["none"])
    if any(status >= 500 and status != 503 for status in found):
        return f"status {max(found)}: {answer[-300:]!r}"
    if len([status for status in found if status >= 200]) > request.most_answers:
        return f"{len(found)} answers"
    if request.slow and found[-1:] != [408]:
        return f"a slow client got {found}"
    good = FuzzedRequest("good", request_bytes("/translate", GOOD, "application/json", extra="Connection: close\r\n"))
    try:
        after = await asyncio.wait_for(exchange(port, good, seconds), seconds)
    except (TimeoutError, OSError) as error:
        return f"the next request failed: {type(error).__name__}"
    if after.partition(b"\r\n\r\n")[2] != expected:
        return f"the next request got {after[-300:]!r}"
    return ""


async def exchange(port: int, request: FuzzedRequest, seconds: float) -> bytes:
    """Send a request over a connection of its own; all that comes back until it is closed, or nothing more comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
    received = b""
    try:
        if request.slow:
            return await _dribble(reader, writer, request.data)
        writer.write(request.data)
        if request.cut:
            return b""
        with_end = asyncio.create_task(_drain(writer))
        wait = seconds
        while part := await asyncio.wait_for(reader.read(2**20), wait):
            received += part
            if _complete(received, request):
                if request.kind not in MORE:
                    break
                wait = PAUSE
        with_end.cancel()
    except TimeoutError:
        if not received:
            raise
    except ConnectionError:
        pass
    finally:
        if request.cut and len(request.data) % 2:
            writer.transport.abort()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return received


async def _drain(writer: asyncio.StreamWriter) -> None:
    try:
        await writer.drain()
    except ConnectionError:
        return


async def _dribble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    """Send bytes with pauses until the server has enough of it."""
    reading = asyncio.create_task(reader.read(2**20))
    for place in range(len(data)):
        writer.write(data[place : place + 1])
        done, _ = await asyncio.wait({reading}, timeout=0.002)
        if done:
            break
    return await reading


def _complete(received: bytes, request: FuzzedRequest) -> bool:
    """Whether the first answer is there as a whole, so that a connection that stays open is not waited for."""
    head, found, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
    return bool(found) and (length is None or request.data.startswith(b"HEAD") or len(body) >= int(length[1]))


if __name__ == "__main__":
    main()
