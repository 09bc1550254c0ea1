"""From the corpora of a recipe to sentence pairs, whatever files they are in."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from headwise.config import CorpusConfig, DataConfig
from headwise.data.read.files import format_suffix, numbered_lines
from headwise.data.read.jsonl import read_jsonl
from headwise.data.read.pair import Pair
from headwise.data.read.tmx import read_tmx
from headwise.data.read.tsv import read_tsv
from headwise.errors import DataError

FORMATS: dict[str, Callable[[Path, str, str], Iterator[Pair]]] = {
    ".tsv": read_tsv,
    ".tab": read_tsv,
    ".txt": read_tsv,
    ".tmx": read_tmx,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
}
"""How a file of pairs is read, by its extension (under that of a compression)."""


def read_corpus(corpus: CorpusConfig, data: DataConfig) -> Iterator[Pair]:
    """All pairs of a corpus, raw and in the order of its files, in its own direction only."""
    sides, pairs = corpus_paths(corpus, data)
    languages = corpus_languages(corpus, data)
    for path in pairs:
        yield from _reader(path)(path, *languages)
    for source, target in sides:
        yield from read_parallel(source, target)


def corpus_languages(corpus: CorpusConfig, data: DataConfig) -> tuple[str, str]:
    """Source and target language: the corpus' own, or else those of the data table."""
    return corpus.source_language or data.source_language, corpus.target_language or data.target_language


def corpus_paths(corpus: CorpusConfig, data: DataConfig) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """The parallel text files, as (source, target), and the files of pairs; names are checked here."""
    if len(corpus.source) != len(corpus.target):
        raise DataError(
            f"a corpus has {len(corpus.source)} source file(s) and {len(corpus.target)} target file(s); "
            "parallel text needs one target file for each source file"
        )
    if not corpus.source and not corpus.pairs:
        raise DataError("a corpus names no files: give `pairs`, or `source` and `target`")

    def resolve(name: str) -> Path:
        return Path(data.folder) / Path(name).expanduser()

    pairs = [resolve(name) for name in corpus.pairs]
    for path in pairs:
        _reader(path)
    sides = zip(map(resolve, corpus.source), map(resolve, corpus.target), strict=True)
    return list(sides), pairs


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Two text files whose lines translate each other; reported lines are the source file's."""
    name = str(source)
    lines = zip_longest(numbered_lines(source), numbered_lines(target))
    for left, right in lines:
        if left is None or right is None:
            # One file has ended: count on to the end of the other, as both counts show what went wrong.
            longer = right if left is None else left
            assert longer is not None
            shorter_count = longer[0] - 1
            longer_count = longer[0] + sum(1 for _ in lines)
            counts = (shorter_count, longer_count) if left is None else (longer_count, shorter_count)
            raise DataError(
                f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}; "
                "line by line they must translate each other"
            )
        yield Pair(left[1], right[1], name, left[0])


def _reader(path: Path) -> Callable[[Path, str, str], Iterator[Pair]]:
    try:
        return FORMATS[format_suffix(path)]
    except KeyError:
        raise DataError(
            f"{path}: unknown extension; pairs can be {', '.join(FORMATS)} (also .gz, .xz, .bz2, .zst); "
            "two text files, line by line, go into `source` and `target`"
        ) from None
