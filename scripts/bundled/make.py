"""Make the bundled translator, from the corpora to an int8 folder with its scores, in steps that can be resumed.

    python scripts/bundled/make.py DATA OPUS WORK                              # all steps, one after the other
    python scripts/bundled/make.py DATA OPUS WORK --only tokenizer words

DATA holds the corpora (docs/bundled-model.md lists them), OPUS the folders opus-mt-en-fr and opus-mt-fr-en, and WORK
receives everything that is made. A step whose result is there is not repeated. The first five steps need a CPU only;
for the rest, one GPU.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from corpora import EVERYDAY, LANGUAGES, english_text, lines, some, thinned, tokenizer_sample, write_lines
from pairs import cross_pairs, is_faithful, openings, phrasebook, read_pairs, write_pairs

VOCABULARY = 28_000
PARLIAMENT = {"de": 750_000, "fr": 600_000, "it": 650_000}
"""Pairs of Europarl that are learnt from."""
GENERAL = {"de": 750_000, "fr": 960_000, "it": 400_000, "hi": 400_000}
"""English lines of general text that are translated into each language."""
SPEECHES = 300_000
"""English lines of the German Europarl that are translated into French; its French lines are all translated."""
AGAIN = 700_000
"""Lines of OPUS-MT's French that are translated into English again."""
ARTICLES = 350_000
"""Lines of the German Wikipedia that are translated."""
WORD_PAIRS = 500_000
"""Sentence pairs per language that single words are learnt from."""

TEACHER_BEAM = 4
"""The beam of OPUS-MT. The model itself translates greedily: half of its pairs are learnt backwards."""

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "bundled" / "student.toml"
DIRECTIONS = [pair for language in LANGUAGES for pair in (("en", language), (language, "en"))]
FRENCH = [pair for pair in DIRECTIONS if "fr" in pair]
OTHERS = [pair for pair in DIRECTIONS if "fr" not in pair]
ROUNDS = {
    1: ("train.steps=2500", "data.noise.preset=none", "data.noise.typos=0"),
    2: ("train.steps=4967", "data.noise.preset=none", "data.noise.typos=0"),
    3: ("train.steps=8945", "train.learning_rate=0.0015"),
    4: ("train.steps=14701", "train.learning_rate=0.0015"),
}
"""Settings of each round of training. The last two have noise; the rate that the recipe names is for new weights."""
LAST = max(ROUNDS)
ALIGNMENT_HEAD = (0, 7)
"""Layer and head of the decoder that link words best, by `best head` of benchmarks/alignment.py."""
SHARED = ("data", "tokenizer", "parliament", "words", "phrases", "french", "again")
"""What all rounds use, as far as it is there."""

Direction = tuple[str, str]


@dataclass(frozen=True)
class Folders:
    """Where the corpora and the teachers of French are, and where everything is made."""

    data: Path
    opus: Path
    work: Path
    settings: tuple[str, ...] = ()
    """Settings of a training (`train.steps=100`) that override its recipe."""

    def text(self, direction: Direction) -> Path:
        return self.work / "texts" / f"{'-'.join(direction)}.{direction[0]}"

    def parliament(self, language: str) -> Path:
        return self.work / "parliament" / f"en-{language}.tsv"

    def student(self, number: int) -> Path:
        return self.work / f"round-{number}" / "student"

    def round(self, number: int) -> Path:
        """The folder of a round, with links to what it learns from."""
        folder = self.work / f"round-{number}"
        folder.mkdir(exist_ok=True)
        places = {name: self.data if name == "data" else self.work / name for name in SHARED}
        if number > 1:
            places["synthetic"] = self.work / f"translations-{number - 1}"
        if number == LAST:
            places["cross"] = self.work / "cross"
        for name, place in places.items():
            if place.is_dir() and not (folder / name).is_symlink():
                (folder / name).symlink_to(place, target_is_directory=True)
        return folder


def headwise(*arguments: str | Path, inside: Path | None = None) -> None:
    subprocess.run([sys.executable, "-m", "headwise", *map(str, arguments)], check=True, cwd=inside)


# --- what needs a CPU only ---------------------------------------------------------------------------------


def make_tokenizer(at: Folders) -> None:
    """Train one tokenizer for all languages on a sample in which none of them dominates."""
    from headwise.config import TextConfig
    from headwise.text.kinds import train_tokenizer

    sample = list(tokenizer_sample(at.data))
    config = TextConfig(vocabulary=VOCABULARY, split_digits=True, sample=len(sample))
    tokenizer = train_tokenizer(config, sample, sorted(("en", *LANGUAGES)))
    folder = at.work / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder)


def make_parliament(at: Folders) -> None:
    """Choose pairs of Europarl, whose sentences were aligned by their lengths: those with the same numbers."""
    for language, most in PARLIAMENT.items():
        sides = (lines(at.data, f"en-{language}/europarl.{side}") for side in ("en", language))
        faithful = [pair for pair in zip(*sides, strict=True) if is_faithful(*pair)]
        print(f"en-{language}: {len(faithful):,} faithful pairs", flush=True)
        write_pairs(at.parliament(language), thinned(faithful, most, language))


def make_words(at: Folders) -> None:
    """Learn single words from the pairs of each language (IBM Model 1), and add what sentences open with."""
    with ProcessPoolExecutor() as pool:
        for language, words in zip(LANGUAGES, pool.map(_words, [at] * len(LANGUAGES), LANGUAGES), strict=True):
            count = write_pairs(at.work / "words" / f"en-{language}.tsv", [*words, *openings(at.data, language)])
            print(f"{count:,} words and openings of en-{language}", flush=True)


def _words(at: Folders, language: str) -> list[tuple[str, str]]:
    from headwise.config import CorpusConfig, DataConfig, TextConfig
    from headwise.data.prepare.parallel_text import PairPreparation
    from headwise.text.kinds import load_tokenizer
    from headwise.train.tasks.word_pairs import learnt_words

    folder = at.data / f"en-{language}"
    names = [*EVERYDAY, *(() if language in PARLIAMENT else ("wikipedia", "docs", "machine"))]
    corpora = [
        CorpusConfig(source=(str(folder / f"{name}.en.xz"),), target=(str(folder / f"{name}.{language}.xz"),))
        for name in names
    ]
    if language in PARLIAMENT:
        corpora.append(CorpusConfig(pairs=(str(at.parliament(language)),)))
    data = DataConfig(source_language="en", target_language=language, train=tuple(corpora), held_out=0)
    tokenizer = load_tokenizer(at.work / "tokenizer")
    cache = at.work / "cache" / f"words-{language}"
    prepared = PairPreparation.of(data, TextConfig(), cache, 1, lambda text: None, tokenizer).prepare()
    found = learnt_words(tokenizer, prepared.train, WORD_PAIRS)
    shutil.rmtree(cache)
    return [(word, other) for word, other in found if word.lower() != other.lower()]  # mostly left untranslated


def make_phrases(at: Folders) -> None:
    """Write the phrasebook as pairs of all languages."""
    for left, right, pairs in phrasebook():
        write_pairs(at.work / "phrases" / f"{left}-{right}.tsv", pairs)


def make_texts(at: Folders) -> None:
    """Gather the texts that are translated, one file per direction."""
    for language in LANGUAGES:
        english = english_text(at.data, GENERAL[language])
        other = some(at.data, f"mono/wikipedia.{language}", ARTICLES)
        for name in (f"mono/common-voice.{language}", *(f"en-{language}/{name}.{language}" for name in EVERYDAY)):
            other += lines(at.data, name)
        if language == "fr":  # the one language with a teacher
            english += thinned([left for left, _ in read_pairs(at.parliament("de"))], SPEECHES, "speeches")
            other += [right for _, right in read_pairs(at.parliament("fr"))]
        write_lines(at.text(("en", language)), dict.fromkeys(english))
        write_lines(at.text((language, "en")), dict.fromkeys(other))


# --- what needs a GPU --------------------------------------------------------------------------------------


def make_french(at: Folders) -> None:
    """Translate into and from French with OPUS-MT."""
    models = {pair: at.opus / f"opus-mt-{'-'.join(pair)}" for pair in FRENCH}
    _translate(at, at.work / "french", models, TEACHER_BEAM)


def make_again(at: Folders) -> None:
    """Translate OPUS-MT's French into English again: there is little other French text."""
    inside = replace(at, work=at.work / "again")
    french = [french for _, french in read_pairs(at.work / "french" / "en-fr.tsv")]
    write_lines(inside.text(("fr", "en")), thinned(french, AGAIN, "again"))
    _translate(inside, inside.work, {("fr", "en"): at.opus / "opus-mt-fr-en"}, TEACHER_BEAM)


def make_student(at: Folders, round: int) -> None:
    """Train the model on what there is by now; each round goes on from the weights of the one before."""
    folder = write_recipe(at, round)
    start = ("--init", at.student(round - 1), "--set", "text.folder=") if round > 1 else ()
    settings = (*ROUNDS[round], *at.settings)
    headwise("train", "student.toml", "--out", "student", *start, "--set", *settings, inside=folder)


def write_recipe(at: Folders, round: int) -> Path:
    """Write the recipe of a round into its folder: without the corpora that are made later.

    The model of the first round is weak: what it translates is only learnt in the direction of what people wrote.
    """
    folder = at.round(round)
    blocks = []
    for block in RECIPE.read_text(encoding="utf-8").split("\n\n"):
        made = re.search(r'^pairs = "(.*)"$', block, re.MULTILINE)
        if made is None or (folder / made[1]).exists():
            blocks.append(_only_back(block) if round == 2 and made and made[1].startswith("synthetic/") else block)
    text = "\n\n".join(blocks).replace("[data]\n", '[data]\nfolder = "."\ncache = "cache"\n')
    (folder / "student.toml").write_text(text, encoding="utf-8")
    return folder


def _only_back(block: str) -> str:
    """The corpus in one direction only: into the language that people wrote."""
    weights = "weight = 0\nreverse_weight = 1" if '"synthetic/en-' in block else "reverse_weight = 0"
    return "\n".join([line for line in block.split("\n") if "weight" not in line] + [weights])


def make_translations(at: Folders, round: int) -> None:
    """Translate into and from the other languages with the model of a round: in the first one every second line."""
    folder, models = at.work / f"translations-{round}", dict.fromkeys(OTHERS, at.student(round))
    if round == 1:
        for pair in OTHERS:
            text = at.text(pair).read_text(encoding="utf-8").split("\n")[:-1]
            write_lines(replace(at, work=folder).text(pair), text[::2])
        at = replace(at, work=folder)
    _translate(at, folder, models)


def make_cross(at: Folders) -> None:
    """Make pairs of two languages other than English."""
    for left, right, found in cross_pairs(at.data, at.work, f"translations-{LAST - 1}"):
        print(f"{left}-{right}: {write_pairs(at.work / 'cross' / f'{left}-{right}.tsv', found):,} pairs", flush=True)


def _translate(at: Folders, folder: Path, models: dict[Direction, Path], beam: int = 1) -> None:
    from translated import translate_texts  # PyTorch is needed from here on

    translate_texts({pair: at.text(pair) for pair in models}, models, folder, beam)


def make_int8(at: Folders) -> None:
    """Convert the weights to int8, and name the head that aligns words."""
    from headwise.models.folder.config_file import load_description, save_description

    headwise("convert", at.student(LAST), at.work / "unaligned", "--precision", "int8")
    described = load_description(at.work / "unaligned")
    task = replace(described.task, alignment_head=ALIGNMENT_HEAD, aligns_given=True)
    save_description(at.work / "unaligned", replace(described, task=task))
    (at.work / "unaligned").rename(at.work / "int8")


def make_scores(at: Folders) -> None:
    """Measure the model of each round, the int8 model and OPUS-MT on all test sets, with beam 4."""
    from headwise import Translator
    from headwise.evaluate import evaluate

    models = {f"student-{round}": at.student(round) for round in ROUNDS}
    models |= {"int8": at.work / "int8"} | {path.name: path for path in sorted(at.opus.glob("opus-mt-*"))}
    results: dict[str, dict[str, dict[str, object]]] = {}
    for name, folder in models.items():
        opus = name.startswith("opus")
        translator = Translator(folder)
        for source, target in [pair for pair in DIRECTIONS if not opus or name.endswith("-".join(pair))]:
            for test in ("newstest2014", "tatoeba-half1"):
                pair = f"en-{target if source == 'en' else source}"
                sides = [list(lines(at.data, f"test/{pair}/{test}.{language}")) for language in (source, target)]
                if not sides[0]:
                    continue
                scores, _ = evaluate(translator, *sides, *((None, None) if opus else (source, target)))
                results.setdefault(name, {})[f"{source}-{target} {test}"] = scores.as_dict()
                print(name, f"{source}-{target}", test, f"BLEU {scores.bleu:.2f} chrF {scores.chrf:.2f}", flush=True)
        translator.close()
    (at.work / "scores.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


@dataclass(frozen=True)
class Step:
    """One step: its function, and the file or folder that is there when it is done."""

    make: Callable[[Folders], None]
    result: str


def _trained(round: int) -> Step:
    return Step(partial(make_student, round=round), f"round-{round}/student/scores.json")


def _translated(round: int) -> Step:
    return Step(partial(make_translations, round=round), f"translations-{round}/hi-en.tsv")


STEPS = {
    "tokenizer": Step(make_tokenizer, "tokenizer/tokenizer.json"),
    "parliament": Step(make_parliament, "parliament/en-it.tsv"),
    "words": Step(make_words, "words/en-hi.tsv"),
    "phrases": Step(make_phrases, "phrases/it-hi.tsv"),
    "texts": Step(make_texts, "texts/hi-en.hi"),
    "student-1": _trained(1),
    "french": Step(make_french, "french/fr-en.tsv"),
    "translations-1": _translated(1),
    "student-2": _trained(2),
    "again": Step(make_again, "again/fr-en.tsv"),
    "translations-2": _translated(2),
    "student-3": _trained(3),
    "translations-3": _translated(3),
    "cross": Step(make_cross, "cross/it-hi.tsv"),
    "student-4": _trained(4),
    "int8": Step(make_int8, "int8/config.json"),
    "scores": Step(make_scores, "scores.json"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the corpora")
    parser.add_argument("opus", type=Path, help="opus-mt-en-fr and opus-mt-fr-en")
    parser.add_argument("work", type=Path, help="what is made")
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS), help="these steps (default: all)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of a training")
    args = parser.parse_args()
    at = Folders(args.data.resolve(), args.opus.resolve(), args.work.resolve(), tuple(args.set))
    at.work.mkdir(parents=True, exist_ok=True)
    for name in args.only:
        step, start = STEPS[name], time.monotonic()
        if (at.work / step.result).exists():
            print(f"{name}: already there", flush=True)
            continue
        step.make(at)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
