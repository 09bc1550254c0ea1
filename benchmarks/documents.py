"""Documents of other programs: read, written with the same texts, and compared with what was read.

    python benchmarks/documents.py /usr/share/doc FOLDER ...
    python benchmarks/documents.py FOLDER --most 200 --json documents.jsonl

Files of every known format are looked for below the folders. "unchanged": the file comes back byte for byte, or, in zip
formats, each of its parts does. "changed texts": every text is replaced by another, and reading the result gives just
those. Files of two languages (PO, XLIFF, TMX) are filled, and must come back once they are; then each text gets another
translation, after which its source is still the same, and the same translations change nothing. Files that are refused
are listed with the reason.
"""

import argparse
import io
import itertools
import os
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rows import Row, add_output, show, write

from headwise.documents.document import ReadOptions
from headwise.documents.formats.format_table import BY_SUFFIX, DocumentFormat, format_of
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError

SMALL_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")


def files(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(root) / name
                if path.suffix.lower() in BY_SUFFIX and not path.is_symlink():
                    yield path


def changed(text: MarkedText) -> MarkedText:
    """The text with other letters, as a translator would give it back."""
    return MarkedText(part.translate(SMALL_LETTERS) if isinstance(part, str) else part for part in text.parts)


def same(one: bytes, other: bytes) -> bool:
    """Whether two files are the same, part by part if they are archives."""
    if one == other:
        return True
    if not (zipfile.is_zipfile(io.BytesIO(one)) and zipfile.is_zipfile(io.BytesIO(other))):
        return False
    with zipfile.ZipFile(io.BytesIO(one)) as before, zipfile.ZipFile(io.BytesIO(other)) as after:
        return before.namelist() == after.namelist() and all(
            before.read(name) == after.read(name) for name in before.namelist()
        )


def try_file(path: Path) -> tuple[str, str]:
    """The outcome for one file, and what is to be told about it."""
    data, kind = path.read_bytes(), format_of(path.name)
    columns = ("1",) if path.suffix.lower() in (".csv", ".tsv") else ()
    options = ReadOptions(target="fr" if kind.is_bilingual else None, columns=columns)
    try:
        document = kind.read(data, options)
    except DataError as error:
        return "refused", str(error)
    if kind.written_as:
        return "unchanged", ""
    written = document.write(document.segments)
    if kind.is_bilingual:  # the texts were added as translations: done again, nothing is left to do
        data, written = written, kind.read(written, options).write([])
    if not same(data, written):
        return "altered", "comes back altered"
    if kind.is_bilingual:
        return translated_again(kind, data, options)
    given = [changed(segment) for segment in document.segments]
    again = kind.read(document.write(given), options)
    if [text.text for text in again.segments] != [text.text for text in given]:
        return "unchanged", "changed texts do not come back"
    return "changed texts", ""


def translated_again(kind: DocumentFormat, data: bytes, options: ReadOptions) -> tuple[str, str]:
    """The outcome for a file of two languages whose texts all get another translation."""
    options = replace(options, again=True)
    document = kind.read(data, options)
    written = document.write([changed(segment) for segment in document.segments])
    again = kind.read(written, options)
    if [text.text for text in again.segments] != [text.text for text in document.segments]:
        return "unchanged", "sources do not come back"
    if again.write([changed(segment) for segment in again.segments]) != written:
        return "unchanged", "the same translations change the file"
    return "changed texts", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=1000, help="files per suffix (default: 1000)")
    parser.add_argument("--largest", type=int, default=20_000_000, help="bytes of a file (default: 20 million)")
    add_output(parser)
    args = parser.parse_args()
    tried: Counter[str] = Counter()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for path in files(args.folder):
        suffix = path.suffix.lower()
        if tried[suffix] >= args.most or not 0 < path.stat().st_size <= args.largest:
            continue
        tried[suffix] += 1
        begun = time.perf_counter()
        try:
            outcome, note = try_file(path)
        except Exception as error:  # every fault is counted, whatever it is
            outcome, note = "failed", f"{type(error).__name__}: {error}"
        seconds[suffix] += time.perf_counter() - begun
        outcomes[suffix][outcome] += 1
        if note:
            print(f"{path}: {note}", flush=True)
    rows: list[Row] = [
        {
            "format": suffix,
            "files": count,
            "unchanged": outcomes[suffix]["unchanged"] + outcomes[suffix]["changed texts"],
            "changed texts": outcomes[suffix]["changed texts"],
            **{name: outcomes[suffix][name] for name in ("altered", "refused", "failed")},
            "s": round(seconds[suffix], 1),
        }
        for suffix, count in sorted(tried.items())
    ]
    show(rows, list(itertools.chain(rows[0])) if rows else ["format"])
    write(rows, args.json)


if __name__ == "__main__":
    main()
