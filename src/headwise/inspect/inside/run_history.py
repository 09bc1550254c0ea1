"""A sentence being learned: its translation by each checkpoint of a training run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from headwise.errors import ConfigError
from headwise.inspect.inside.as_json import number
from headwise.inspect.inside.one_translation import Question, translate_inside
from headwise.inspect.inside.open_inside import InsideModel, open_inside
from headwise.inspect.inside.translation_trace import sentence_of
from headwise.models.folder.run_layout import checkpoints, step_of

MOST = 24
"""The most checkpoints that are opened; of more, that many are chosen, evenly."""


def history_json(run: Path, question: Question) -> dict[str, list[dict[str, Any]]]:
    """The translation, its score and its word alignment at each checkpoint, and how likely the last one was by then."""
    folders = chosen(checkpoints(run))
    if not folders:
        raise ConfigError("this model's folder has no checkpoints: they are kept in the folder of a training run")
    models = [(step_of(folder), open_inside(folder)) for folder in folders]
    last = translate_inside(models[-1][1], question)
    given = dataclasses.replace(question, translation=last.text)
    return {"checkpoints": [_at_step(step, inside, question, given) for step, inside in models]}


def chosen(folders: list[Path]) -> list[Path]:
    """At most `MOST` of the checkpoints, evenly spread, the last one included."""
    if len(folders) <= MOST:
        return folders
    return [folders[round(index * (len(folders) - 1) / (MOST - 1))] for index in range(MOST)]


def _at_step(step: int, inside: InsideModel, question: Question, given: Question) -> dict[str, Any]:
    one, last = translate_inside(inside, question), translate_inside(inside, given)
    return {
        "step": step,
        "translation": one.text,
        "score": number(one.score),
        "alignment": [list(pair) for pair in sentence_of(one).alignment],
        "score_of_last": number(last.score),
    }
