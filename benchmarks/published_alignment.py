"""Alignment error rate between English and French: the head that a model aligns by, and the mean over a layer's heads.

    python benchmarks/published_alignment.py --models opus-mt-en-fr opus-mt-fr-en
    python benchmarks/published_alignment.py --models bundled                        # in both directions

The reference is benchmarks/alignment_gold_en_fr.tsv: 46 pairs of tatoeba.org (CC-BY 2.0 FR), annotated with sure links
and possible ones, before any alignment of a model was seen, and used in both directions. The given translations are
aligned, by any engine, int8 included. alignment.py explains the error rate.
"""

import argparse
from pathlib import Path
from typing import Any

from alignment import error_rate, read_gold
from rows import Row, add_output, show, write

from headwise.decode.alignment import align, lettered
from headwise.decode.sentence_search import SentenceSearch
from headwise.decode.translator import Translator
from headwise.text.language.codes import Direction, short_code

GOLD = Path(__file__).parent / "alignment_gold_en_fr.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="English-French or French-English models")
    add_output(parser)
    args = parser.parse_args()
    rows: list[Row] = []
    gold = read_gold(GOLD)
    for folder in args.models:
        with Translator(folder) as translator:
            for source, target in translator.directions:
                if {short_code(source), short_code(target)} != {"en", "fr"}:
                    continue
                turned = gold if short_code(source) == "en" else [turn(*pair) for pair in gold]
                found = measured(translator, turned, (source, target))
                rows.append({"model": folder.name, "direction": f"{source}-{target}", **found})
    show(rows, ["model", "direction", "as used", "layer mean", "layer mean, punctuation apart"])
    write(rows, args.json)


def turn(source: str, target: str, *links: set[tuple[int, int]]) -> tuple[Any, ...]:
    """A pair in the other direction."""
    return target, source, *({(t, s) for s, t in each} for each in links)


def measured(translator: Translator, gold: list[Any], direction: Direction) -> Row:
    """The alignment error rates of a model in a direction, in percent."""
    sources, targets = [pair[0] for pair in gold], [pair[1] for pair in gold]
    sentences: SentenceSearch = translator._sentences
    frame = translator._framer.frame(*direction)
    ids = [translator._framer.source_ids(source, frame) for source in sources]
    used = sentences.align_texts(ids, targets, frame)
    tokenizer = translator.tokenizer
    target_ids = [[*frame.start, *tokenizer.encode_target(target)] for target in targets]
    mean = SentenceSearch(sentences.engine, tokenizer, sentences.positions, None, sentences.model)
    weights = mean.attention(ids, target_ids, frame.sos)
    words = [(tokenizer.word_ids(left), tokenizer.word_ids(right)) for left, right in zip(ids, target_ids, strict=True)]
    spelt = [
        (lettered(first, tokenizer.pieces(left)), lettered(second, tokenizer.pieces(right)))
        for (first, second), left, right in zip(words, ids, target_ids, strict=True)
    ]
    return {
        "as used": error_rate(gold, used),
        "layer mean": error_rate(gold, [align(each, *pair) for each, pair in zip(weights, words, strict=True)]),
        "layer mean, punctuation apart": error_rate(
            gold, [align(each, *pair) for each, pair in zip(weights, spelt, strict=True)]
        ),
    }


if __name__ == "__main__":
    main()
