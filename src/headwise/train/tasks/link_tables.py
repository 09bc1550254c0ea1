"""Translation probabilities of tokens out of the training pairs, for guided alignment: IBM Model 1 in both directions.

They are learnt once per prepared corpus, and kept beside it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from headwise.data.batch.token_links import LinkTable
from headwise.data.prepare.encoded_corpus import EncodedSide, Flat, gather
from headwise.data.prepare.result import TrainCorpus
from headwise.data.prepare.workers import Workers, available
from headwise.decode.shortlist.ibm_model1 import LexicalTable, lexical_table
from headwise.errors import CheckpointError
from headwise.files.tensors import load_tensors, save_tensors
from headwise.text.language.codes import Direction

FILE = "links{}.safetensors"
PAIRS = 500_000
"""Sentence pairs per direction that are learnt from, taken evenly from its corpora."""
LONGEST = 100
"""Most tokens of a side that is learnt from: the cost is quadratic in the length."""
ITERATIONS = 5
BEST = 50
"""Translations of a token that are kept, at most."""
LEAST = 1e-4
"""The probability that they must have."""


class _Task(NamedTuple):
    source: Flat
    target: Flat
    vocabulary: int


def link_tables(
    folder: Path, vocabulary: int, corpora: Sequence[TrainCorpus], say: Callable[[str], None]
) -> dict[Direction, LinkTable]:
    """The table of each direction, from `folder` if it is there; opposite directions share theirs."""
    directions: dict[Direction, list[TrainCorpus]] = {}
    for each in corpora:
        here, back = (each.source_language, each.target_language), (each.target_language, each.source_language)
        if here in directions or back not in directions:
            directions.setdefault(here, []).append(each)
    paths = {
        direction: folder / FILE.format("".join(f"-{code}" for code in direction if code)) for direction in directions
    }
    tables = {direction: _read(path, vocabulary) for direction, path in paths.items()}
    missing = [direction for direction, table in tables.items() if table is None]
    if missing:
        names = ", ".join("-".join(direction) for direction in missing if any(direction))
        say(f"learning word alignments{f' of {names}' if names else ''}")
        for direction, table in zip(missing, _learnt([directions[each] for each in missing], vocabulary), strict=True):
            _write(paths[direction], table)
            tables[direction] = table
    found = {direction: table for direction, table in tables.items() if table is not None}
    return found | {(target, source): table.swapped() for (source, target), table in found.items() if source != target}


def _learnt(groups: Sequence[Sequence[TrainCorpus]], vocabulary: int) -> list[LinkTable]:
    """The table of each group of corpora, which have one direction; child processes share the work."""
    tasks = []
    for corpora in groups:
        source, target = _pairs(corpora)
        tasks += [_Task(source, target, vocabulary), _Task(target, source, vocabulary)]
    with Workers(min(available(), len(tasks))) as workers:
        learnt = [table for _, table in workers.run(workers.job(_lexical, None), tasks)]
    return [_joined(onward, back, vocabulary) for onward, back in zip(learnt[::2], learnt[1::2], strict=True)]


def _pairs(corpora: Sequence[TrainCorpus]) -> tuple[Flat, Flat]:
    """The pairs that are learnt from."""
    sides: tuple[list[Flat], list[Flat]] = ([], [])
    share = max(1, PAIRS // len(corpora))
    for each in corpora:
        corpus, count = each.corpus, len(each.corpus)
        indices = np.unique(np.linspace(0, count - 1, min(count, share)).astype(np.int64))
        lengths = np.stack((corpus.source.lengths, corpus.target.lengths))[:, indices]
        indices = indices[(lengths.min(0) > 0) & (lengths.max(0) <= LONGEST)]
        for side, parts in zip((corpus.source, corpus.target), sides, strict=True):
            parts.append(_selected(side, indices))
    return Flat.joined(sides[0]), Flat.joined(sides[1])


def _selected(side: EncodedSide, indices: np.ndarray) -> Flat:
    starts, lengths = side.offsets[indices].astype(np.int64), side.lengths[indices].astype(np.int64)
    return Flat(gather(side.ids, starts, lengths), lengths)


def _lexical(_: None, task: _Task) -> LexicalTable | None:
    if not len(task.source.lengths):
        return None
    return lexical_table(*task, best=BEST, iterations=ITERATIONS, least=LEAST)


def _joined(onward: LexicalTable | None, back: LexicalTable | None, vocabulary: int) -> LinkTable:
    """The entries that both directions have: a link needs both."""
    if onward is None or back is None:
        return LinkTable(np.zeros(0, np.int64), np.zeros((2, 0), np.float32), vocabulary)
    (given, made), (made_back, given_back) = (
        (np.repeat(np.arange(vocabulary), np.diff(table.offsets)), table.targets.astype(np.int64))
        for table in (onward, back)
    )
    cells, first, second = np.intersect1d(
        made * vocabulary + given, made_back * vocabulary + given_back, assume_unique=True, return_indices=True
    )
    return LinkTable(cells, np.stack((onward.probabilities[first], back.probabilities[second])), vocabulary)


def _write(path: Path, table: LinkTable) -> None:
    save_tensors(path, {"cells": torch.from_numpy(table.cells), "chances": torch.from_numpy(table.chances)})


def _read(path: Path, vocabulary: int) -> LinkTable | None:
    """The table that was learnt before; None if the file is missing or damaged, as it can be made again."""
    try:
        tensors = load_tensors(path)
        return LinkTable(tensors["cells"].numpy(), tensors["chances"].numpy(), vocabulary)
    except (CheckpointError, KeyError):
        return None
