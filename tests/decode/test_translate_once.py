"""`headwise.translate`: a text and a language give a translation."""

import threading
import time
from pathlib import Path

import pytest

import headwise
from headwise.decode import translate_once
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from headwise.models.folder.load import save_model
from tests.taught import SOURCES, TARGETS, taught


def test_one_call(tmp_path: Path) -> None:
    save_model(tmp_path / "both", taught(both_directions=True))
    assert str(headwise.translate(SOURCES[4], model=tmp_path / "both", to="de")) == TARGETS[4]
    found = headwise.translate(iter(TARGETS[4:6]), model=tmp_path / "both", source="de", to="en", beam=1)
    assert [each.text for each in found] == SOURCES[4:6]
    with pytest.raises(ConfigError, match="--to"):
        headwise.translate(SOURCES[4], model=tmp_path / "both")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The models that are opened, one after the other; slowly, so that threads can be in each other's way."""
    found: list[object] = []

    def watched(model: object, **options: object) -> Translator:
        found.append(model)
        time.sleep(0.1)
        return Translator(model, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(translate_once, "Translator", watched)
    translate_once._opened.cache_clear()
    return found


def test_the_model_stays_open(small_bundled: Path, opened: list[object]) -> None:
    for text, translation in zip(SOURCES[:4], TARGETS[:4], strict=True):
        assert str(headwise.translate(text, to="de")) == translation
    assert opened == [small_bundled.resolve()]
    headwise.translate(SOURCES[0], model="bundled", to="de")
    headwise.translate(SOURCES[0], model=small_bundled, to="de")
    assert len(opened) == 1
    headwise.translate(SOURCES[0], to="de", engine="plain")
    assert len(opened) == 2


def test_no_more_are_kept_than_is_said(tmp_path: Path, opened: list[object]) -> None:
    folders = [tmp_path / str(number) for number in range(translate_once.KEPT + 1)]
    for folder in folders:
        save_model(folder, taught())
    for folder in (*folders, folders[-1], folders[0]):
        headwise.translate(SOURCES[0], model=folder)
    assert opened == [*folders, folders[0]]


def test_a_model_that_has_changed_is_opened_again(tmp_path: Path, opened: list[object]) -> None:
    save_model(tmp_path / "model", taught(steps=0))
    before = headwise.translate(SOURCES[4], model=tmp_path / "model")
    save_model(tmp_path / "model", taught())
    assert str(headwise.translate(SOURCES[4], model=tmp_path / "model")) == TARGETS[4] != before.text
    assert len(opened) == 2


def test_threads_share_one_model(small_bundled: Path, opened: list[object]) -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        found[number] = str(headwise.translate(SOURCES[number], to="de"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict(enumerate(TARGETS[:6]))
    assert len(opened) == 1


def test_a_loaded_model_is_not_kept(opened: list[object]) -> None:
    for _ in range(2):
        assert str(headwise.translate(SOURCES[4], model=taught())) == TARGETS[4]
    assert len(opened) == 2
