"""The corpora of a recipe: their files, their languages, and the sentence pairs in them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.files import format_suffix
from headwise.data.read.pairs import Note, Pair, read_csv, read_jsonl, read_parallel, read_tsv
from headwise.data.read.paths import recipe_path
from headwise.data.read.tmx import read_tmx
from headwise.errors import DataError

Reader = Callable[[Path, str, str, Note], Iterator[Pair]]

FORMATS: dict[str, Reader] = {
    ".tsv": read_tsv,
    ".tab": read_tsv,
    ".txt": read_tsv,
    ".csv": read_csv,
    ".tmx": read_tmx,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
}
"""How a file of pairs is read, by its extension (before that of a compression)."""


def read_corpus(corpus: CorpusConfig, data: DataConfig, note: Note = lambda text: None) -> Iterator[Pair]:
    """All pairs of a corpus, raw and in the order of its files, in its own direction only.

    `note` receives remarks, such as a header that was not understood.
    """
    sides, pairs = corpus_paths(corpus, data)
    languages = corpus_languages(corpus, data)
    for path in pairs:
        yield from _reader(path)(path, *languages, note)
    for source, target in sides:
        yield from read_parallel(source, target)


def corpus_languages(corpus: CorpusConfig, data: DataConfig) -> tuple[str, str]:
    """Source and target language: the corpus' own, or else those of the data table."""
    return corpus.source_language or data.source_language, corpus.target_language or data.target_language


def corpus_paths(corpus: CorpusConfig, data: DataConfig) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """The parallel text files, as (source, target), and the files of pairs; their names are checked here."""
    if len(corpus.source) != len(corpus.target):
        raise DataError(
            f"a corpus has {len(corpus.source)} source file(s) and {len(corpus.target)} target file(s); "
            "parallel text needs one target file for each source file"
        )
    if not corpus.source and not corpus.pairs:
        raise DataError("a corpus names no files: give `pairs`, or `source` and `target`")
    source, target, pairs = (
        [recipe_path(data.folder, name) for name in names] for names in (corpus.source, corpus.target, corpus.pairs)
    )
    for path in pairs:
        if path.is_dir():
            raise DataError(f"{path}: is a folder, not a file")
        _reader(path)
    return list(zip(source, target, strict=True)), pairs


def _reader(path: Path) -> Reader:
    try:
        return FORMATS[format_suffix(path)]
    except KeyError:
        raise DataError(
            f"{path}: unknown extension; pairs can be {', '.join(FORMATS)} (also .gz, .xz, .bz2, .zst); "
            "two text files, line by line, go into `source` and `target`"
        ) from None
