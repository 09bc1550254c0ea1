"""Office files in LibreOffice: pages before and after a pseudo-translation, and words that were left as they were.

    python benchmarks/office_pages.py FOLDER ...
    python benchmarks/office_pages.py FOLDER --suffix .docx .odt --most 20

Every letter of the texts is replaced by another, and LibreOffice makes PDF files of both. Both must have pages, about
as many. A word of the original that still stands in the translation was not seen as text: such words are listed.
Needs `soffice` (LibreOffice) and `pdftotext` (Poppler).
"""

import argparse
import codecs
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from rows import Row, add_output, show, write

from headwise.documents.document import ReadOptions
from headwise.documents.formats.format_table import format_of
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError

OFFICE = (".docx", ".docm", ".dotx", ".pptx", ".potx", ".xlsx", ".xlsm", ".odt", ".odp", ".ods", ".ott", ".otp")
BATCH = 12
"""Files per start of LibreOffice."""
WORD = re.compile(r"[A-Za-z]{4,}")
SHOWN = 12


def pseudo(text: MarkedText) -> MarkedText:
    """The text with every letter of A to Z replaced by another."""
    return MarkedText(codecs.encode(part, "rot13") if isinstance(part, str) else part for part in text.parts)


def pseudo_translated(path: Path) -> bytes | None:
    """The file with other letters; None if it is refused."""
    try:
        document = format_of(path.name).read(path.read_bytes(), ReadOptions())
    except DataError as error:
        print(f"{path}: {error}")
        return None
    return document.write([pseudo(segment) for segment in document.segments])


def to_pdf(files: Sequence[Path], folder: Path, profile: Path) -> None:
    """Convert files; where one breaks the whole batch, each is converted by itself."""
    command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "pdf"]
    for start in range(0, len(files), BATCH):
        batch = files[start : start + BATCH]
        run([*command, "--outdir", str(folder), *map(str, batch)], 30 * len(batch))
        for file in batch:
            if not (folder / f"{file.stem}.pdf").exists():
                run([*command, "--outdir", str(folder), str(file)], 90)


def run(command: Sequence[str], seconds: float) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"LibreOffice took more than {seconds:.0f} s")


def text_of(pdf: Path) -> tuple[int, str]:
    """Pages and text of a PDF file; no pages if there is none."""
    if not pdf.exists():
        return 0, ""
    text = subprocess.run(["pdftotext", str(pdf), "-"], capture_output=True, check=True).stdout.decode()
    return text.count("\f"), text


def left_over(before: str, after: str) -> Counter[str]:
    """Words of the original in the translation that are not the translation of another of its words."""
    words = Counter(WORD.findall(before))
    possible = {codecs.encode(word, "rot13") for word in words}
    return Counter(word for word in WORD.findall(after) if word in words and word not in possible)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--suffix", nargs="+", default=OFFICE)
    parser.add_argument("--most", type=int, default=40, help="files per suffix (default: 40)")
    add_output(parser)
    args = parser.parse_args()
    found: dict[str, list[Path]] = defaultdict(list)
    for folder in args.folder:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in args.suffix and len(found[path.suffix.lower()]) < args.most:
                found[path.suffix.lower()].append(path)
    rows: list[Row] = []
    for suffix, paths in found.items():
        counts: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name:
            work = Path(name)
            for part in ("before", "after"):
                (work / part).mkdir()
            kept: list[Path] = []
            for path in paths:
                data = pseudo_translated(path)
                if data is not None:
                    kept.append(path)
                    (work / "before" / f"{len(kept)}{suffix}").write_bytes(path.read_bytes())
                    (work / "after" / f"{len(kept)}{suffix}").write_bytes(data)
            for part in ("before", "after"):
                to_pdf(sorted((work / part).iterdir()), work / part, work / "profile")
            for number, path in enumerate(kept, 1):
                (pages, before), (new_pages, after) = (
                    text_of(work / part / f"{number}.pdf") for part in ("before", "after")
                )
                words = left_over(before, after)
                counts["files"] += 1
                counts["opened before"] += pages > 0
                counts["opened after"] += new_pages > 0
                counts["same pages"] += pages == new_pages
                counts["words"] += len(WORD.findall(before))
                counts["left over"] += words.total()
                if words or pages != new_pages:
                    listed = " ".join(word for word, _ in words.most_common(SHOWN))
                    print(f"{path}: {pages} -> {new_pages} pages; {words.total()} words left: {listed}", flush=True)
        rows.append({"format": suffix, **counts})
    columns = ["format", "files", "opened before", "opened after", "same pages", "words", "left over"]
    show(rows, columns)
    write(rows, args.json)


if __name__ == "__main__":
    main()
