"""Speed of translation servers under load: Headwise, LibreTranslate, and a plain server around CTranslate2.

    python benchmarks/serve.py load --models FOLDER --sentences newstest2014.en.xz \\
        --ctranslate2 FOLDER --libretranslate PYTHON --libretranslate-data FOLDER
    python benchmarks/serve.py book --models FOLDER --sentences newstest2014.en.xz
    python benchmarks/serve.py processes --models FOLDER --sentences newstest2014.en.xz
    python benchmarks/serve.py http --models FOLDER --sentences newstest2014.en.xz --granian PYTHON

- load: 1, 16, 64 and 256 clients, each of which sends its next sentence when it has the translation of the last one.
  Requests per second, the median and the 95th and 99th percentile of the latency, and requests per CPU second of all
  processes of the server, which other work on the machine disturbs least.
- book: the latency of a short request on an idle server, and beside a book of 100,000 words that another client sends.
- processes: 1, 2 and 4 workers of one server, and 1, 2 and 4 servers of one worker each; each worker has one thread.
- http: requests whose answer is in the cache: what HTTP itself costs, with uvicorn and granian.

The models are the same one, in int8 and with beam 4 everywhere: FOLDER of `--models` is made by `headwise convert
opus-mt-en-fr ... --precision int8`, that of `--ctranslate2` with `--to ctranslate2`, too. LibreTranslate runs in an
environment of its own, with a package that `benchmarks/serving/argos_package.py` makes. Every server is started anew
for each number of clients; rounds are interleaved, and the best is shown. A percentile with `>` is a lower bound: too
many requests were not answered in time.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rows import Row, add_output, show, write
from serving.load import Connection, Load, endless, send, translate_body
from serving.systems import Served, System, headwise, headwise_on_granian, libretranslate, plain

from headwise.data.read.files import numbered_lines

WORKERS = {"workers": 2, "threads": 1}
"""One worker per core: the shape for throughput."""
WARM_UP = 12
"""Requests that are sent before the clock starts."""
BOOK = 100_000
"""Words of a book."""
SHORT = 60
"""Short requests that are measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="+", choices=TESTS, metavar="TEST", help=", ".join(TESTS))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True, help="a text, one sentence per line")
    parser.add_argument("--ctranslate2", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--libretranslate", type=absolute, metavar="PYTHON", help="of an environment with LibreTranslate"
    )
    parser.add_argument("--libretranslate-data", type=absolute, metavar="FOLDER")
    parser.add_argument(
        "--granian", type=absolute, metavar="PYTHON", help="of an environment with granian and Headwise"
    )
    parser.add_argument("--direction", default="en-fr")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=1)
    add_output(parser)
    args = parser.parse_args()
    lines = [line.strip() for _, line in numbered_lines(args.sentences) if line.strip()]
    random.Random(0).shuffle(lines)
    for name in args.tests:
        rows = TESTS[name](args, lines)
        write([{"benchmark": "serve", "test": name, "model": args.models.name, **row} for row in rows], args.json)


def absolute(text: str) -> Path:
    """A path for a server, which may run in another folder; an environment is found by the link to its Python."""
    return Path(text).absolute()


# --- load ---------------------------------------------------------------------------------------------


def load(args: argparse.Namespace, lines: Sequence[str]) -> list[Row]:
    """All systems at all numbers of clients."""
    systems: dict[str, System] = {
        "headwise": partial(headwise, args.models, {}),
        "headwise, 2 workers": partial(headwise, args.models, WORKERS),
    }
    if args.ctranslate2:
        systems["plain"] = partial(plain, args.ctranslate2, 1)
        systems["plain, pool of 2"] = partial(plain, args.ctranslate2, 2)
    if args.libretranslate:
        data = args.libretranslate_data
        systems["libretranslate"] = partial(libretranslate, args.libretranslate, data, 4)
        systems["libretranslate, 64 threads"] = partial(libretranslate, args.libretranslate, data, 64)
    return compared(args, lines, systems, args.clients)


def processes(args: argparse.Namespace, lines: Sequence[str]) -> list[Row]:
    """More workers and more servers, of one thread each, at 64 clients."""
    systems: dict[str, System] = {}
    for count in (1, 2, 4):
        systems[f"1 server, {count} workers"] = partial(headwise, args.models, {"workers": count, "threads": 1})
    for count in (2, 4):
        systems[f"{count} servers, 1 worker"] = partial(headwise, args.models, {"workers": 1, "threads": 1}, count)
    return compared(args, lines, systems, [64])


def http(args: argparse.Namespace, lines: Sequence[str]) -> list[Row]:
    """What a request costs beside its translation, at 64 clients."""
    settings = {**WORKERS, "cache": 1000}
    systems: dict[str, System] = {"uvicorn": partial(headwise, args.models, settings)}
    if args.granian:
        systems["granian"] = partial(headwise_on_granian, args.granian, args.models, settings)
    return compared(args, lines[:WARM_UP] + lines[:WARM_UP], systems, [64])


def compared(
    args: argparse.Namespace, lines: Sequence[str], systems: dict[str, System], clients: Sequence[int]
) -> list[Row]:
    """The best of several rounds for each system and number of clients."""
    best: dict[tuple[int, str], Row] = {}
    bodies = [translate_body(line, *args.direction.split("-")) for line in lines]
    for _ in range(args.rounds):
        for count in clients:
            for name, system in systems.items():
                if args.systems and name not in args.systems:
                    continue
                with system() as served:
                    row = {"system": name, "clients": count, **measured(served, bodies, count, args.seconds)}
                if best.get((count, name), row)["requests/s"] <= row["requests/s"]:
                    best[count, name] = row
                print(".", end="", flush=True)
    print()
    rows = [best[key] for key in sorted(best, key=lambda key: (key[0], list(systems).index(key[1])))]
    show(rows, list(rows[0]))
    return rows


def measured(served: Served, bodies: Sequence[bytes], clients: int, seconds: float) -> Row:
    """One measurement of a server that is ready."""
    asyncio.run(send(served.ports, iter(bodies[:WARM_UP]), min(clients, 8), 60.0))
    before, cpu = served.cpu, 0.0

    def stop_clock() -> None:
        nonlocal cpu
        cpu = served.cpu - before

    waiting = send(served.ports, endless(bodies[WARM_UP:]), clients, seconds, grace=seconds, at_end=stop_clock)
    found = asyncio.run(waiting)
    row = {"requests/s": found.rate, **latencies(found), "errors": found.errors}
    row["per CPU second"] = found.in_time / cpu
    row["cores used"] = cpu / found.seconds
    row["cores of the clients"] = found.own_cpu / found.seconds
    row["characters"] = found.characters / max(1, found.statuses[200])
    return {**row, "MB": served.megabytes}


def latencies(found: Load) -> Row:
    """The percentiles in seconds."""
    row: Row = {}
    for name, share in {"median": 0.5, "95 %": 0.95, "99 %": 0.99}.items():
        value, is_bound = found.percentile(share)
        row[name] = f">{value:.1f}" if is_bound else value
    return row


# --- book ---------------------------------------------------------------------------------------------


def book(args: argparse.Namespace, lines: Sequence[str]) -> list[Row]:
    """Short requests on an idle server, then beside a book."""
    short = sorted(lines, key=len)
    pools = {"a phrase": short[: len(short) // 10], "a sentence": short[len(short) // 3 : 2 * len(short) // 3]}
    rows: list[Row] = []
    for shape in ({}, WORKERS):
        name = "headwise, 2 workers" if shape else "headwise"
        if args.systems and name not in args.systems:
            continue
        with headwise(args.models, shape) as served:
            asyncio.run(send(served.ports, iter([translate_body(line) for line in lines[:WARM_UP]]), 8, 60.0))
            for kind, pool in pools.items():
                chosen = random.Random(1).sample(pool, 2 * SHORT)
                rows.append({"system": name, "request": kind, **asyncio.run(beside(served, chosen, lines))})
    show(rows, list(rows[0]))
    return rows


async def beside(served: Served, short: Sequence[str], lines: Sequence[str]) -> Row:
    """The latencies of short requests, first alone, then beside the book."""
    idle = await now_and_then(served, short[:SHORT])
    again = [line.partition(" ")[2] for line in lines]  # other sentences: no line is translated twice
    text = " ".join(" ".join([*lines, *again]).split()[:BOOK])
    connection = Connection(served.ports[0])
    reading = asyncio.create_task(connection.ask(translate_body(text)))
    await asyncio.sleep(2.0)
    loaded = await now_and_then(served, short[SHORT:])
    assert not reading.done(), "the book is too short"
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    connection.close()
    await asyncio.sleep(1.0)
    row: Row = {"words of the book": len(text.split())}
    for name, found in {"idle": idle, "beside": loaded}.items():
        row |= {name: statistics.median(found), f"{name}, 95 %": sorted(found)[int(0.95 * len(found))]}
    return {**row, "ratio": row["beside"] / row["idle"], "ratio, 95 %": row["beside, 95 %"] / row["idle, 95 %"]}


async def now_and_then(served: Served, texts: Sequence[str]) -> list[float]:
    """The latencies of requests of a person, who reads each answer for a moment before asking again."""
    connection, drawn, found = Connection(served.ports[0]), random.Random(2), []
    for text in texts:
        await asyncio.sleep(drawn.uniform(0.1, 0.4))
        began = time.perf_counter()
        status, _ = await connection.ask(translate_body(text))
        found.append(time.perf_counter() - began)
        assert status == 200
    connection.close()
    return found


Test = Callable[[argparse.Namespace, Sequence[str]], list[Row]]
TESTS: dict[str, Test] = {"load": load, "book": book, "processes": processes, "http": http}

if __name__ == "__main__":
    main()
