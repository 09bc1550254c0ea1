"""Word alignment with and without guided alignment: alignment error rate, BLEU and training speed.

    python benchmarks/alignment.py --out runs/alignment                      # trains two small models, and compares
    python benchmarks/alignment.py --models runs/alignment/guided            # only measures

The small models have the recipe of scripts/demo. The reference is benchmarks/alignment_gold.tsv: 57 held-out pairs of
the demo's corpus, annotated with sure links and possible ones (sentences from tatoeba.org, CC-BY 2.0 FR). The
alignment error rate is that of Och and Ney (2003), 1 - (|A & S| + |A & P|) / (|A| + |S|), where the possible links P
include the sure ones S. The given translations are aligned, not those of the model. For each model:

    as used     what `headwise translate --alignments` uses: the guided head, or else the mean of a layer's heads
    layer mean  the mean of the heads of the last layer but one
    best head   the head that is best on this very reference, with its layer and number from 1: a bound, not a choice
                that anyone could make without the reference; `+1` if the token is the decoder's input, not its output
    links       the statistical alignment that a guided head learns from

The last three do without the punctuation marks of words, as a guided head does. `CPU` is the time of a training step in
relation to that of the model without guidance, on the same batches, one step of each in turn.
"""

import argparse
import json
import runpy
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rows import Row, add_output, show, write

from headwise import Translator
from headwise.config import Recipe
from headwise.data.batch.stream import batches_from
from headwise.data.batch.token_links import NONE, PairTask, link_tokens
from headwise.data.prepare.encoded_corpus import EncodedCorpus, Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.decode.alignment import Alignment, align, lettered
from headwise.decode.scoring import cross_attention
from headwise.presets import resolve
from headwise.train.run import train
from headwise.train.tasks.link_tables import link_tables
from headwise.train.tasks.translation_task import open_job

HERE = Path(__file__).parent
GOLD = HERE / "alignment_gold.tsv"
WEIGHT = 0.1
TIMED = 40
"""Steps of each kind that are timed, after a few others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="train here: one model without guidance, and one with each --weight")
    parser.add_argument("--weights", type=float, nargs="+", default=[WEIGHT], help=f"(default: {WEIGHT})")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="train each model with these seeds")
    parser.add_argument(
        "--models", type=Path, nargs="+", default=[], help="folders of English-German models to measure"
    )
    parser.add_argument("--steps", type=int, help="training steps (default: as in scripts/demo)")
    add_output(parser)
    args = parser.parse_args()
    gold = read_gold()
    rows = (
        [trained(args.out, weight, seed, args.steps) for seed in args.seeds for weight in (0.0, *args.weights)]
        if args.out
        else []
    )
    rows += [{"model": str(folder), "folder": folder} for folder in args.models]
    for row in rows:
        row |= measured(row.pop("folder"), gold)
    show(rows, ["model", "seed", "as used", "layer mean", "best head", "which", "links", "BLEU", "CPU"])
    write(rows, args.json)


def read_gold(path: Path = GOLD) -> list[tuple[str, str, set[tuple[int, int]], set[tuple[int, int]]]]:
    """Source, target, sure links and all possible ones of each pair."""
    gold = []
    for line in path.read_text(encoding="utf-8").splitlines():
        source, target, *links = line.split("\t")
        sure, more = ({(int(a), int(b)) for a, b in (link.split("-") for link in each.split())} for each in links)
        gold.append((source, target, sure, sure | more))
    return gold


def trained(out: Path, weight: float, seed: int, steps: int | None) -> Row:
    """Train the demo's model; a model that is already there is used."""
    recipe: dict[str, Any] = runpy.run_path(str(HERE.parent / "scripts" / "demo.py"))["RECIPE"]
    folder = out / (f"guided-{weight}-{seed}" if weight else f"plain-{seed}")
    own = {"guided_alignment": weight} | ({"steps": steps} if steps else {})
    whole = resolve({**recipe, "seed": seed, "out": str(folder), "train": recipe["train"] | own})
    train(whole)
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return {
        "model": f"guided {weight}" if weight else "plain",
        "seed": seed,
        "folder": folder,
        "BLEU": round(scores["test set"]["bleu"], 2),
        "CPU": round(slowdown(whole), 3) if weight else 1.0,
    }


def slowdown(recipe: Recipe) -> float:
    """CPU time of a step in relation to one without guidance: made, forward and backward."""
    recipes = [replace(recipe, train=replace(recipe.train, guided_alignment=weight)) for weight in (0.0, WEIGHT)]
    jobs = [open_job(each, Path(each.out), torch.device("cpu"), print) for each in recipes]
    streams = [batches_from(job.stream) for job in jobs]
    seconds = [0.0, 0.0]
    for step in range(TIMED + 5):
        for i, job in enumerate(jobs):
            begun = time.process_time()
            torch.autograd.backward(job.objective(job.loaded.model, next(streams[i])[0]).loss)
            seconds[i] += time.process_time() - begun if step >= 5 else 0.0
    return seconds[1] / seconds[0]


def measured(folder: Path, gold: list[Any]) -> Row:
    """The alignment error rates of a model, in percent."""
    translator = Translator(folder, engine="plain")
    tokenizer, layers, heads = translator.tokenizer, translator.config.layers, translator.config.attention.heads
    before, after = tokenizer.source_frame("en", "de")
    start = [tokenizer.decoder_start("de"), *tokenizer.target_start("de")]
    sources = [[*before, *tokenizer.encode(pair[0]), *after] for pair in gold]
    targets = [[*start, *tokenizer.encode_target(pair[1])] for pair in gold]

    def error(weights: list[NDArray[Any]], later: int, words: Callable[[list[int]], list[int]]) -> float:
        sides = zip(weights, sources, targets, strict=True)
        return error_rate(gold, [align(each[later:], words(left), words(right[1:])) for each, left, right in sides])

    def letters(ids: list[int]) -> list[int]:
        return lettered(tokenizer.word_ids(ids), tokenizer.pieces(ids))

    model = translator.model
    found: dict[tuple[int, ...], float] = {}
    for layer in range(layers):
        for head in range(heads):
            weights = cross_attention(model, sources, targets, (layer, head))
            found |= {(layer, head, later): error(weights, later, letters) for later in (0, 1)}
    best = min(found, key=lambda each: found[each])
    mean, guided = cross_attention(model, sources, targets), translator.task.alignment_head
    return {
        "as used": found[(*guided, 1)] if guided else error(mean, 0, tokenizer.word_ids),
        "layer mean": error(mean, 0, letters),
        "best head": found[best],
        "which": f"{best[0] + 1}.{best[1] + 1}{'+1' if best[2] else ''}",
        "links": statistical(folder, translator, gold),
    }


def statistical(folder: Path, translator: Translator, gold: list[Any]) -> float | None:
    """The error rate of the links that a guided head learns from; None if the prepared data is not there."""
    corpora = sorted((folder / "data").glob("*/train-0"))
    if not corpora:
        return None
    tokenizer = translator.tokenizer
    corpus = TrainCorpus(EncodedCorpus.open(corpora[0]), 1.0, "en", "de")
    tables = link_tables(corpora[0].parent, tokenizer.size, [corpus], print)
    found = []
    for source, target, *_ in gold:
        ids = tokenizer.encode(source), tokenizer.encode_target(target)
        links = link_tokens(tables, PairTask(("en", "de"), *(Flat.of([each], np.dtype("<u4")) for each in ids)))
        weights = np.zeros((len(ids[1]), len(ids[0])))
        linked = np.flatnonzero(links != NONE)
        weights[linked, links[linked]] = 1
        found.append(align(weights, *(lettered(tokenizer.word_ids(each), tokenizer.pieces(each)) for each in ids)))
    return error_rate(gold, found)


def error_rate(gold: list[Any], found: list[Alignment]) -> float:
    """The alignment error rate in percent."""
    right = total = 0
    for (_, _, sure, possible), links in zip(gold, found, strict=True):
        right += len(sure.intersection(links)) + len(possible.intersection(links))
        total += len(sure) + len(links)
    return round(100 * (1 - right / total), 1)


if __name__ == "__main__":
    main()
