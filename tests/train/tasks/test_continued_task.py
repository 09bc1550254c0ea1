"""A translator that is trained further keeps what it could do: its directions, and the words of its shortlists."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headwise
from headwise.decode.shortlist.shortlists import Shortlist, Shortlists, find_shortlists
from headwise.errors import ConfigError
from headwise.models.folder.description import Task
from headwise.models.folder.load import save_model
from headwise.train.tasks.continued_task import continued_task, note_new_directions
from tests.commands import lines_file
from tests.taught import PAIRS, SOURCES, TARGETS, taught

MANY = Task(directions=(("en", "fr"), ("de", "en"), ("en", "de")), tags=True, usual_tokens=90, max_tokens=100)
ANY = Task(directions=(("", "de"), ("", "en"), ("", "fr")), tags=True, sources=("de", "en", "fr"))
ONE = Task(directions=(("en", "de"),), usual_tokens=50, max_tokens=120)


def test_a_model_with_tags_keeps_its_directions() -> None:
    after = continued_task(ONE, MANY)
    assert set(after.directions) == set(MANY.directions)
    assert after.tags
    assert after.how_to_ask == " --to de", "the direction that it was trained in"
    assert (after.usual_tokens, after.max_tokens) == (90, 120)
    assert after.direction("en", "fr") == ("en", "fr")


def test_a_new_direction_is_added() -> None:
    after = continued_task(Task(directions=(("fr", "de"),)), MANY)
    assert set(after.directions) == {*MANY.directions, ("fr", "de")}


def test_a_model_without_tags_has_the_direction_it_is_trained_in() -> None:
    assert continued_task(ONE, Task(directions=(("en", "fr"),))) == ONE


def test_a_model_that_follows_annotated_terms_still_does() -> None:
    assert continued_task(ONE, replace(MANY, terms=True)).terms
    assert continued_task(replace(ONE, terms=True), MANY).terms
    assert not continued_task(ONE, MANY).terms


def test_a_model_that_takes_any_source_keeps_all() -> None:
    after = continued_task(ONE, ANY)
    assert set(after.directions) == set(ANY.directions)
    assert set(after.sources) == set(ANY.sources)
    assert after.how_to_ask == " --from en --to de"
    for source, target in (("en", "de"), ("de", "fr"), ("fr", "en")):
        assert after.direction(source, target) == (source, target)
    more = continued_task(Task(directions=(("it", "de"),)), ANY)
    assert more.direction("it", "de") == ("it", "de")


def test_new_directions_are_noted() -> None:
    said: list[str] = []
    note_new_directions(ONE, MANY, "bundled", said.append)
    assert not said
    note_new_directions(Task(directions=(("fr", "de"),)), MANY, "bundled", said.append)
    assert said == ["note: the model in bundled translates en-fr, de-en, en-de; fr-de is new to it"]


def test_a_language_without_a_tag_is_refused_before_anything_is_prepared(tmp_path: Path) -> None:
    save_model(tmp_path / "start", taught(both_directions=True))
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS])
    said: list[str] = []
    with pytest.raises(ConfigError, match=r"start has no tag for es, and cannot learn one \(it has: de, en\)"):
        headwise.train(
            init=tmp_path / "start", pairs=pairs, source="en", target="es", out=tmp_path / "run", say=said.append
        )
    assert not said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("rate", "worse"), [(1e-30, False), (10.0, True)])
def test_a_result_that_is_worse_than_its_start_is_noted(tmp_path: Path, rate: float, worse: bool) -> None:
    save_model(tmp_path / "start", taught(both_directions=True))
    said: list[str] = []
    headwise.train(
        init=tmp_path / "start",
        pairs=lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS]),
        source="en",
        target="de",
        out=tmp_path / "run",
        device="cpu",
        settings={"train.steps": 2, "train.learning_rate": rate, "train.validate_bleu": False, "data.held_out": 1},
        say=said.append,
    )
    assert any("validation was better before training (loss " in line for line in said) == worse


def test_a_run_keeps_directions_and_shortlists(tmp_path: Path) -> None:
    loaded = taught(both_directions=True)
    assert loaded.tokenizer is not None
    save_model(tmp_path / "start", loaded)
    size = loaded.tokenizer.size
    table = Shortlist(np.arange(size + 1), np.arange(size), np.arange(4), pairs=3)  # each token translates itself
    tables = {("en", "de"): table, ("de", "en"): table}
    Shortlists(loaded.tokenizer, tables).save(tmp_path / "start" / "shortlist.safetensors")
    pairs = lines_file(tmp_path / "pairs.tsv", [f"{source}\t{target}" for source, target in PAIRS])
    headwise.train(
        init=tmp_path / "start",
        pairs=pairs,
        source="en",
        target="de",
        out=tmp_path / "run",
        device="cpu",
        settings={"train.steps": 2, "train.learning_rate": 1e-30, "data.held_out": 1},
        say=lambda text: None,
    )
    translator = headwise.Translator(tmp_path / "run", device="cpu")
    assert set(translator.directions) == {("en", "de"), ("de", "en")}
    assert translator.translate(SOURCES[0], source="en", target="de").text == TARGETS[0]
    assert translator.translate(TARGETS[0], source="de", target="en").text == SOURCES[0]
    kept = find_shortlists(tmp_path / "run", loaded.tokenizer)
    assert kept is not None
    assert kept.tables["de", "en"].targets.tolist() == table.targets.tolist()
    token, meant = loaded.tokenizer.encode("cat")[0], loaded.tokenizer.encode("Katze")[0]
    begin, end = kept.tables["en", "de"].offsets[token : token + 2]
    assert meant in kept.tables["en", "de"].targets[begin:end]
