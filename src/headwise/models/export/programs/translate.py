"""Translate lines from standard input with the model in this folder.

    python translate.py < source.txt > target.txt
    python translate.py --to fr --beam 4 < source.txt

It needs ctranslate2 and the package that tokenises text (see README.md), and nothing else.
"""

import argparse
import itertools
import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
FACTS: dict[str, Any] = json.loads((FOLDER / "translation.json").read_text(encoding="utf-8"))
BATCH = 16
"""Lines that are translated together."""
SORTED = 1024
"""Lines that are sorted by length, and written, together."""


class Text:
    """The model's tokenizer: text to tokens and back."""

    def __init__(self) -> None:
        facts = FACTS["text"]
        self.normalised, self.escaped = facts["normalised"], facts["escaped"]
        self.cut: Callable[[str], list[str]]
        self.join: Callable[[list[str]], str]
        if facts["by"] == "sentencepiece":
            import sentencepiece

            source, target = (
                sentencepiece.SentencePieceProcessor(model_file=str(FOLDER / facts[side]))
                for side in ("source", "target")
            )
            self.cut = lambda text: source.encode(text, out_type=str)
            self.join = lambda pieces: target.decode(pieces).replace("▁", " ")
        elif facts["by"] == "tokenizers":
            import tokenizers

            library = tokenizers.Tokenizer.from_file(str(FOLDER / facts["source"]))
            library.encode_special_tokens = facts["plain"]
            self.cut = lambda text: library.encode(text, add_special_tokens=False).tokens
            self.join = lambda pieces: library.decode([library.token_to_id(piece) or 0 for piece in pieces])
        else:
            from headwise.text.kinds import load_tokenizer

            own = load_tokenizer(FOLDER)
            self.cut = lambda text: own.pieces(own.encode(text))
            self.join = lambda pieces: own.decode(own.piece_ids(pieces))

    def pieces(self, text: str) -> list[str]:
        if self.normalised:
            text = " ".join(unicodedata.normalize("NFC", text).split())
        if self.escaped:  # SentencePiece would take a ▁ in the text for a space
            text = text.replace("\x10", "\x10\x10").replace("▁", "\x10_")
        return list(self.cut(text))

    def text(self, pieces: list[str]) -> str:
        text = self.join(pieces)
        if self.escaped:
            text = text.replace("\x10_", "▁").replace("\x10\x10", "\x10")
        return " ".join(text.split()) if self.normalised else text.strip()


class CTranslate2:
    """Beam search with the length limit and penalty of Headwise."""

    def __init__(self, threads: int) -> None:
        import ctranslate2

        self.translator = ctranslate2.Translator(str(FOLDER), intra_threads=threads)

    def translate(self, sources: list[list[str]], prefix: list[str], beam: int) -> list[list[str]]:
        results = self.translator.translate_batch(
            sources,
            target_prefix=[prefix] * len(sources) if prefix else None,
            beam_size=beam,
            length_penalty=1,
            patience=2 if beam > 1 else 1,  # otherwise it may end while an unfinished hypothesis is better
            max_decoding_length=max(2 * len(source) + 12 for source in sources),
            max_input_length=0,
        )
        given = len(prefix) - (not FACTS["starts"])  # a start token in the prefix is not in the results
        return [result.hypotheses[0][given:] for result in results]


def direction(source: str | None, target: str | None) -> dict[str, Any]:
    """The tokens around a text in these languages."""
    rows: list[dict[str, Any]] = FACTS["directions"]
    if FACTS["sources"]:  # any of these to any target
        codes = [each["source"] for each in FACTS["sources"]]
        if source not in codes:
            raise SystemExit(f"translate.py: name the source language with --from: {', '.join(codes)}")
        rows = [{**each, **FACTS["sources"][codes.index(source)]} for each in rows]
    fitting = [each for each in rows if source in (None, each["source"]) and target in (None, each["target"])]
    known = ", ".join("{source}-{target}".format(**each) for each in rows)
    if not fitting:
        raise SystemExit(f"translate.py: there is no such direction; there are: {known}")
    if len({each["target"] for each in fitting}) > 1:
        raise SystemExit(f"translate.py: name the target language with --to: {known}")
    return fitting[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", metavar="L", help="source language, where there are several")
    parser.add_argument("--to", dest="target", metavar="L", help="target language, where there are several")
    parser.add_argument("--beam", type=int, default=4, help="beam width; 1 is greedy (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="default: one per core")
    args = parser.parse_args()
    around = direction(args.source, args.target)
    text = Text()
    engine = CTranslate2(args.threads)
    sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")  # type: ignore[union-attr]
    number = 0
    while lines := [line.rstrip("\n") for line in itertools.islice(sys.stdin, SORTED)]:
        sources = {
            place: [*around["before"], *text.pieces(line), *around["after"]]
            for place, line in enumerate(lines)
            if line.strip()
        }
        results = [""] * len(lines)
        order = sorted(sources, key=lambda place: len(sources[place]))
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            for place, pieces in zip(
                places, translated(engine, sources, places, around["start"], args.beam), strict=True
            ):
                if pieces is None:
                    print(
                        f"translate.py: line {number + place + 1} is too long: left empty",
                        file=sys.stderr,
                    )
                else:
                    results[place] = text.text(pieces)
        print("\n".join(results), flush=True)
        number += len(lines)


def translated(
    engine: CTranslate2, sources: dict[int, list[str]], places: list[int], start: list[str], beam: int
) -> list[list[str] | None]:
    """The tokens of each translation; None for a text that is longer than the model's table of positions."""
    try:
        return list(engine.translate([sources[place] for place in places], start, beam))
    except RuntimeError as error:
        if "position encodings" not in str(error):
            raise
    if len(places) == 1:
        return [None]
    return [translated(engine, sources, [place], start, beam)[0] for place in places]


if __name__ == "__main__":
    main()
