"""Translations of many lines on one GPU, by several processes, and the pairs of them that are good enough."""

import functools
import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pairs import good_pairs, write_pairs

from headwise import Translator

PROCESSES = 8
"""Translating processes on one GPU: while one reads text, another computes."""
PART = 40_000
"""Lines that a process translates at a time, and the size of what an interruption repeats."""


@dataclass(frozen=True)
class Part:
    """Some lines of a file to translate, and where their pairs are written."""

    text: Path
    start: int
    model: Path
    source: str
    target: str
    pairs: Path
    beam: int

    def lines(self) -> list[str]:
        with self.text.open(encoding="utf-8", newline="\n") as stream:
            return [line.rstrip("\n") for line in islice(stream, self.start, self.start + PART)]


def translate_texts(
    texts: Mapping[tuple[str, str], Path], models: Mapping[tuple[str, str], Path], folder: Path, beam: int
) -> None:
    """Translate a file per direction; `folder` receives `de-en.tsv` and so on, English first."""
    parts = {
        direction: list(_parts(texts[direction], model, direction, folder, beam)) for direction, model in models.items()
    }
    waiting = [part for listed in parts.values() for part in listed if not part.pairs.exists()]
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_translate, sorted(waiting, key=lambda part: str(part.model))))
    for (source, target), listed in parts.items():
        whole = folder / f"{source}-{target}.tsv"
        unfinished = whole.with_suffix(".unfinished")
        with unfinished.open("wb") as stream:
            for part in listed:
                stream.write(part.pairs.read_bytes())
        unfinished.rename(whole)
        kept = sum(part.pairs.read_bytes().count(b"\n") for part in listed)
        print(f"{source}-{target}: {kept:,} translations kept", flush=True)


def _parts(text: Path, model: Path, direction: tuple[str, str], folder: Path, beam: int) -> Iterator[Part]:
    with text.open("rb") as stream:
        count = sum(1 for _ in stream)
    for start in range(0, count, PART):
        name = f"{'-'.join(direction)}-{start // PART:04}.tsv"
        yield Part(text, start, model, *direction, folder / "parts" / name, beam)


def _translate(part: Part) -> None:
    translator, texts = _translator(part.model), part.lines()
    languages = (part.source, part.target) if len(translator.directions) > 1 else (None, None)
    # What a repair would concern is dropped.
    found = translator.translate(texts, source=languages[0], target=languages[1], beam=part.beam, repair=False)
    good = good_pairs(texts, [each.text for each in found], [each.score for each in found])
    unfinished = part.pairs.with_suffix(".unfinished")
    write_pairs(unfinished, good if part.source == "en" else ((other, text) for text, other in good))
    unfinished.rename(part.pairs)


@functools.lru_cache(maxsize=1)
def _translator(model: Path) -> Translator:
    return Translator(model)
