"""Sequence-level distillation: a small model learns from a large one's translations (Kim and Rush, 2016).

What a teacher writes is easier to learn than what people wrote - the same thing is always said in the same way - so
that a student comes closer to it than training on the references would bring it. Three parts: choose the sources,
let the teacher translate them (resumable), and train as always; then compare the two.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from headwise.config import DataConfig, Recipe, to_tables
from headwise.data.prepare.fingerprint import fingerprint
from headwise.data.read.corpus import corpus_languages, corpus_paths
from headwise.data.read.files import numbered_lines
from headwise.decode.bulk import lines as bulk
from headwise.decode.bulk import partial
from headwise.decode.bulk.partial import WHOLE, Share
from headwise.decode.engines.table import AUTO
from headwise.decode.translator import TranslateOptions, Translator
from headwise.errors import ConfigError
from headwise.files.atomic import write_json, write_text
from headwise.files.lock import BusyError, locked
from headwise.models.folder.description import INT8
from headwise.models.folder.load import CARD
from headwise.synthesis.back_translate import usable
from headwise.synthesis.compare import SPEED_TEST, Comparison, compare_models, spoken
from headwise.synthesis.sources import Chosen, choose_sources
from headwise.train.job import Say
from headwise.train.report.card import DISTILLATION, with_distillation
from headwise.train.run import Outcome, train
from headwise.train.run import check as check_run
from headwise.train.run_folder import claim
from headwise.train.start import recipe_from

FOLDER = "distilled"
"""In the output folder: the sources, and what the teacher made of them."""
LOOK_EVERY = 0.2
"""Seconds between two looks whether other processes are done."""

T = TypeVar("T")


@dataclass(frozen=True)
class Distilled:
    """How far it came."""

    outcome: Outcome | None = None
    """Of the training; None: it was stopped before that, or is another process's to do."""
    comparison: Comparison | None = None
    """In the process that talks, once the student is trained."""
    stopped: bool = False


def distill(
    teacher: Translator,
    name: str,
    tables: dict[str, Any],
    *,
    options: TranslateOptions,
    keep_references: bool,
    say: Say,
    progress: Callable[[int, int], None] = lambda done, everything: None,
    stop: Callable[[], bool] = bool,
    share: Share = WHOLE,
) -> Distilled:
    """Train the student of the recipe's `tables` on the translations of the teacher, whose folder is `name`.

    The training corpora may also be plain `text` of the source language. The outcome may be that of a training that
    was stopped; the same call goes on from there. Several processes share the translations; those that work together
    share the training too, and of others whichever ends last trains.
    """
    recipe = recipe_from({**tables, "task": "translation"})
    check_run(recipe)
    check(recipe, teacher, name)
    if keep_references and all(corpus.text for corpus in recipe.data.train):
        raise ConfigError("--keep-references: there are none, as all training data are text of the source language")
    folder = Path(recipe.out).absolute() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chosen = in_turn(folder, share, lambda: choose_sources(recipe, folder, keep_references, say), stop)
    if chosen is None:
        return Distilled(stopped=True)
    say(chosen.report)
    translations = translation_paths(teacher, recipe.data, chosen, options)
    student = recipe_from({**tables, "task": "translation", "data": student_data(recipe.data, chosen, translations)})
    claim(Path(recipe.out), student, lambda text: None)  # before hours of translating
    say_unused(folder, translations, say)
    if not translate_sources(teacher, recipe.data, chosen, translations, options, progress, stop, say, share):
        return Distilled(stopped=True)
    while not all(path.exists() for path in translations):  # they appear when they are whole
        if not share.together:
            return Distilled()
        if stop():
            return Distilled(stopped=True)
        time.sleep(LOOK_EVERY)
    if not student.data.valid:
        say("note: there are no references: validation is on held-out translations of the teacher")
    teacher.release()  # its memory is the student's now
    try:
        outcome = train(student, say)
    except BusyError:
        if share.count == 1 or share.together:
            raise
        return Distilled()
    if outcome.interrupted or not outcome.first:
        return Distilled(outcome)
    # Both alike: what a student gains is not to be mixed up with what an engine does.
    alike = ("cpu", INT8) if teacher.engine == INT8 else (recipe.train.device, AUTO)
    made = Translator(outcome.folder, *alike)
    first = next(number for number, lines in enumerate(chosen.sources) if lines)
    some = [text for _, text in itertools.islice(numbered_lines(chosen.source_path(first)), SPEED_TEST)]
    comparison = compare_models(teacher, made, student, some, corpus_languages(recipe.data.train[first], recipe.data))
    step, card = outcome.progress.step, outcome.folder / CARD
    record = {"from": name, "beam": options.beam, "step": step, "table": str(comparison), **comparison.as_dict()}
    write_json(outcome.folder / DISTILLATION, record)
    write_text(card, with_distillation(card.read_text(encoding="utf-8"), outcome.folder, step))
    return Distilled(outcome, comparison)


def in_turn(folder: Path, share: Share, call: Callable[[], T], stop: Callable[[], bool]) -> T | None:
    """What `call` returns, one process after the other: what the first leaves in the folder the others find. None if
    stopped meanwhile."""
    if share.count == 1:
        return call()
    while not stop():
        try:
            with locked(folder / ".choosing"):
                return call()
        except BusyError:
            time.sleep(LOOK_EVERY)
    return None


def check(recipe: Recipe, teacher: Translator, teacher_folder: str) -> None:
    """Refuse what would only fail later."""
    if recipe.data.both_directions:
        raise ConfigError("distill in one direction, or give each its own corpus: both_directions has no teacher back")
    if Path(recipe.out).exists() and Path(recipe.out).samefile(teacher_folder):
        raise ConfigError(f"{recipe.out} is the teacher's own folder: choose another --out for the student")
    for corpus in recipe.data.train:
        teacher.direction(*spoken(teacher, corpus_languages(corpus, recipe.data)))
        if not corpus.text:
            corpus_paths(corpus, recipe.data)


def say_unused(folder: Path, paths: Sequence[Path], say: Say) -> None:
    """A note where translations were begun in another way: they would be made anew without a word."""
    wanted = {path.name for path in paths}
    there = {path.name.split(".tsv")[0] + ".tsv" for path in folder.glob("translations-*.tsv*")}
    if there - wanted and not there & wanted:
        say(
            f"note: {folder} has translations of other sources, or by another teacher or search (--beam, "
            "--keep-references): they are not used, all sources are translated anew"
        )


def made_by(teacher: Translator, options: TranslateOptions) -> dict[str, Any]:
    """What the translations depend on, beside the sources."""
    searched = {key: value for key, value in asdict(options).items() if key != "batch_tokens"}
    return {"teacher": bulk.model_digest(teacher), "search": searched}


def translation_paths(teacher: Translator, data: DataConfig, chosen: Chosen, options: TranslateOptions) -> list[Path]:
    """Where the translations of each corpus go: beside the folder of the sources, which is made again if it is damaged,
    as these are dear."""
    made = fingerprint(made_by(teacher, options))
    return [
        chosen.folder.with_name(f"translations-{chosen.folder.name}-{number}-{made}.tsv")
        for number in range(len(data.train))
    ]


def translate_sources(
    teacher: Translator,
    data: DataConfig,
    chosen: Chosen,
    paths: Sequence[Path],
    options: TranslateOptions,
    progress: Callable[[int, int], None],
    stop: Callable[[], bool],
    say: Say,
    share: Share,
) -> bool:
    """Write pairs of source and translation, a file for each corpus; what is there is used. False if stopped.

    Of several processes, whichever ends a file last writes it.
    """
    made = made_by(teacher, options)

    def sources(number: int) -> Iterator[str]:
        return (text for _, text in numbered_lines(chosen.source_path(number)))

    sizes = list(chosen.sources)
    if share.count > 1 and not share.together:
        sizes = [
            bulk.size_of(sources(number), out, share, made, options, teacher.on_gpu)[0]
            for number, out in enumerate(paths)
        ]
        say(f"{share}: {sum(sizes):,} of {sum(chosen.sources):,} sources")
    before, everything = 0, sum(sizes)
    for number, (corpus, out) in enumerate(zip(data.train, paths, strict=True)):
        if not partial.is_made(out, made) and not out.exists():
            complete = bulk.translate_lines(
                teacher,
                sources(number),
                out,
                languages=spoken(teacher, corpus_languages(corpus, data)),
                options=options,
                made=made,
                row=lambda number, text, found: f"{text}\t{usable(text, found)}",
                progress=lambda done, before=before: progress(before + done.lines, everything),  # type: ignore[misc]
                share=share,
                stop=stop,
                say=say,
            )
            if not complete:
                return False
            partial.finish_together(out, made, share)
        before += sizes[number]
    return True


def student_data(data: DataConfig, chosen: Chosen, translations: Sequence[Path]) -> dict[str, Any]:
    """The data table of the student: translations in the place of the corpora, real pairs to validate on."""
    train_corpora: list[dict[str, Any]] = []
    for number, corpus in enumerate(data.train):
        source, target = corpus_languages(corpus, data)
        shared = {
            "source_language": source,
            "target_language": target,
            "weight": corpus.weight,
            "licence": corpus.licence,
        }
        train_corpora.append({**shared, "pairs": [str(translations[number])]})
        if chosen.references[number]:
            train_corpora.append({**shared, "pairs": [str(chosen.reference_path(number))]})
    tables = {**to_tables(data), "train": train_corpora}
    if not data.valid:
        tables["valid"] = [
            {"source_language": source, "target_language": target, "pairs": [str(chosen.held_out_path(number))]}
            for number, (source, target) in enumerate(chosen.held_out)
        ]
    return tables
