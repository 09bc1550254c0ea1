"""Comparison of two translators on the same sentences with the same search: quality, size and speed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from headwise.config import Recipe
from headwise.data.read.corpus import corpus_languages, read_corpus
from headwise.data.read.pairs import Pair
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.evaluate import Scores, compare
from headwise.models.folder.weights import parameter_count
from headwise.text.language.codes import Direction
from headwise.train.set_names import test_set_names, validation_set_name

SPEED_TEST = 500
"""Sentences whose translation is timed."""


@dataclass(frozen=True)
class ModelSpeed:
    """Size and speed of one of the two models."""

    parameters: int
    sentences_per_second: float
    engine: str


@dataclass(frozen=True)
class Comparison:
    """Teacher and student on the same sentences, with the same search."""

    scores: Mapping[str, tuple[Scores, Scores]]
    """Scores of teacher and student by test set."""
    sides: tuple[ModelSpeed, ...]
    timed: int
    """Sentences whose translation was timed."""

    def as_dict(self) -> dict[str, Any]:
        scores = {
            name: {"teacher": teacher.as_dict(), "student": student.as_dict()}
            for name, (teacher, student) in self.scores.items()
        }
        teacher, student = map(asdict, self.sides)
        return {"scores": scores, "teacher": teacher, "student": student, "timed_sentences": self.timed}

    def __str__(self) -> str:
        teacher, student = self.sides
        lines = [f"{'':28}{'teacher':>12}{'student':>12}"]
        for name, (one, other) in self.scores.items():
            lines.append(f"{f'BLEU, {name}'[:28]:28}{one.bleu:12.2f}{other.bleu:12.2f}  {one.bleu_signature}")
            lines.append(f"{f'chrF, {name}'[:28]:28}{one.chrf:12.2f}{other.chrf:12.2f}  {one.chrf_signature}")
        smaller = teacher.parameters / student.parameters
        faster = student.sentences_per_second / max(teacher.sentences_per_second, 1e-9)
        millions = [f"{side.parameters / 1e6:12.2f}" for side in self.sides]
        speeds = [f"{side.sentences_per_second:12.1f}" for side in self.sides]
        engines = [f"{side.engine:>12}" for side in self.sides]
        lines.append(f"{'million parameters':28}{''.join(millions)}  {smaller:.1f} times as small")
        lines.append(f"{'sentences/s, beam 4':28}{''.join(speeds)}  {faster:.1f} times as fast")
        lines.append(f"{'engine':28}{''.join(engines)}")
        return "\n".join(lines)


def compare_models(
    teacher: Translator, student: Translator, recipe: Recipe, sources: Sequence[str], direction: Direction
) -> Comparison:
    """Compare on the recipe's test sets, or else its validation sets; without either, only the speed on `sources`."""
    data = recipe.data
    sets: dict[str, tuple[list[Pair], Direction]] = {}
    corpora = data.test or data.valid
    languages = [corpus_languages(corpus, data) for corpus in corpora]
    names = test_set_names(data) if data.test else [validation_set_name(each, data) for each in languages]
    for name, corpus, direction_of_set in zip(names, corpora, languages, strict=True):
        pairs, _ = sets.setdefault(name, ([], direction_of_set))  # validation corpora of one direction are one set
        pairs += read_corpus(corpus, data)
    if sets:
        pairs, direction = next(iter(sets.values()))
        sources = [pair.source for pair in pairs]
    sample = list(sources[:SPEED_TEST])
    options = TranslateOptions(beam=4)
    sides = []
    found: dict[str, list[Scores]] = {name: [] for name in sets}
    for translator in (teacher, student):
        seconds = _seconds(translator, sample, direction, options)
        sides.append(ModelSpeed(parameter_count(translator.model), len(sample) / seconds, translator.engine))
        for name, (pairs, direction_of_set) in sets.items():
            source, target = nameable_languages(translator, direction_of_set)
            texts = [pair.source for pair in pairs]
            results = translator.translate(texts, source=source, target=target, options=options)
            found[name].append(compare([each.text for each in results], [pair.target for pair in pairs]))
    return Comparison({name: (one, other) for name, (one, other) in found.items()}, tuple(sides), len(sample))


def _seconds(translator: Translator, sample: list[str], direction: Direction, options: TranslateOptions) -> float:
    source, target = nameable_languages(translator, direction)
    translator.translate(sample[:8], source=source, target=target, options=options)  # warm-up
    begun = time.perf_counter()
    translator.translate(sample, source=source, target=target, options=options)
    if translator.device.type == "cuda":
        torch.cuda.synchronize(translator.device)
    return max(time.perf_counter() - begun, 1e-9)


def nameable_languages(translator: Translator, direction: Direction) -> tuple[str | None, str | None]:
    """The languages that the translator knows by name: published folders may not name theirs."""
    task = translator.task
    return (
        direction[0] if direction[0] and (task.sources or any(source for source, _ in task.directions)) else None,
        direction[1] if direction[1] and any(task.targets) else None,
    )
