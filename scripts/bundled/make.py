"""Make the bundled translator, from the corpora to an int8 folder with its scores, in steps that can be resumed.

    python scripts/bundled/make.py DATA OPUS WORK                              # all steps, one after the other
    python scripts/bundled/make.py DATA OPUS WORK --only tokenizer words

DATA holds the corpora (docs/bundled-model.md lists them), OPUS the folders opus-mt-en-fr and opus-mt-fr-en, and WORK
receives everything that is made. A step whose result is there is not repeated. The first five steps need a CPU only;
for the rest, one GPU.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from corpora import EVERYDAY, LANGUAGES, english_text, lines, some, thinned, tokenizer_sample, write_lines
from pairs import cross_pairs, good_pairs, is_faithful, openings, phrasebook, read_pairs, write_pairs

VOCABULARY = 28_000
PARLIAMENT = {"de": 750_000, "fr": 400_000, "it": 650_000}
"""Pairs of Europarl that are learnt from."""
GENERAL = {"de": 450_000, "fr": 850_000, "it": 350_000, "hi": 350_000}
"""English lines of general text that are translated into each language."""
SPEECH = 150_000
"""Lines of Europarl that OPUS-MT translates in each direction, beside what people translated."""
ARTICLES = 250_000
"""Lines of the German Wikipedia that are translated."""
WORD_PAIRS = 500_000
"""Sentence pairs per language that single words are learnt from."""
PROCESSES = 7
"""Translating processes on one GPU: while one reads text, another computes."""
LINES_PER_PROCESS = 200_000

RECIPES = Path(__file__).resolve().parents[2] / "recipes" / "bundled"
DIRECTIONS = [pair for language in LANGUAGES for pair in (("en", language), (language, "en"))]
FRENCH = [pair for pair in DIRECTIONS if "fr" in pair]
OTHERS = [pair for pair in DIRECTIONS if "fr" not in pair]
LAST = 3
"""The last round: longer training of the student, with what the second teacher made."""
SHARED = ("data", "tokenizer", "parliament", "words", "phrases", "again")
"""What all rounds use."""

BACK = """
[[data.train]]
source_language = "en"
target_language = "{language}"
pairs = "back/en-{language}.tsv"
weight = 0
reverse_weight = 1

[[data.train]]
source_language = "en"
target_language = "{language}"
pairs = "back/{language}-en.tsv"
reverse_weight = 0
"""
"""The translations of the first round, as corpora of the second teacher: it learns to write what people wrote."""

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

    def round(self, number: int) -> Path:
        """The folder of a round, with links to what all rounds use."""
        folder = self.work / f"round-{number}"
        folder.mkdir(exist_ok=True)
        for name in SHARED:
            link = folder / name
            if not link.is_symlink():
                link.symlink_to(self.data if name == "data" else self.work / name, target_is_directory=True)
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
        write_pairs(at.work / "parliament" / f"en-{language}.tsv", thinned(faithful, most, language))


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
        corpora.append(CorpusConfig(pairs=(str(at.work / "parliament" / f"en-{language}.tsv"),)))
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
        if language == "fr":
            spoken, speech = (read_pairs(at.work / "parliament" / f"en-{code}.tsv") for code in ("de", "fr"))
            english += [text for text, _ in thinned(spoken, SPEECH, "english")]
            other += [text for _, text in thinned(speech, SPEECH, "french")]
        write_lines(at.text(("en", language)), dict.fromkeys(english))
        write_lines(at.text((language, "en")), dict.fromkeys(other))


# --- what needs a GPU --------------------------------------------------------------------------------------


def make_french(at: Folders) -> None:
    """Translate into and from French with OPUS-MT."""
    _translate(at, at.work / "french", {pair: at.opus / f"opus-mt-{'-'.join(pair)}" for pair in FRENCH})


def make_again(at: Folders) -> None:
    """Translate OPUS-MT's French into English again: there is little other French text."""
    inside = replace(at, work=at.work / "again")
    write_lines(inside.text(("fr", "en")), (french for _, french in read_pairs(at.work / "french" / "en-fr.tsv")))
    _translate(inside, inside.work, {("fr", "en"): at.opus / "opus-mt-fr-en"})


def make_back(at: Folders) -> None:
    """Translate with the model of the first round, for the teacher of the second."""
    _translate(at, at.round(2) / "back", dict.fromkeys(OTHERS, at.round(1) / "student"))


def make_teacher(at: Folders, round: int) -> None:
    """Train the teacher of German, Italian and Hindi; in the second round on the first one's translations too."""
    recipe = (RECIPES / "teacher.toml").read_text(encoding="utf-8")
    if round > 1:
        recipe += "".join(BACK.format(language=language) for language in LANGUAGES if language != "fr")
    _train(at, round, "teacher", recipe)


def make_translations(at: Folders, round: int) -> None:
    """Translate into and from the other languages with the teacher."""
    _translate(at, at.round(round) / "synthetic", dict.fromkeys(OTHERS, at.round(round) / "teacher"))


def make_cross(at: Folders, round: int) -> None:
    """Make pairs of two languages other than English."""
    folder = at.round(round)
    for direction in FRENCH:
        name = f"{'-'.join(direction)}.tsv"
        (folder / "synthetic" / name).symlink_to(at.work / "french" / name)
    for left, right, found in cross_pairs(at.data, folder):
        print(f"{left}-{right}: {write_pairs(folder / 'cross' / f'{left}-{right}.tsv', found):,} pairs", flush=True)


def make_student(at: Folders, round: int) -> None:
    """Train the small model on the corpora and on what the teachers translated; each round goes on from the last."""
    for name in ("synthetic", "cross"):
        link = at.round(round) / name
        if not link.exists():  # the last round has the teacher of the one before
            link.symlink_to(at.round(round - 1) / name, target_is_directory=True)
    recipe = (RECIPES / "student.toml").read_text(encoding="utf-8")
    start = ("--init", at.round(round - 1) / "student", "--set", "text.folder=") if round > 1 else ()
    _train(at, round, "student", recipe, *start)


def _train(at: Folders, round: int, name: str, recipe: str, *start: str | Path) -> None:
    folder = at.round(round)
    path = folder / f"{name}.toml"
    path.write_text(recipe, encoding="utf-8")
    settings = ("--set", "data.folder=.", "--set", "data.cache=cache", *(f"--set={each}" for each in at.settings))
    headwise("train", path, "--out", name, *start, *settings, inside=folder)


def _translate(at: Folders, folder: Path, models: Mapping[Direction, Path]) -> None:
    """Translate the texts of these directions greedily, in several processes, and keep the good pairs."""
    folder.mkdir(exist_ok=True)
    jobs = []
    for direction, model in models.items():
        with at.text(direction).open("rb") as stream:
            count = sum(1 for _ in stream)
        parts = -(-count // LINES_PER_PROCESS)
        jobs += [(direction, model, part, parts) for part in range(1, parts + 1)]

    def translate(job: tuple[Direction, Path, int, int]) -> None:
        (source, target), model, part, parts = job
        languages = () if (source, target) in FRENCH else ("--from", source, "--to", target)
        files = ("--input", at.text((source, target)), "--output", _translated(folder, (source, target)))
        shard = ("--shard", f"{part}/{parts}") if parts > 1 else ()
        how = ("--beam", "1", "--scores", "--no-repair")  # what a repair would concern is dropped
        headwise("translate", "--quiet", "--model", model, *languages, *files, *how, *shard)

    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(translate, jobs))
    with ProcessPoolExecutor() as processes:
        for report in processes.map(partial(_keep_good, at, folder), models):
            print(report, flush=True)


def _translated(folder: Path, direction: Direction) -> Path:
    return folder / f"{'-'.join(direction)}.{direction[1]}"


def _keep_good(at: Folders, folder: Path, direction: Direction) -> str:
    """Write the good pairs of a direction, English first: they are trained in both directions."""
    texts = at.text(direction).read_text(encoding="utf-8").split("\n")[:-1]
    found = good_pairs(texts, _translated(folder, direction))
    ordered = found if direction[0] == "en" else ((other, text) for text, other in found)
    name = "-".join(direction)
    return f"{name}: {write_pairs(folder / f'{name}.tsv', ordered):,} of {len(texts):,} translations kept"


def make_int8(at: Folders) -> None:
    """Convert the weights to int8."""
    headwise("convert", at.round(LAST) / "student", at.work / "int8", "--precision", "int8")


def make_scores(at: Folders) -> None:
    """Measure the teachers, the students and the int8 model on all test sets, with beam 4."""
    from headwise import Translator
    from headwise.evaluate import evaluate

    models = {f"teacher-{round}": at.round(round) / "teacher" for round in range(1, LAST)}
    models |= {f"student-{round}": at.round(round) / "student" for round in range(1, LAST + 1)}
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


def _round(number: int) -> dict[str, Step]:
    """The steps of a round."""
    made = f"round-{number}"
    return {
        f"teacher-{number}": Step(partial(make_teacher, round=number), f"{made}/teacher/scores.json"),
        f"translations-{number}": Step(partial(make_translations, round=number), f"{made}/synthetic/hi-en.tsv"),
        f"cross-{number}": Step(partial(make_cross, round=number), f"{made}/cross/it-hi.tsv"),
        f"student-{number}": Step(partial(make_student, round=number), f"{made}/student/scores.json"),
    }


STEPS = {
    "tokenizer": Step(make_tokenizer, "tokenizer/tokenizer.json"),
    "parliament": Step(make_parliament, "parliament/en-it.tsv"),
    "words": Step(make_words, "words/en-hi.tsv"),
    "phrases": Step(make_phrases, "phrases/it-hi.tsv"),
    "texts": Step(make_texts, "texts/hi-en.hi"),
    "french": Step(make_french, "french/fr-en.tsv"),
    "again": Step(make_again, "again/fr-en.tsv"),
    **_round(1),
    "back": Step(make_back, "round-2/back/hi-en.tsv"),
    **_round(2),
    f"student-{LAST}": Step(partial(make_student, round=LAST), f"round-{LAST}/student/scores.json"),
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
