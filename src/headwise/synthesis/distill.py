"""Sequence-level distillation: a small model learns from a large one's translations (Kim and Rush, 2016).

A teacher's translations are easier to learn than human ones, because they render the same phrase in the same way: a
student gets closer to the teacher than training on the references would bring it. First the sources are chosen, then
the teacher translates them (resumable), then the student is trained like any model and compared with the teacher.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack

from headwise.config import DataConfig, Recipe
from headwise.data.read.corpus import corpus_languages, corpus_paths
from headwise.data.read.files import numbered_lines
from headwise.decode.bulk.line_job import BulkControl, BulkProgress
from headwise.decode.bulk.share import WHOLE, Share
from headwise.decode.engines.table import AUTO
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.files.atomic import write_json, write_text
from headwise.files.lock import BusyError, locked
from headwise.models.folder.description import INT8
from headwise.models.folder.load import CARD
from headwise.recipe import override, to_tables
from headwise.synthesis.compare import SPEED_TEST, Comparison, compare_models, nameable_languages
from headwise.synthesis.sources import ChosenSources, choose_sources
from headwise.synthesis.teacher_translations import say_unused, translate_sources, translation_paths
from headwise.train.one_call import Files, RunKeywords, corpus_tables, run_tables
from headwise.train.report.card import DISTILLATION, with_distillation
from headwise.train.run import Outcome, train
from headwise.train.run import check as check_run
from headwise.train.run_folder import claim
from headwise.train.start import recipe_from

FOLDER = "distilled"
"""Subfolder of the output folder for the sources and the teacher's translations."""
LOOK_EVERY = 0.2
"""Seconds between two checks whether other processes are done."""

T = TypeVar("T")


@dataclass(frozen=True)
class Distilled:
    """Outcome of a distillation."""

    outcome: Outcome | None = None
    """How the student's training ended; None: stopped before it, or another process trains."""
    comparison: Comparison | None = None
    """Teacher and student compared; only in the process that reports, after the training."""
    stopped: bool = False
    """Stopped before the training; everything is saved, and the same call continues."""


def distill(
    teacher: str | Path | Translator,
    recipe: Mapping[str, Any] | str | Path | None = None,
    *,
    test_pairs: Files | None = None,
    test_source_files: Files | None = None,
    test_target_files: Files | None = None,
    beam: int = 4,
    teacher_batch_tokens: int = 0,
    teacher_device: str = "auto",
    teacher_tokenizer: bool = False,
    keep_references: bool = False,
    share: Share = WHOLE,
    progress: Callable[[BulkProgress], None] = lambda progress: None,
    stop: Callable[[], bool] = bool,
    say: Callable[[str], None] = lambda text: None,
    **keywords: Unpack[RunKeywords],
) -> Distilled:
    """Train a small translator on the translations of a large one, and compare the two.

    The other keywords describe the student's training, as for `headwise.train`; `text` is text of the source language
    without translations. `keep_references`: the student trains on the given translations too. `teacher_tokenizer`: the
    student has the teacher's tokenizer. To continue after an interruption, repeat the call.

    Several processes share the translations. Those that a launcher started share the training too; of processes that
    were started one by one, the last to finish trains.
    """
    if not keywords.get("out"):
        raise ConfigError("no output folder: give --out DIR")
    text = keywords.pop("text", None)
    more = corpus_tables({"text": text}, "")
    if not recipe and not more and not corpus_tables(keywords, ""):
        raise ConfigError("nothing to translate: give --pairs FILE, or --source F and --target F, or --text F")
    if teacher_tokenizer:
        refuse_tokenizer_settings(keywords)
    tables = run_tables(recipe, {**keywords, "task": "translation"}, more)
    tests = {"test_pairs": test_pairs, "test_source_files": test_source_files, "test_target_files": test_target_files}
    if test := corpus_tables(tests, "test_"):
        tables = override(tables, {"data.test": test})
    translator = teacher if isinstance(teacher, Translator) else Translator(teacher, device=teacher_device)
    if translator.folder is None:
        raise ConfigError("the teacher must be a model folder, or a Translator of one")
    control = BulkControl(share, progress, stop, say)
    if teacher_tokenizer:
        tables = with_tokenizer_of(translator.folder, tables, control.note)
    options = TranslateOptions(beam=beam, batch_tokens=teacher_batch_tokens, repair=False)  # cleaning judges pairs
    return _distill(translator, with_languages(tables, translator), options, keep_references, control)


TOKENIZER_KEYS = ("kind", "vocabulary", "sample", "lossless", "split_digits", "folder")
"""Keys of the text table that choose the student's tokenizer."""


def refuse_tokenizer_settings(keywords: RunKeywords) -> None:
    """Refuse settings for a new tokenizer together with the option for the teacher's."""
    settings = keywords.get("settings", {})
    given = ["--vocabulary"] if keywords.get("vocabulary") else []
    given += [f"--set text.{key}" for key in sorted(TOKENIZER_KEYS) if f"text.{key}" in settings]
    if given:
        raise ConfigError(f"--teacher-tokenizer takes the teacher's tokenizer as it is: leave out {', '.join(given)}")


def with_tokenizer_of(teacher: Path, tables: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """The tables of a student that has the teacher's tokenizer."""
    ignored = [f"text.{key}" for key in TOKENIZER_KEYS if key in tables.get("text", {})]
    if ignored:
        say(f"note: --teacher-tokenizer: ignoring {', '.join(ignored)} of the recipe")
    return override(tables, {"text.folder": str(teacher.absolute())})


def with_languages(tables: dict[str, Any], teacher: Translator) -> dict[str, Any]:
    """The tables with the teacher's languages, unless they name others."""
    data = tables["data"]
    named = [data.get("source_language"), *(each.get("target_language") for each in (data, *data["train"]))]
    if any(named):
        return tables
    source, target = teacher.direction()
    return override(tables, {"data.source_language": source, "data.target_language": target})


def _distill(
    teacher: Translator, tables: dict[str, Any], options: TranslateOptions, keep_references: bool, control: BulkControl
) -> Distilled:
    """Choose the sources, translate them, train the student that the tables describe, and compare it."""
    say, share = control.note, control.share
    recipe = recipe_from(tables)
    check(recipe, teacher, keep_references)
    folder = Path(recipe.out).absolute() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chosen = in_turn(folder, share, lambda: choose_sources(recipe, folder, keep_references, say), control.stop)
    if chosen is None:
        return Distilled(stopped=True)
    say(chosen.report)
    translations = translation_paths(teacher, recipe.data, chosen, options)
    student = recipe_from({**tables, "data": student_data(recipe.data, chosen, translations)})
    claim(Path(recipe.out), student, lambda text: None)  # before hours of translating
    say_unused(folder, translations, say)
    if not translate_sources(teacher, recipe.data, chosen, translations, options, control):
        return Distilled(stopped=True)
    while not all(path.exists() for path in translations):  # each appears when it is complete
        if control.stop() or not share.together:
            return Distilled(stopped=share.together)
        time.sleep(LOOK_EVERY)
    if not student.data.valid:
        few = "there are no references, or too few to hold some out"
        say(f"note: {few}: validation is on held-out translations of the teacher, if there are at least 20")
    teacher.release()  # the student needs the memory
    try:
        outcome = train(student, say)
    except BusyError:
        if not share.separate:
            raise
        return Distilled()  # another process trains the student
    if outcome.interrupted or not outcome.first:
        return Distilled(outcome)
    return Distilled(outcome, compare_student(teacher, outcome, student, recipe, chosen, options.beam))


def compare_student(
    teacher: Translator, outcome: Outcome, student: Recipe, recipe: Recipe, chosen: ChosenSources, beam: int
) -> Comparison:
    """Compare teacher and student, and write the result beside the student and on its model card."""
    # The same engine for both, so that the student's gain is not that of an engine.
    device, engine = ("cpu", INT8) if teacher.engine == INT8 else (recipe.train.device, AUTO)
    first = next(number for number, lines in enumerate(chosen.sources) if lines)
    some = [text for _, text in itertools.islice(numbered_lines(chosen.source_path(first)), SPEED_TEST)]
    languages = corpus_languages(recipe.data.train[first], recipe.data)
    translator = Translator(outcome.folder, device=device, engine=engine)
    comparison = compare_models(teacher, translator, student, some, languages)
    step, card = outcome.progress.step, outcome.folder / CARD
    record = {"from": str(teacher.folder), "beam": beam, "step": step, "table": str(comparison)}
    write_json(outcome.folder / DISTILLATION, {**record, **comparison.as_dict()})
    write_text(card, with_distillation(card.read_text(encoding="utf-8"), outcome.folder, step))
    return comparison


def in_turn(folder: Path, share: Share, call: Callable[[], T], stop: Callable[[], bool]) -> T | None:
    """Call `call` in one process after the other: later ones find its files. None: stopped while waiting."""
    if share.count == 1:
        return call()
    while not stop():
        try:
            with locked(folder / ".choosing"):
                return call()
        except BusyError:
            time.sleep(LOOK_EVERY)
    return None


def check(recipe: Recipe, teacher: Translator, keep_references: bool) -> None:
    """Refuse what would only fail later."""
    check_run(recipe)
    if recipe.data.both_directions:
        raise ConfigError("distill in one direction, or give each its own corpus: data.both_directions is not possible")
    if teacher.folder and Path(recipe.out).exists() and Path(recipe.out).samefile(teacher.folder):
        raise ConfigError(f"{recipe.out} is the teacher's folder: choose another --out for the student")
    for corpus in recipe.data.train:
        teacher.direction(*nameable_languages(teacher, corpus_languages(corpus, recipe.data)))
        if not corpus.text:
            corpus_paths(corpus, recipe.data)
    if keep_references and all(corpus.text for corpus in recipe.data.train):
        raise ConfigError("--keep-references: there are none, as all training data are text of the source language")


def student_data(data: DataConfig, chosen: ChosenSources, translations: Sequence[Path]) -> dict[str, Any]:
    """The data table of the student: the teacher's translations to train on, real pairs to validate on."""
    train_corpora: list[dict[str, Any]] = []
    for number, corpus in enumerate(data.train):
        source, target = corpus_languages(corpus, data)
        languages = {"source_language": source, "target_language": target}
        shared = {**languages, "weight": corpus.weight, "licence": corpus.licence}
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
