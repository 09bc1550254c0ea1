"""What a translator that is trained further keeps of the model it started from: its directions and shortlists."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from headwise.bundled.find import find_model
from headwise.data.prepare.result import TrainCorpus
from headwise.decode.shortlist.extend import extended_shortlists
from headwise.decode.shortlist.shortlists import find_shortlists
from headwise.errors import ConfigError
from headwise.models.folder.config_file import shortlist_path
from headwise.models.folder.description import LoadedModel, Task
from headwise.text.language.codes import Direction
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say


def check_tags(directions: Sequence[Direction], start: LoadedModel, init: str) -> None:
    """Refuse directions that the language tags of a model cannot tell apart, or languages that it has no tag for."""
    if not start.task.tags:
        if len(directions) > 1:
            raise ConfigError(f"the model in {init} has no language tags: train it in one direction only")
        return
    known = start.tokenizer.languages if start.tokenizer else ()
    new = [target for _, target in directions if target and target not in known]
    if new and not start.task.published:  # T5's are words of the text, of any language
        raise ConfigError(
            f"the model in {init} has no tag for {new[0]}, and cannot learn one (it has: {', '.join(known)}); "
            "--init none trains a new model"
        )


def continued_task(task: Task, before: Task) -> Task:
    """The task of a model that is trained on `task`: one with language tags keeps the directions it had `before`.

    `Task.how_to_ask` names a direction that it was trained in. A head that aligns words still does, and annotated
    terms are still followed.
    """
    task = replace(
        task,
        alignment_head=before.alignment_head,
        aligns_given=before.aligns_given,
        terms=task.terms or before.terms,
    )
    if not before.tags:
        sources = dict.fromkeys(source for source, _ in task.directions) if before.sources else ()
        return replace(task, tags=False, sources=tuple(sources))
    trained = dict.fromkeys(_as_before(direction, before) for direction in task.directions)
    others = [direction for direction in before.directions if direction not in trained]
    given = [source for source, _ in task.directions] if before.sources else []
    return replace(
        task,
        directions=(*others, *trained) if before.sources else (*trained, *others),
        tags=True,
        sources=tuple(dict.fromkeys((*given, *before.sources))),
        usual_tokens=max(task.usual_tokens, before.usual_tokens),
        max_tokens=max(task.max_tokens, before.max_tokens),
    )


def _as_before(direction: Direction, before: Task) -> Direction:
    """A direction as the model has it: from any source language, if it takes any."""
    anything = ("", direction[1])
    return anything if before.sources and anything in before.directions else direction


def note_new_directions(task: Task, before: Task, init: str, say: Say) -> None:
    """Report directions that are new to the model that training starts from: they may be a mistake."""
    known = [(source, target) for source, target in before.directions if target]
    new = [
        f"{source}-{target}"
        for source, target in task.directions
        if not any(pair in known for pair in ((source, target), ("", target)))
        or (before.sources and source not in before.sources)
    ]
    if known and new:
        has = ", ".join(f"{source or 'any'}-{target}" for source, target in known[:5])
        more = " ..." if len(known) > 5 else ""
        say(f"note: the model in {init} translates {has}{more}; {', '.join(new)} is new to it")


def keep_shortlists(init: str, run: Path, tokenizer: Tokenizer, corpora: Sequence[TrainCorpus]) -> None:
    """Write the shortlists of the model that training starts from, if it has any, with the new pairs' translations."""
    found = None if shortlist_path(run).is_file() else find_shortlists(find_model(init), tokenizer)
    if found is not None:
        pairs = [((each.source_language, each.target_language), each.corpus) for each in corpora]
        extended_shortlists(found, pairs).save(shortlist_path(run))
