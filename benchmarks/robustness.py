"""Robustness of a translator of English, German, French, Italian and Hindi, in as many directions as it has.

    python benchmarks/robustness.py MODEL                 # all three tests
    python benchmarks/robustness.py MODEL sheet --show    # with the failures
    python benchmarks/robustness.py MODEL digits fuzz --limit 500

- sheet: the cases of `benchmarks/sheet`, phrases with their accepted translations and texts with properties that a
  translation must have. Pass rates by direction and category.
- digits: generated lines with numbers of many kinds. A line passes if every run of digits is in the translation;
  separators between digits may differ, and Devanagari digits count as the same.
- fuzz: generated inputs of any kind and length, one by one. An input passes if there is a translation or a
  HeadwiseError, within 10 s and another 10 s per 1,000 characters (`--seconds`), and if the translation has at most
  three times as many characters as the input, or 20 where that is more.

The lines and inputs are the same for the same seed, model directions and limit.
"""

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rows import Row, add_output, show, write
from sheet.cases import Case, read_cases
from sheet.checks import LANGUAGES, lost_digits
from sheet.digit_lines import digit_line
from sheet.fuzz_inputs import fuzz_input

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import HeadwiseError
from headwise.text.language.codes import Direction, short_code

SHORTEST_LIMIT = 20
"""Characters that a translation may have however short the input is: "ok" is "d'accord" in French."""
BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("tests", nargs="*", metavar="TEST", help="sheet, digits, fuzz (default: all)")
    parser.add_argument("--directions", nargs="+", metavar="XX-YY", help="only these (default: all that the model has)")
    parser.add_argument("--seed", type=int, default=0, help="of the generated lines and inputs (default: 0)")
    parser.add_argument("--limit", type=int, default=10_000, help="generated lines and inputs (default: 10,000)")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="time of a fuzzed input, and of each 1,000 characters"
    )
    parser.add_argument("--beam", type=int, default=TranslateOptions.beam)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--show", action="store_true", help="print the failures")
    add_output(parser)
    args = parser.parse_args()
    if unknown := [name for name in args.tests if name not in TESTS]:
        parser.error(f"there is no test {unknown[0]!r}: choose from {', '.join(TESTS)}")
    with Translator(args.model, engine=args.engine, device=args.device) as translator:
        for name in args.tests or TESTS:
            rows = TESTS[name](translator, args)
            about = {"benchmark": "robustness", "test": name, "model": Path(args.model).name, "beam": args.beam}
            write([{**about, "engine": translator.engine, "seed": args.seed, **row} for row in rows], args.json)


# --- the sheet ----------------------------------------------------------------------------------------


def sheet(translator: Translator, args: argparse.Namespace) -> list[Row]:
    """The test sheet, by direction and by category."""
    groups: dict[str, list[Case]] = defaultdict(list)
    known = directions(translator, args.directions)
    for case in read_cases():
        if case.direction in known or (case.source_language == "auto" and is_target(case.target_language, known)):
            groups[case.direction].append(case)
    faults: dict[Case, list[str]] = {}
    for cases in groups.values():
        source, target = known.get(cases[0].direction, ("auto", cases[0].target_language))
        texts = [case.source for case in cases]
        found = translator.translate(texts, source=source, target=target, beam=args.beam)
        for case, translation in zip(cases, found, strict=True):
            faults[case] = case.faults(translation.text)
            if args.show and faults[case]:
                print(f"{case.place} {case.direction} {case.category}: {'; '.join(faults[case])}")
                print(f"    {case.source[:200]!r} -> {translation.text[:200]!r}")
    rows = [rate("direction", name, [faults[case] for case in cases]) for name, cases in groups.items()]
    kinds = {"phrases": [f for case, f in faults.items() if case.accepted],
             "properties": [f for case, f in faults.items() if not case.accepted]}  # fmt: skip
    rows += [rate("kind", name, found) for name, found in kinds.items() if found]
    for category in dict.fromkeys(case.category for case in faults):
        rows.append(rate("category", category, [f for case, f in faults.items() if case.category == category]))
    rows.append(rate("all", "all", list(faults.values())))
    print("test sheet")
    show(rows, ["group", "name", "cases", "passed", "%"])
    return rows


def rate(group: str, name: str, faults: Sequence[Sequence[str]]) -> Row:
    passed = sum(not each for each in faults)
    return {"group": group, "name": name, "cases": len(faults), "passed": passed, "%": 100 * passed / len(faults)}


# --- digits -------------------------------------------------------------------------------------------


def digits(translator: Translator, args: argparse.Namespace) -> list[Row]:
    """Generated lines with numbers, by direction."""
    known = directions(translator, args.directions)
    rows, start = [], time.perf_counter()
    for number, (name, (source, target)) in enumerate(known.items()):
        drawn = random.Random(f"{args.seed} {name}")
        count = args.limit * (number + 1) // len(known) - args.limit * number // len(known)
        lines = [digit_line(drawn, short_code(source)) for _ in range(count)]
        passed = flagged = 0
        for chunk in chunks(lines, f"digits {name}"):
            for line, found in zip(
                chunk, translator.translate(chunk, source=source, target=target, beam=args.beam), strict=True
            ):
                lost = lost_digits(line, found.text)
                passed += not lost
                flagged += bool(lost) and bool(found.missing_numbers)
                if lost and args.show:
                    print(f"{name}: {line!r} -> {found.text!r}: {', '.join(lost)}")
        rows.append({"direction": name, "lines": count, "passed": passed, "flagged": flagged})
    rows.append({"direction": "all", **{key: sum(row[key] for row in rows) for key in ("lines", "passed", "flagged")}})
    for row in rows:
        row["%"] = 100 * row["passed"] / max(1, row["lines"])
    rows[-1]["seconds"] = time.perf_counter() - start
    print("lines in which every run of digits survives")
    show(rows, ["direction", "lines", "passed", "flagged", "%", "seconds"])
    return rows


# --- fuzz ---------------------------------------------------------------------------------------------


def fuzz(translator: Translator, args: argparse.Namespace) -> list[Row]:
    """Inputs of any kind, one by one."""
    known = list(directions(translator, args.directions).values())
    drawn = random.Random(args.seed)
    inputs = [(fuzz_input(drawn), drawn.choice(known), drawn.random() < 0.1) for _ in range(args.limit)]
    counts: Counter[str] = Counter()
    slowest, begin = 0.0, time.perf_counter()
    for chunk in chunks(inputs, "fuzz"):
        for text, (source, target), automatic in chunk:
            start = time.perf_counter()
            try:
                found = translator.translate(
                    text, source="auto" if automatic else source, target=target, beam=args.beam
                )
                what = "answers" if len(found.text) <= longest_output(text) else "too long"
                answer = found.text
            except HeadwiseError as error:
                what, answer = "refused", str(error)
            except Exception as error:
                what, answer = "crashes", repr(error)
            took = time.perf_counter() - start
            slowest = max(slowest, took)
            if took > args.seconds * (1 + len(text) / 1000):
                what = "too slow"
            counts[what] += 1
            if what in FAILURES:
                print(f"{what} after {took:.1f} s, {source}-{target}: {text[:200]!r} -> {answer[:400]!r}")
    row = {"inputs": len(inputs), **{name: counts[name] for name in ("answers", "refused", *FAILURES)}}
    row |= {"slowest": slowest, "seconds": time.perf_counter() - begin}
    print("fuzzed inputs")
    show([row], list(row))
    return [row]


FAILURES = ("too long", "too slow", "crashes")


def longest_output(text: str) -> int:
    return max(3 * len(text), SHORTEST_LIMIT)


# --- shared -------------------------------------------------------------------------------------------


def directions(translator: Translator, chosen: Sequence[str] | None) -> dict[str, Direction]:
    """The model's directions among the five languages, by their names in the sheet."""
    found = {f"{short_code(source)}-{short_code(target)}": (source, target) for source, target in translator.directions}
    known = {name: each for name, each in found.items() if all(code in LANGUAGES for code in name.split("-"))}
    kept = {name: each for name, each in known.items() if chosen is None or name in chosen}
    if not kept:
        sys.exit(f"no direction to test: the model has {', '.join(known) or 'none of the five languages'}")
    return kept


def is_target(language: str, known: dict[str, Direction]) -> bool:
    return any(name.endswith(f"-{language}") for name in known)


def chunks(items: Sequence[Any], what: str) -> Iterator[Sequence[Any]]:
    """Parts of a sequence, with a progress line on standard error."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
        done = min(start + BATCH, len(items))
        print(
            f"\r{what}: {done:,} of {len(items):,}", end="\n" if done == len(items) else "", file=sys.stderr, flush=True
        )


Test = Callable[[Translator, argparse.Namespace], list[Row]]
TESTS: dict[str, Test] = {"sheet": sheet, "digits": digits, "fuzz": fuzz}

if __name__ == "__main__":
    main()
