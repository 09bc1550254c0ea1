"""Long documents: time, memory and kills.

    python benchmarks/long_documents.py --model MODEL --to fr --text news.en --kills 5

Two files are made of the lines of a text: a Word document of 300 pages (400 words each) and a PO file of 100,000 lines.
Each is translated by the command line, once undisturbed and once killed (-9) at random moments and started again. Both
outputs must be the same, and none may exist before the end. Memory is the largest resident set of the process.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from rows import Row, add_output, show, write

WORDS_PER_PAGE = 400
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    ),
}


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, from the beginning again after its end; the round makes each line another."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    number = 0
    while True:
        for line in lines:
            yield line if number == 0 else f"{line} ({number})"
        number += 1


def make_docx(path: Path, text: Path, pages: int) -> None:
    """Paragraphs of three sentences, the second of which is bold, and a break after each page."""
    lines, body = lines_of(text), []
    for _ in range(pages):
        words = 0
        while words < WORDS_PER_PAGE:
            sentences = [next(lines) for _ in range(3)]
            words += sum(len(sentence.split()) for sentence in sentences)
            runs = (
                f'<w:r>{"<w:rPr><w:b/></w:rPr>" if i == 1 else ""}<w:t xml:space="preserve">{escape(s)} </w:t></w:r>'
                for i, s in enumerate(sentences)
            )
            body.append(f"<w:p>{''.join(runs)}</w:p>")
        body.append('<w:p><w:r><w:br w:type="page"/></w:r></w:p>')
    document = f'<w:document xmlns:w="{WORD}"><w:body>{"".join(body)}</w:body></w:document>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in {**PARTS, "word/document.xml": document}.items():
            package.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{part}')


def make_po(path: Path, text: Path, length: int) -> None:
    """Messages of ten words, four lines each."""
    lines, pieces, count = lines_of(text), ['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'], 3
    while count < length:
        message = " ".join(next(lines).split()[:10]).replace("\\", "").replace('"', '\\"')
        pieces.append(f'#: source.c:{count}\nmsgctxt "{count}"\nmsgid "{message}"\nmsgstr ""\n')
        count += 5
    path.write_text("\n".join(pieces), encoding="utf-8")


def start(args: argparse.Namespace, source: Path, output: Path) -> "subprocess.Popen[bytes]":
    model = ["--model", args.model, *(["--from", args.source] if args.source else []), "--to", args.to]
    model += ["--beam", str(args.beam)] if args.beam else []
    command = [sys.executable, "-m", "headwise", "translate", "--quiet", *model, str(source), "--output", str(output)]
    return subprocess.Popen(command)


def whole(args: argparse.Namespace, source: Path, output: Path) -> tuple[float, float, float]:
    """Seconds, seconds of the CPU and megabytes of an undisturbed translation."""
    begun = time.perf_counter()
    process = start(args, source, output)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{source}: the command failed")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def killed(args: argparse.Namespace, source: Path, output: Path, seconds: float) -> float:
    """Seconds of a translation that is killed at random moments, all its starts together."""
    begun = time.perf_counter()
    for _ in range(args.kills):
        process = start(args, source, output)
        time.sleep(random.uniform(0.2, seconds / args.kills))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        if output.exists():
            sys.exit(f"{output} exists before it is complete")
    if not output.exists() and start(args, source, output).wait():
        sys.exit(f"{source}: the command failed after the kills")
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--from", dest="source")
    parser.add_argument("--to", required=True)
    parser.add_argument("--text", type=Path, required=True, help="lines in the source language")
    parser.add_argument("--beam", type=int, help="hypotheses per sentence (default: as the model says)")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--only", choices=["docx", "po"])
    add_output(parser)
    args = parser.parse_args()
    random.seed(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, make, length in (("docx", make_docx, args.pages), ("po", make_po, args.lines)):
            if args.only not in (None, kind):
                continue
            source, once, again = (Path(folder) / f"{name}.{kind}" for name in ("source", "once", "again"))
            make(source, args.text, length)
            seconds, busy, memory = whole(args, source, once)
            total = killed(args, source, again, seconds)
            rows.append(
                {
                    "file": kind,
                    "length": length,
                    "MB": source.stat().st_size / 1e6,
                    "s": seconds,
                    "CPU s": busy,
                    "peak MB": memory,
                    "kills": args.kills,
                    "s with kills": total,
                    "same": once.read_bytes() == again.read_bytes(),
                }
            )
    show(rows, list(rows[0]))
    write(rows, args.json)


if __name__ == "__main__":
    main()
