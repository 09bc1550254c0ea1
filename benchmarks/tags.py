"""Inline markup and placeholders in translations: the cases of benchmarks/sheet/tags.tsv.

    python benchmarks/tags.py --model MODEL_EN_FR MODEL_FR_EN
    python benchmarks/tags.py --model MODEL --show     # with the failures

By kind of case: how many translations are well-formed (each mark of the source once, rightly nested), how many tags are
on the right words, and how many placeholders are all there, as they were. Tags whose words a translation does not
render have no reference, and are not graded.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rows import Row, add_output, show, write
from sheet.tagged import PROGRAM_STRINGS, TagCase, read_tag_cases, read_tags

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.documents.marked_text import MarkedText
from headwise.documents.translate_texts import Languages, translate_texts
from headwise.text.language.codes import short_code


@dataclass(frozen=True)
class Graded:
    """A case with its translation and what is wrong with it."""

    case: TagCase
    translation: str
    fault: str
    misplaced: list[tuple[str, str]]
    lost: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", required=True, help="models; each does the directions that it has")
    parser.add_argument("--beam", type=int, default=TranslateOptions.beam)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--show", action="store_true", help="print the failures")
    parser.add_argument("--show-all", action="store_true", help="print all translations")
    add_output(parser)
    args = parser.parse_args()
    for model in args.model:
        with Translator(model, engine=args.engine, device=args.device) as translator:
            start = time.perf_counter()
            graded = grade(translator, read_tag_cases(), args.beam)
            seconds = time.perf_counter() - start
        for each in graded:
            if args.show_all or (args.show and (each.fault or each.misplaced or each.lost)):
                show_case(each)
        rows = summary(graded)
        show(rows, ["direction", "kind", "cases", "well_formed", "tags", "right", "%", "placeholders", "intact"])
        about = {"benchmark": "tags", "model": Path(model).name, "beam": args.beam}
        write([{**about, "seconds": seconds, **row} for row in rows], args.json)


def grade(translator: Translator, cases: Sequence[TagCase], beam: int) -> list[Graded]:
    """The cases of the translator's directions, translated and graded."""
    graded: list[Graded] = []
    for source, target in translator.directions:
        name = f"{short_code(source)}-{short_code(target)}"
        chosen = [case for case in cases if case.direction == name]
        found = translate_texts(
            translator, [case.text for case in chosen], Languages(source, target), TranslateOptions(beam=beam)
        )
        for case, each in zip(chosen, found, strict=True):
            graded.append(grade_case(case, each.text))
    return graded


def grade_case(case: TagCase, found: MarkedText) -> Graded:
    marked = read_tags(found.text) if case.kind in PROGRAM_STRINGS else found
    fault = case.fault(marked)
    misplaced = [(wanted, "") for wanted in case.tags if wanted != "?"] if fault else case.misplaced(marked)
    return Graded(case, written(found), fault, misplaced, case.lost(written(found)))


def written(text: MarkedText) -> str:
    """A text with its marks as tags."""
    parts = (part if isinstance(part, str) else part.markup if part in text.marks else "" for part in text.parts)
    return "".join(map(str, parts))


def show_case(graded: Graded) -> None:
    case = graded.case
    print(f"{case.place} {case.direction} {case.kind}\n    {case.source}\n    {graded.translation}")
    if graded.fault:
        print(f"    not well-formed: {graded.fault}")
    for wanted, got in graded.misplaced:
        print(f"    on {got!r} instead of {wanted!r}")
    for lost in graded.lost:
        print(f"    lost or changed: {lost}")


def summary(graded: Sequence[Graded]) -> list[Row]:
    """The counts, by direction and kind, and in all."""
    groups: dict[tuple[str, str], list[Graded]] = {}
    for each in graded:
        for key in ((each.case.direction, each.case.kind), (each.case.direction, "all")):
            groups.setdefault(key, []).append(each)
    return [row(direction, kind, each) for (direction, kind), each in sorted(groups.items())]


def row(direction: str, kind: str, graded: Sequence[Graded]) -> Row:
    tags = sum(each.case.graded for each in graded)
    right = tags - sum(len(each.misplaced) for each in graded)
    placeholders = sum(len(set(each.case.kept)) for each in graded)
    return {
        "direction": direction,
        "kind": kind,
        "cases": len(graded),
        "well_formed": sum(not each.fault for each in graded),
        "tags": tags,
        "right": right,
        "%": 100 * right / tags if tags else None,
        "ungraded": sum(len(each.case.tags) - each.case.graded for each in graded),
        "placeholders": placeholders,
        "intact": placeholders - sum(len(each.lost) for each in graded),
    }


if __name__ == "__main__":
    main()
