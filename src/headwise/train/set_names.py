"""Names of test and validation sets, used alike in scores.json, the model card and distillation.json."""

from collections.abc import Sequence
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.corpus import corpus_languages

TEST = "test set"
VALIDATION = "validation set"


def test_set_names(data: DataConfig) -> list[str]:
    """A name for each test set of a recipe, in order: `test set` if there is only one, else what distinguishes it."""
    return named_sets([_candidates(corpus, data) for corpus in data.test])


def named_sets(candidates: Sequence[Sequence[str]]) -> list[str]:
    """A name for each test set, from its possible names: the first kind of name that no two sets share."""
    if len(candidates) == 1:
        return [TEST]
    for names in zip(*candidates, strict=True):
        if len(set(names)) == len(names):
            return list(names)
    return [f"{names[0]} {number}" for number, names in enumerate(candidates, 1)]


def file_names(paths: Sequence[str]) -> list[str]:
    """Possible names of a set in these files: the first file's name, all names, the first path, all paths."""
    names = [Path(path).name for path in paths]
    return [names[0], ", ".join(names), paths[0], ", ".join(paths)]


def _candidates(corpus: CorpusConfig, data: DataConfig) -> list[str]:
    named = file_names([*corpus.pairs, *corpus.source, *corpus.target, *corpus.text, *corpus.labelled, *corpus.images])
    direction = direction_name(corpus_languages(corpus, data))
    return [named[0], f"{named[0]} {direction}", *named[1:], f"{named[-1]} {direction}"]


def validation_set_names(directions: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each validation set of a translator, which has one per direction."""
    if len(directions) == 1:
        return [VALIDATION]
    return [f"{VALIDATION} {direction_name(direction)}" for direction in directions]


def validation_set_name(direction: tuple[str, str], data: DataConfig) -> str:
    """The name of the validation set of a direction in a recipe that names validation corpora."""
    directions = dict.fromkeys(corpus_languages(corpus, data) for corpus in data.valid)
    several = len(directions) > 1 or data.both_directions
    return f"{VALIDATION} {direction_name(direction)}" if several else VALIDATION


def direction_name(direction: tuple[str, str]) -> str:
    return "-".join(direction)
