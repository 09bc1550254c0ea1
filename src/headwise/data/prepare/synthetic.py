"""Synthetic pairs: `headwise back-translate` writes a note beside each file that it makes.

Synthetic pairs are not held out for validation: they measure the quality of a translator poorly.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.corpus import corpus_languages, corpus_paths
from headwise.data.read.files import uncompressed

NOTED = frozenset({"model", "texts", "search", "tag"})
"""Keys that identify a note."""


def note_path(path: Path) -> Path:
    """The path of the note for a file of pairs, which may have been compressed since."""
    plain = uncompressed(path)
    return plain.with_name(f"{plain.name}.json")


def is_synthetic(path: Path) -> bool:
    try:
        note = json.loads(note_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(note, dict) and note.keys() >= NOTED


def synthetic_files(data: DataConfig) -> list[str]:
    """The synthetic files among the training data, on which the choice of held-out pairs depends."""
    paths = (path for corpus in data.train if not corpus.text for path in corpus_paths(corpus, data)[1])
    return [str(path) for path in paths if is_synthetic(path)]


def never_held_out(
    corpora: Iterable[CorpusConfig], data: DataConfig, say: Callable[[str], None]
) -> dict[tuple[str, str], frozenset[str]]:
    """The files of each direction whose pairs are not held out: the synthetic ones, unless there are no others."""
    files: dict[tuple[str, str], list[Path]] = {}
    for corpus in corpora:
        sides, pairs = corpus_paths(corpus, data)
        files.setdefault(corpus_languages(corpus, data), []).extend([*pairs, *(source for source, _ in sides)])
    found = {}
    for (source, target), paths in files.items():
        made = frozenset(str(path) for path in paths if is_synthetic(path))
        if made == {str(path) for path in paths}:
            say(
                f"note: all pairs of {source or '?'}-{target or '?'} are back-translations, those that are held out to "
                "validate on too: give real ones (--valid-pairs)"
            )
            made = frozenset()
        found[source, target] = made
    return found
