"""Terms of a glossary in translations: how many are rendered as requested, BLEU, and speed.

    python benchmarks/glossary.py --model MODEL_EN_FR --data FOLDER --pair en-fr
    python benchmarks/glossary.py --model MODEL_FR_EN --data FOLDER --pair fr-en --show
    python benchmarks/glossary.py --model MODEL --data FOLDER --pair en-de --base-forms --forced

The glossary comes from the references of a test set (sheet/reference_terms.py): one or two words of a sentence, and
what the reference has for them by a statistical dictionary of other corpora, so that no translator has a say in it.
One glossary serves all sentences. Two sets of sentences:

    any      sentences with a term, evenly over the test set
    lacking  sentences whose translation, by greedy search without the glossary, lacks a term: a worst case

`exact` counts terms in the form of the reference, in whatever case; `rendered` also those with another ending. With
`--base-forms` the glossary has the form of each word that is most frequent in the other corpora: then `exact` shows
whether the model inflects it as the reference does. `--forced` makes no use of annotations, which models that were
trained with the noise `terms` follow. `speed` is the CPU time without the glossary over that with it, both measured in
turn, best of some. FOLDER has en-fr/europarl.{en,fr}.xz, en-fr/tatoeba.{en,fr}.xz and
test/en-fr/newstest2014.{en,fr}.xz.
"""

import argparse
import itertools
import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rows import Row, add_output, show, write
from sheet.reference_terms import WORD, Pair, ReferenceTerms, has_words, reference_terms

from headwise import Glossary, Translation, Translator
from headwise.data.read.files import numbered_lines
from headwise.decode.glossary.rendering import MISSING
from headwise.evaluate import compare
from headwise.text.word_forms import folded, is_form_of

SETS = ["any", "lacking"]
ALIKE = 4
"""First letters that forms of a word are taken to have in common."""
CORPORA = {"europarl": 150_000, "tatoeba": 100_000}
"""Corpora of the dictionary, and how many of their pairs are taken."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--pair", default="en-fr", help="source and target language (default: en-fr)")
    parser.add_argument("--test", default="newstest2014")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--beams", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--base-forms", action="store_true", help="words in their most frequent form")
    parser.add_argument("--forced", action="store_true", help="without annotated terms")
    parser.add_argument("--show", action="store_true", help="print the sentences that lack a term with the glossary")
    add_output(parser)
    args = parser.parse_args()
    source, target = args.pair.split("-")
    pairs = read_pairs(args.data / "test", args.test, source, target)
    corpus = [pair for name, count in CORPORA.items() for pair in read_pairs(args.data, name, source, target, count)]
    made = reference_terms(pairs, corpus)
    glossary = Glossary(base_forms(made.terms, [target for _, target in corpus]) if args.base_forms else made.terms)
    rows = []
    with Translator(args.model, engine=args.engine, device=args.device) as translator:
        if args.forced:
            translator.task = replace(translator.task, terms=False)
        sets = {name: chosen_pairs(translator, made, name, args.sentences) for name in args.sets}
        for name, beam in itertools.product(sets, args.beams):
            about: Row = {"benchmark": "glossary", "model": Path(args.model).name, "pair": args.pair, "set": name}
            about |= {"beam": beam, "engine": translator.engine, "annotated": translator.task.terms}
            measured = measure(translator, made, glossary, sets[name], beam, args.repeats, show_faults=args.show)
            rows.append(about | measured)
            write(rows[-1:], args.json)
    columns = ["terms", "exact without", "exact", "rendered", "BLEU without", "BLEU", "speed", "ms/sentence"]
    show(rows, ["pair", "set", "beam", "annotated", "sentences", *columns])


def base_forms(terms: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
    """The terms with each word of their translations in the form that the texts have most often."""
    counts = Counter(word for text in texts for word in WORD.findall(text))
    related = defaultdict[str, list[str]](list)
    for word in counts:
        related[folded(word)[:ALIKE]].append(word)

    def base(word: str) -> str:
        forms = [each for each in related[folded(word)[:ALIKE]] if is_form_of(each, word)]
        return max(forms, key=lambda each: counts[each], default=word)

    return {source: WORD.sub(lambda word: base(word[0]), target) for source, target in terms.items()}


def read_pairs(folder: Path, name: str, source: str, target: str, count: int | None = None) -> list[Pair]:
    """Sentence pairs of two files, or `count` of them, evenly."""
    home = next(each for each in (folder / f"{source}-{target}", folder / f"{target}-{source}") if each.is_dir())
    sides = ([text for _, text in numbered_lines(home / f"{name}.{code}.xz")] for code in (source, target))
    pairs = list(zip(*sides, strict=True))
    return pairs if count is None else pairs[:: max(1, len(pairs) // count)][:count]


def chosen_pairs(translator: Translator, made: ReferenceTerms, name: str, count: int) -> list[Pair]:
    """Sentences with terms, or sentences whose translation lacks one."""
    pairs = made.pairs
    if name == "lacking":
        found = translator.translate([source for source, _ in pairs], beam=1)
        pairs = [
            pair
            for pair, each in zip(pairs, found, strict=True)
            if any(not has_words(each.text, target) for _, target in made.requested(pair[0]))
        ]
    return [pairs[len(pairs) * i // count] for i in range(count)] if len(pairs) > count else pairs


def measure(
    translator: Translator,
    made: ReferenceTerms,
    glossary: Glossary,
    pairs: Sequence[Pair],
    beam: int,
    repeats: int,
    *,
    show_faults: bool,
) -> Row:
    """Translate with and without the glossary, in turn."""
    sources, references = [list(side) for side in zip(*pairs, strict=True)]
    seconds, found = dict[bool, float](), dict[bool, list[Translation]]()
    for _ in range(repeats):
        for with_terms in (False, True):
            begun = time.process_time()
            found[with_terms] = translator.translate(sources, beam=beam, glossary=glossary if with_terms else None)
            seconds[with_terms] = min(seconds.get(with_terms, math.inf), time.process_time() - begun)
    wanted = [made.requested(source) for source in sources]
    total = sum(map(len, wanted))
    exact = {key: sum(map(exact_terms, wanted, [each.text for each in made])) for key, made in found.items()}
    bleu = {key: compare([each.text for each in made], references).bleu for key, made in found.items()}
    missing = sum(use.status == MISSING for each in found[True] for use in each.terms)
    if show_faults:
        for (source, reference), before, after in zip(pairs, found[False], found[True], strict=True):
            lacked = [use for use in after.terms if use.status == MISSING]
            if lacked:
                print(f"{lacked}\n    {source}\n    {reference}\n    {before}\n    {after}")
    return {
        "sentences": len(pairs),
        "terms": total,
        "exact without": 100 * exact[False] / total,
        "exact": 100 * exact[True] / total,
        "rendered": 100 * (1 - missing / sum(len(each.terms) for each in found[True])),
        "BLEU without": bleu[False],
        "BLEU": bleu[True],
        "speed": seconds[False] / seconds[True],
        "ms/sentence": 1000 * seconds[True] / len(pairs),
    }


def exact_terms(wanted: Sequence[Pair], text: str) -> int:
    """How many of the terms a translation has, in the form of the reference."""
    return sum(has_words(text, target) for _, target in wanted)


if __name__ == "__main__":
    main()
