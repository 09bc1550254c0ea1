"""A soak of the server: many requests of many kinds, without an error, and without memory that grows.

    python benchmarks/soak.py --models FOLDER --sentences newstest2014.en.xz --limit 100000 --kill 4

Clients send, each over its own connection, translations of one sentence and of several, as text and as HTML, with
and without a language, detections, lists of languages, and mistakes, whose answer must be the right error. The memory
of all processes of the server is measured ten times on the way. `--kill N` kills a worker with -9 at N moments; then a
request may get 503 with "the worker was restarted, try again", and is sent once more. Any other answer is an error.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import Row, add_output, show, write
from serving.load import Connection
from serving.process_tree import members
from serving.systems import Served, headwise

from headwise.data.read.files import numbered_lines

POINTS = 10
"""Measurements of the memory."""


@dataclass(frozen=True)
class SoakRequest:
    """A request, the status of its answer, and a field that the answer must have."""

    path: str
    body: Any
    status: int = 200
    field: str = "translatedText"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True, help="a text, one sentence per line")
    parser.add_argument("--direction", default="en-fr")
    parser.add_argument("--limit", type=int, default=100_000, help="requests (default: 100,000)")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kill", type=int, default=0, metavar="N", help="workers to kill on the way")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the server")
    add_output(parser)
    args = parser.parse_args()
    lines = [line.strip() for _, line in numbered_lines(args.sentences) if line.strip()]
    settings: dict[str, object] = {"workers": 2, "threads": 1, "cache": 2000}
    with headwise(args.models, settings | dict(each.split("=", 1) for each in args.set)) as served:
        row = asyncio.run(soak(served, lines, args))
    show([row], list(row))
    write([{"benchmark": "soak", "model": args.models.name, **row}], args.json)
    sys.exit(bool(row["errors"]))


async def soak(served: Served, lines: Sequence[str], args: argparse.Namespace) -> Row:
    """Send all requests; the memory is measured, and workers are killed, at equal distances."""
    drawn, numbers, began = random.Random(0), itertools.count(1), time.perf_counter()
    counts: Counter[str] = Counter()
    memory: list[float] = []
    kills = {args.limit * (each + 1) // (args.kill + 1) for each in range(args.kill)}
    points = {args.limit * (each + 1) // POINTS for each in range(POINTS)}

    async def client(number: int) -> None:
        connection = Connection(served.ports[0])
        while (at := next(numbers)) <= args.limit:
            if at in kills:
                os.kill(members(served.processes[0].pid)[1], signal.SIGKILL)
            request = soak_request(drawn, lines, *args.direction.split("-"))
            outcome = await send_once(connection, request)
            if outcome == "restarted":
                counts[outcome] += 1
                outcome = await send_once(connection, request)
            counts[outcome] += 1
            if outcome != "answered":
                print(f"{outcome}: {request}"[:1000], flush=True)
            if at in points:
                memory.append(served.megabytes)
                print(f"{at:,} requests, {memory[-1]:,.0f} MB", file=sys.stderr, flush=True)
        connection.close()

    await asyncio.gather(*(client(number) for number in range(args.clients)))
    seconds = time.perf_counter() - began
    return {
        "requests": args.limit,
        "errors": args.limit - counts["answered"],
        "killed workers": args.kill,
        "answers that say so": counts["restarted"],
        "seconds": seconds,
        "requests/s": args.limit / seconds,
        "MB": " ".join(f"{each:.0f}" for each in memory),
    }


async def send_once(connection: Connection, request: SoakRequest) -> str:
    """What became of a request: `answered` as it must be, `restarted`, or an error."""
    body = json.dumps(request.body).encode()
    try:
        status, answer = await asyncio.wait_for(connection.ask(body, request.path), 300.0)
        value = json.loads(answer)
    except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
        connection.close()
        return f"failed with {type(error).__name__}"
    if status == 503 and value.get("error") == "the worker was restarted, try again":
        return "restarted"
    if status != request.status or not (value if isinstance(value, list) else value.get(request.field)):
        return f"status {status}, {str(value)[:200]}"
    return "answered"


def soak_request(drawn: random.Random, lines: Sequence[str], source: str, target: str) -> SoakRequest:
    """A request as clients send them, now and then with a mistake."""
    direction = {"source": source, "target": target}
    kind, line = drawn.random(), drawn.choice(lines)
    if kind < 0.55:
        return SoakRequest("/translate", {"q": line[: drawn.choice([60, 400])], **direction})
    if kind < 0.65:
        return SoakRequest("/translate", {"q": drawn.sample(lines, 3), **direction, "alternatives": 1})
    if kind < 0.75:
        return SoakRequest("/translate", {"q": f"<h1>{line}</h1><p><b>{line}</b></p>", "format": "html", **direction})
    if kind < 0.85:
        return SoakRequest("/translate", {"q": line, "source": "auto", "target": target})
    if kind < 0.9:
        return SoakRequest("/detect", {"q": line}, field="")
    if kind < 0.94:
        return SoakRequest("/languages", {}, field="")
    mistake = drawn.choice([{"q": 5}, {"source": "zz"}, {"alternatives": 10**9}, {"q": None}])
    return SoakRequest("/translate", {"q": line, **direction, **mistake}, 400, "error")


if __name__ == "__main__":
    main()
