"""BLEU as in older papers, with both sides tokenised by Moses (and lower-cased), beside sacreBLEU's 13a.

    pip install sacremoses
    python benchmarks/tokenised_bleu.py --language de REFERENCE TRANSLATION ...

Such scores depend on the tokenizer and on the preprocessing of the reference: prefer 13a for comparisons.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

from headwise.data.read.files import numbered_lines

Prepare = Callable[[list[str]], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("translations", type=Path, nargs="+")
    parser.add_argument("--language", required=True, help="of both, for the Moses tokenizer")
    args = parser.parse_args()
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        parser.error("needs the package sacremoses: pip install sacremoses")
    moses = MosesTokenizer(args.language)

    def tokenised(lines: list[str]) -> list[str]:
        return [moses.tokenize(line, return_str=True, escape=False) for line in lines]

    def lowered(lines: list[str]) -> list[str]:
        return tokenised([line.lower() for line in lines])

    measures: dict[str, tuple[BLEU, Prepare]] = {
        "13a, cased": (BLEU(), list),
        "13a, lower-cased": (BLEU(lowercase=True), list),
        "Moses, cased": (BLEU(tokenize="none", force=True), tokenised),
        "Moses, lower-cased": (BLEU(tokenize="none", force=True), lowered),
    }
    reference = [line for _, line in numbered_lines(args.reference)]
    sums = dict.fromkeys(measures, 0.0)
    for path in args.translations:
        lines = [line for _, line in numbered_lines(path)]
        for name, (bleu, prepare) in measures.items():
            score = bleu.corpus_score(prepare(lines), [prepare(reference)]).score
            sums[name] += score
            print(f"{path.name:24} {name:20} {score:6.2f}")
    for name, total in sums.items():
        print(f"{'mean':24} {name:20} {total / len(args.translations):6.2f}")


if __name__ == "__main__":
    main()
