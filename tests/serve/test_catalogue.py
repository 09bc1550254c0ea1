"""The catalogue: models that come, go or are damaged, and directions through English."""

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headwise.bundled.find import BUNDLED
from headwise.errors import CheckpointError
from headwise.serve import service as service_module
from headwise.serve.catalogue import read_catalogue
from headwise.serve.service import Service
from headwise.serve.service_errors import UnsupportedLanguageError
from headwise.serve.settings import ServeSettings
from tests.serve.conftest import ready_client
from tests.taught import SOURCES, TARGETS

ASKED = {"q": SOURCES[0], "source": "en", "target": "de"}


def test_models_that_come_and_go_are_noticed(small_folder: Path, tmp_path: Path) -> None:
    empty = read_catalogue(str(tmp_path), pivots=False)
    assert not empty.directions
    shutil.copytree(small_folder, tmp_path / "five")
    one = read_catalogue(str(tmp_path), pivots=False, known=empty)
    assert [each.name for each in one.models] == ["five"]
    assert read_catalogue(str(tmp_path), pivots=False, known=one) is one
    (tmp_path / "five" / "config.json").touch()
    again = read_catalogue(str(tmp_path), pivots=False, known=one)
    assert again.models[0].version != one.models[0].version
    shutil.rmtree(tmp_path / "five")
    assert not read_catalogue(str(tmp_path), pivots=False, known=again).models
    with pytest.raises(CheckpointError, match="no such model folder"):
        read_catalogue(str(tmp_path / "none"), pivots=False)


def test_a_model_can_be_given_by_its_name(small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWISE_MODELS", str(tmp_path))
    shutil.copytree(small_folder, tmp_path / "five")
    assert [each.name for each in read_catalogue("five", pivots=False).models] == ["five"]
    assert [each.name for each in read_catalogue(BUNDLED, pivots=False).models] == [BUNDLED]


def test_a_damaged_model_costs_no_other(small_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(small_folder, tmp_path / "good")
    shutil.copytree(small_folder, tmp_path / "bad")
    (tmp_path / "bad" / "config.json").write_text('{"format": 9999, "model": {}}', encoding="utf-8")
    found = read_catalogue(str(tmp_path), pivots=False)
    assert [each.name for each in found.models] == ["good"]
    assert set(found.problems) == {"bad"}


def test_a_model_of_another_library_is_named_with_the_command_that_converts_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    found = read_catalogue(str(tmp_path), pivots=False)
    assert not found.models
    assert set(found.problems) == {"tiny.gguf", "bert"}
    assert all("headwise convert" in problem for problem in found.problems.values())


def test_names_are_looked_up_never_used_as_paths(small_folder: Path) -> None:
    found = read_catalogue(str(small_folder), pivots=False)
    for name in ("../int8", str(small_folder), "", "."):
        with pytest.raises(UnsupportedLanguageError, match="there is no model"):
            found.model(name)


def test_a_running_server_takes_a_new_model_and_forgets_a_removed_one(
    small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "LOOK_EVERY", 0.05)
    (tmp_path / "models").mkdir()
    settings = ServeSettings(models=str(tmp_path / "models"), state=str(tmp_path), workers=1, threads=1, cache=0)

    def soon(status: int) -> None:
        until = time.monotonic() + 60
        while (found := client.post("/translate", json=ASKED)).status_code != status and time.monotonic() < until:
            time.sleep(0.05)
        assert found.status_code == status, found.text

    with ready_client(Service(settings)) as client:
        assert client.get("/ready").status_code == 503
        assert client.post("/translate", json=ASKED).json() == {"error": "de is not supported"}
        shutil.copytree(small_folder, tmp_path / "new")
        (tmp_path / "new").rename(tmp_path / "models" / "new")
        soon(200)
        assert client.post("/translate", json=ASKED).json() == {"translatedText": TARGETS[0]}
        shutil.rmtree(tmp_path / "models" / "new")
        soon(400)


def test_a_missing_direction_goes_through_english_on_request(
    small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The languages of two models meet in English; the answer says so."""
    monkeypatch.setattr(service_module, "LOOK_EVERY", 3600.0)  # the folder has more directions than this catalogue
    settings = ServeSettings(models=str(small_folder), state=str(tmp_path), workers=1, threads=1)
    service = Service(settings)
    [model] = service.catalogue.models
    through = (("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en"))
    service.catalogue = replace(
        service.catalogue, models=(replace(model, task=replace(model.task, directions=through)),)
    )
    asked = {"q": TARGETS[0], "source": "de", "target": "fr"}
    with ready_client(service) as client:
        refused = client.post("/translate", json=asked)
        message = "French (fr) is not available as a target language from German (de)"
        assert (refused.status_code, refused.json()) == (400, {"error": message})
        answer = client.post("/translate", json={**asked, "pivot": True}).json()
        assert answer["pivot"] == "en"
        assert answer["translatedText"]
        own = {"texts": [TARGETS[0]], "source": "de", "target": "fr", "pivot": True}
        [made] = client.post("/api/translate", json=own).json()["translations"]
        assert made["pivot"] == "en"
        assert made["models"] == [model.name] * 2
