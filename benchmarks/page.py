"""The page in a browser: time to the first paint, and from a key to the translation of what was typed.

    python benchmarks/page.py MODEL
    python benchmarks/page.py MODEL --source en --target fr --repeats 20

It starts a server and a Chromium (`playwright` of headwise[browser]; HEADWISE_CHROMIUM, or chromium on the path). Each
key adds a character to a sentence of the tests and waits until its translation is on the page. So the time has the
page's own pause, the request, the search and the painting. `server` is a request of the same length without a browser.
No text is translated twice, so that nothing comes from a cache.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from typing import Any

from rows import Row, add_output, show, write

SENTENCES = (
    "I ate an apple because I was hungry.",
    "The old man reads the newspaper in the garden.",
    "Could you tell me where the station is?",
)
PORT = 5599
COLUMNS = ("measured", "median_ms", "best_ms", "worst_ms")
KEYS = 10
"""The last characters of each sentence, which are typed one by one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--repeats", type=int, default=5, help="openings of the page (default: 5)")
    parser.add_argument("--port", type=int, default=PORT)
    add_output(parser)
    args = parser.parse_args()
    server = _start(args.model, args.port)
    try:
        rows = _measure(args)
    finally:
        server.terminate()
        server.wait()
    show(rows, COLUMNS)
    write(rows, args.json)


def _start(model: str, port: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "headwise", "serve", "--models", model, "--port", str(port), "--drain", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready"):
                return process
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def _measure(args: argparse.Namespace) -> list[Row]:
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("HEADWISE_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        paints = [_first_paint(browser, args) for _ in range(args.repeats)]
        keys = [each for sentence in SENTENCES for each in _keys(browser, args, sentence)]
        browser.close()
    server = [_request(args, "Well, " + sentence[:-number]) for sentence in SENTENCES for number in range(1, KEYS + 1)]
    return [
        {"measured": name, "median_ms": statistics.median(found), "best_ms": min(found), "worst_ms": max(found)}
        for name, found in (("first paint", paints), ("key to translation", keys), ("server", server))
    ]


def _first_paint(browser: Any, args: argparse.Namespace) -> float:
    """Milliseconds from the request to the first contentful paint, in a browser that has nothing in its cache."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{args.port}/")
    page.wait_for_selector("[data-view]")
    found = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    context.close()
    return float(found)


def _keys(browser: Any, args: argparse.Namespace, sentence: str) -> list[float]:
    """Milliseconds from each key to the painted translation, by the clock of the page."""
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{args.port}/#translate?source={args.source}&target={args.target}")
    box = page.locator("#source-text")
    box.fill(sentence[:-KEYS])
    page.wait_for_selector(".word")
    page.wait_for_timeout(1500)
    found = []
    for character in sentence[-KEYS:]:
        waiting = page.evaluate_handle(_WAIT)
        box.press_sequentially(character)
        found.append(float(waiting.evaluate("each => each.done")))
        page.wait_for_timeout(400)
    page.close()
    return found


_WAIT = """() => {
    const box = document.querySelector("#source-text");
    const begin = new Promise((resolve) => {
        box.addEventListener("input", () => resolve(performance.now()), { once: true });
    });
    const view = document.querySelector(".view");
    const end = new Promise((resolve) => {
        let busy = false;
        new MutationObserver((changes, observer) => {
            if (view.classList.contains("is-busy")) busy = true;
            else if (busy) { observer.disconnect(); requestAnimationFrame(() => resolve(performance.now())); }
        }).observe(view, { attributes: true });
    });
    return { done: Promise.all([begin, end]).then(([from, to]) => to - from) };
}"""
"""Waits until the view has been busy and is so no longer, and a frame is painted."""


def _request(args: argparse.Namespace, text: str) -> float:
    body = {"texts": [text], "source": args.source, "target": args.target, "alternatives": 3, "alignments": True}
    request = urllib.request.Request(
        f"http://127.0.0.1:{args.port}/api/translate",
        json.dumps({**body, "sentences": True}).encode(),
        {"Content-Type": "application/json"},
    )
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
