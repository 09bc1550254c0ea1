"""The source language `auto`: each text's language is detected among those that the model translates from."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.errors import ConfigError, DataError
from headwise.models.folder.description import Task
from headwise.text.language.codes import Direction
from headwise.text.language.detect import detect, is_detectable

AUTO_SOURCE = "auto"

MOST_LOOKED_AT = 1000
"""Texts of a test set that its language is detected from."""


def source_or_auto(task: Task, source: str | None, target: str | None) -> str | None:
    """The given source language; `auto` if none is given, several lead to the target and all can be detected.

    A model whose input names the source needs to be told it: a wrong one would change the translation.
    """
    if source is not None or task.sources:
        return source
    target = task.direction(None, target)[1]
    sources = {known for known, language in task.directions if known and language == target}
    return AUTO_SOURCE if len(sources) > 1 and all(map(is_detectable, sources)) else None


def auto_direction(task: Task, target: str | None) -> Direction:
    """`auto` and the model's code of the target; an error where the model has several targets and none is named."""
    directions = [_direction(task, source, target) for source in _source_languages(task)]
    targets = {direction[1] for direction in directions if direction}
    return AUTO_SOURCE, targets.pop() if len(targets) == 1 else task.direction(None, target)[1]


def by_source(texts: Sequence[str], task: Task, target: str) -> dict[str, list[int]]:
    """Numbers of the texts by source language, among them those in the target language, which need no translation.

    Where the language is undetermined, the most probable one is taken, and for a text without words (a number, a URL)
    the first. Texts do not influence each other: in a file, a line has the same translation whatever the others are.
    """
    known = _source_languages(task)
    sources = [source for source in known if source == target or _direction(task, source, target)]
    if len(sources) < 2:
        return {sources[0] if sources else "": list(range(len(texts)))}
    candidates = [source for source in sources if is_detectable(source)]
    if not candidates:
        raise ConfigError(f"no language of this model can be detected ({task.known_directions}): name it with --from")
    first = next(source for source in sources if source != target)
    found: dict[str, list[int]] = {}
    for number, detection in enumerate(detect(texts, languages=candidates)):
        found.setdefault(next(iter(detection.probabilities), first), []).append(number)
    return found


def common_source(texts: Sequence[str], task: Task, target: str) -> str:
    """The source language of a test set: the one that most of its texts are found to be in."""
    found = by_source(texts[:MOST_LOOKED_AT], task, target)
    best = max(found, key=lambda language: len(found[language]))
    if best == target:
        raise DataError(f"the sources are in the target language, {target}: name their language with --from")
    return best


def _source_languages(task: Task) -> tuple[str, ...]:
    """Source languages of a translator that are known, each once."""
    return tuple(dict.fromkeys([*(source for source, _ in task.directions if source), *task.sources]))


def _direction(task: Task, source: str, target: str | None) -> Direction | None:
    try:
        return task.direction(source, target)
    except ConfigError:
        return None
