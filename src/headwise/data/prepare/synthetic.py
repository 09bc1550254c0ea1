"""Which pairs are a model's work: `headwise back-translate` leaves a note beside each file that it makes.

Such pairs say little of how good a translator is: they are not held out to validate on.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.corpus import corpus_languages, corpus_paths
from headwise.data.read.files import uncompressed

NOTED = frozenset({"model", "texts", "search", "tag"})
"""What a note says, among other things."""


def note_path(path: Path) -> Path:
    """Where the note of a file of pairs is; one that was compressed since has it still."""
    plain = uncompressed(path)
    return plain.with_name(f"{plain.name}.json")


def is_synthetic(path: Path) -> bool:
    try:
        note = json.loads(note_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(note, dict) and note.keys() >= NOTED


def synthetic_files(data: DataConfig) -> list[str]:
    """Of the training data: what is held out depends on them."""
    paths = (path for corpus in data.train if not corpus.text for path in corpus_paths(corpus, data)[1])
    return [str(path) for path in paths if is_synthetic(path)]


def never_held_out(
    corpora: Iterable[CorpusConfig], data: DataConfig, say: Callable[[str], None]
) -> dict[tuple[str, str], frozenset[str]]:
    """By direction, the files whose pairs are not held out: those that a model made, unless there are no others."""
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
