"""The catalogue: which models the server has, and which of them translates a direction.

Requests name models and languages, never paths: what is not in the catalogue does not exist for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from headwise.bundled.find import BUNDLED, bundled_folder, find_model, is_model, is_published, user_models
from headwise.errors import CheckpointError, ConfigError
from headwise.models.folder.config_file import CHECKPOINTS, stored_task
from headwise.models.folder.description import Task
from headwise.serve.language_names import language_name
from headwise.serve.service_errors import UnsupportedLanguageError
from headwise.serve.workers.model_files import version_of
from headwise.text.language.codes import short_code

LOG = logging.getLogger("headwise.serve")

PIVOT = "en"
"""The language that missing directions are translated through."""


@dataclass(frozen=True)
class ServedModel:
    """A model in the catalogue."""

    name: str
    folder: Path
    version: str
    task: Task

    @property
    def kind(self) -> str:
        """What it was trained for, such as `translation`."""
        return self.task.kind

    @property
    def checkpoints(self) -> int:
        """How many checkpoints of its training are in its folder."""
        return sum(1 for _ in (self.folder / CHECKPOINTS).glob("step-*"))


@dataclass(frozen=True)
class ModelStep:
    """A translation by one model, from and to languages by its own codes."""

    model: ServedModel
    source: str | None
    target: str | None


@dataclass(frozen=True)
class Language:
    """A language that the server translates from or to."""

    code: str
    name: str
    targets: tuple[str, ...]
    """Codes of the languages that it can be translated to, itself included."""


@dataclass(frozen=True)
class Catalogue:
    """The models of the server at one moment."""

    models: tuple[ServedModel, ...] = ()
    pivots: bool = False
    """Whether directions that no model has are offered through English."""
    problems: dict[str, str] = field(default_factory=dict)
    """Models that cannot be used, and why."""

    @cached_property
    def directions(self) -> dict[tuple[str, str], ModelStep]:
        """The step of each direction, by short codes; the first model that has it translates it."""
        found: dict[tuple[str, str], ModelStep] = {}
        for model in self.models:
            for source, target in _directions(model.task):
                found.setdefault((short_code(source), short_code(target)), ModelStep(model, source, target))
        return found

    @cached_property
    def languages(self) -> dict[str, Language]:
        """All languages by their codes, with what each can be translated to."""
        codes = sorted({code for direction in self.directions for code in direction})
        return {
            code: Language(
                code,
                language_name(code),
                tuple(other for other in codes if other == code or self._reaches(code, other, self.pivots)),
            )
            for code in codes
        }

    @property
    def sources(self) -> list[str]:
        """Codes of the languages that something translates from."""
        return sorted({source for source, _ in self.directions})

    def _reaches(self, source: str, target: str, pivots: bool) -> bool:
        through = {(source, PIVOT), (PIVOT, target)}
        return (source, target) in self.directions or (pivots and through <= self.directions.keys())

    def steps(self, source: str, target: str, *, pivots: bool, model: str | None = None) -> list[ModelStep]:
        """The models that translate a direction, one after the other: none for the same language, two by pivoting."""
        if model is not None:
            return [self._named(model, source, target)]
        source, target = self.code(source), self.code(target)
        if source == target:
            return []
        if (source, target) in self.directions:
            return [self.directions[source, target]]
        if not self._reaches(source, target, pivots):
            raise UnsupportedLanguageError(
                f"{language_name(target)} ({target}) is not available as a target language from "
                f"{language_name(source)} ({source})"
            )
        return [self.directions[source, PIVOT], self.directions[PIVOT, target]]

    def code(self, language: str) -> str:
        """The code of a language that a request names; an unknown one is an error."""
        code = short_code(language.strip())
        if code not in self.languages:
            raise UnsupportedLanguageError(f"{language[:40]} is not supported")
        return code

    def model(self, name: str, kind: str = "") -> ServedModel:
        """The model of this name."""
        for model in self.models:
            if model.name == name and kind in ("", model.kind):
                return model
        known = ", ".join(model.name for model in self.models if kind in ("", model.kind))
        raise UnsupportedLanguageError(f"there is no model {name[:100]!r} here: there are {known or 'none'}")

    def _named(self, name: str, source: str, target: str) -> ModelStep:
        model = self.model(name, "translation")
        try:
            return ModelStep(model, *model.task.direction(source, target))
        except ConfigError:
            raise UnsupportedLanguageError(
                f"the model {name} does not translate from {source[:40]} to {target[:40]}"
            ) from None


def read_catalogue(models: str, *, pivots: bool, known: Catalogue | None = None) -> Catalogue:
    """The catalogue of a folder of models, or of one model (or its name); empty: the bundled and the user's."""
    found, problems = [], {}
    for name, path in _folders(models):
        try:
            if is_published(path):
                raise CheckpointError(f"convert it first: `headwise convert {path} {path.with_suffix('')}-headwise`")
            version = version_of(path)
            task, _ = stored_task(path)
            found.append(ServedModel(name, path, version, task))
        except (CheckpointError, OSError) as error:
            problems[name] = str(error)
            if known is None or known.problems.get(name) != problems[name]:
                LOG.warning("the model %s cannot be served: %s", name, error)
    made = Catalogue(tuple(found), pivots, problems)
    return known if known == made else made


def _folders(models: str) -> Iterator[tuple[str, Path]]:
    if models:
        folder = find_model(models)
        if is_model(folder):
            yield (folder.resolve().name if folder == Path(models) else models), folder
            return
        try:
            inside = sorted(folder.iterdir())
        except OSError as error:
            raise ConfigError(f"{folder}: {error.strerror}: name a folder with models") from None
        yield from ((path.name, path) for path in inside if is_model(path))
        return
    yield from user_models().items()
    try:
        yield BUNDLED, bundled_folder()
    except CheckpointError:
        return


def _directions(task: Task) -> Iterable[tuple[str, str]]:
    """Every direction of a translator whose languages are known."""
    if task.kind != "translation":
        return
    for source, target in task.directions:
        for code in (source,) if source else task.sources:
            if code and target and short_code(code) != short_code(target):
                yield code, target
