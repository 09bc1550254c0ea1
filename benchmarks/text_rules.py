"""Rules of the document layer with real models: numbers, placeholders, spaces, capitals, text in the target language.

    python benchmarks/text_rules.py --model MODEL_EN_FR MODEL_FR_EN
    python benchmarks/text_rules.py --model MODEL placeholders --show

- numbers: generated lines with amounts, dates and identifiers (sheet/digit_lines.py). A line passes if every run of
  digits is in the translation; one that does not must be flagged (`missing_numbers`).
- placeholders: generated lines (sheet/placeholder_lines.py). A line passes if each placeholder occurs as often as
  before.
- spaces: sentences of the sheet, joined or broken by runs of spaces, tabs, line breaks and emoji, which must all
  survive in order.
- capitals: sentences of the sheet in capitals must come out in capitals.
- target: sentences that are in the target language already must stay as they are.

Everything goes through `translate_texts`, as documents do. The lines are the same for the same seed.
"""

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rows import Row, add_output, show, write
from sheet.checks import lost_digits
from sheet.digit_lines import digit_line
from sheet.placeholder_lines import placeholder_line
from sheet.tagged import read_tag_cases

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.documents.marked_text import MarkedText
from headwise.documents.translate_texts import Languages, TranslatedText, translate_texts
from headwise.text.language.codes import short_code

CHUNK = 500
WHITE = ("  ", "   ", "\t", "\n", "\n\n", " 🎉 ", " 👍🏽 ", "\t\t", "    ")
SEPARATORS = re.compile(r"[ \u00a0]{2,}|\t+|\n+|🎉|👍🏽")

Line = tuple[str, Callable[[str, TranslatedText], str]]
"""A text, and what is wrong with its translation: empty, `flagged`, or a description."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", metavar="RULE", help=f"{', '.join(RULES)} (default: all)")
    parser.add_argument("--model", nargs="+", required=True, help="models, one direction each")
    parser.add_argument("--limit", type=int, default=10_000, help="lines with numbers, over all models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--beam", type=int, default=TranslateOptions.beam)
    parser.add_argument("--show", action="store_true", help="print the failures")
    add_output(parser)
    args = parser.parse_args()
    if unknown := [name for name in args.rules if name not in RULES]:
        parser.error(f"there is no rule {unknown[0]!r}: choose from {', '.join(RULES)}")
    rows: list[Row] = []
    for model in args.model:
        with Translator(model) as translator:
            source, target = translator.directions[0]
            for name in args.rules or RULES:
                drawn = random.Random(f"{args.seed} {name} {source}")
                lines = RULES[name](drawn, (short_code(source), short_code(target)), args.limit // len(args.model))
                rows.append({"rule": name, "direction": f"{source}-{target}", **graded(translator, lines, args)})
    show(rows, ["rule", "direction", "lines", "passed", "flagged", "failed", "seconds"])
    about = {"benchmark": "text_rules", "models": [Path(model).name for model in args.model], "beam": args.beam}
    write([{**about, **row} for row in rows], args.json)


def graded(translator: Translator, lines: Sequence[Line], args: argparse.Namespace) -> Row:
    """Translate the lines and count what is wrong with them."""
    source, target = translator.directions[0]
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    for first in range(0, len(lines), CHUNK):
        chunk = lines[first : first + CHUNK]
        texts = [MarkedText([line]) for line, _ in chunk]
        found = translate_texts(translator, texts, Languages(source, target), TranslateOptions(beam=args.beam))
        for (line, check), each in zip(chunk, found, strict=True):
            fault = check(line, each)
            counts["flagged" if fault == "flagged" else "failed" if fault else "passed"] += 1
            if fault and args.show:
                print(f"{fault}\n    {line!r}\n    {each.text.text!r}")
    return {
        "lines": len(lines),
        **{name: counts[name] for name in ("passed", "flagged", "failed")},
        "seconds": time.perf_counter() - start,
    }


# --- rules ------------------------------------------------------------------------------------------------


def numbers(drawn: random.Random, languages: tuple[str, str], limit: int) -> list[Line]:
    def check(line: str, found: TranslatedText) -> str:
        lost = lost_digits(line, found.text.text)
        return "" if not lost else "flagged" if found.found.missing_numbers else f"lost {', '.join(lost)}"

    return [(digit_line(drawn, languages[0]), check) for _ in range(limit)]


def placeholders(drawn: random.Random, languages: tuple[str, str], limit: int) -> list[Line]:
    def checked(line: str, wanted: list[str]) -> Line:
        def check(line: str, found: TranslatedText) -> str:
            text = found.text.text
            changed = [each for each in dict.fromkeys(wanted) if text.count(each) != line.count(each)]
            return f"changed {', '.join(changed)}" if changed else ""

        return line, check

    return [checked(*placeholder_line(drawn, languages[0])) for _ in range(1500)]


def spaces(drawn: random.Random, languages: tuple[str, str], limit: int) -> list[Line]:
    def check(line: str, found: TranslatedText) -> str:
        wanted, got = (SEPARATORS.findall(text) for text in (line, found.text.text))
        ends = [
            (text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]) for text in (line, found.text.text)
        ]
        return "" if wanted == got and ends[0] == ends[1] else f"{got} instead of {wanted}"

    known = sentences(languages[0])
    lines = [
        f"{drawn.choice(['', '  ', chr(9)])}{drawn.choice(known)}{drawn.choice(WHITE)}{drawn.choice(known)}"
        f"{drawn.choice(['', ' ', chr(10)])}"
        for _ in range(150)
    ]
    for _ in range(150):
        words = drawn.choice(known).split(" ")
        place = drawn.randrange(1, max(2, len(words)))
        lines.append(" ".join(words[:place]) + drawn.choice(("  ", "   ", "\t", " 🎉 ")) + " ".join(words[place:]))
    return [(line, check) for line in lines]


def capitals(drawn: random.Random, languages: tuple[str, str], limit: int) -> list[Line]:
    def check(line: str, found: TranslatedText) -> str:
        letters = [character for character in found.text.text if character.isalpha()]
        small = sum(character.islower() for character in letters)
        return "" if letters and not small else f"{small} small letters"

    return [(line.upper(), check) for line in sentences(languages[0])[:150]]


def target(drawn: random.Random, languages: tuple[str, str], limit: int) -> list[Line]:
    def check(line: str, found: TranslatedText) -> str:
        return "" if found.text.text == line else "changed"

    return [(line, check) for line in sentences(languages[1])[:150]]


def sentences(language: str) -> list[str]:
    """Plain sentences of a language, of at least six words, from the sheet of tags."""
    cases = [case for case in read_tag_cases() if case.direction.startswith(language) and case.kind == "office"]
    texts = dict.fromkeys(case.text.text for case in cases if all(not mark.separates for mark in case.text.marks))
    return [text for text in texts if len(text.split()) >= 6 and text == text.strip()]


RULES: dict[str, Callable[[random.Random, tuple[str, str], int], list[Line]]] = {
    "numbers": numbers,
    "placeholders": placeholders,
    "spaces": spaces,
    "capitals": capitals,
    "target": target,
}

if __name__ == "__main__":
    main()
