"""Models by name: the bundled one, and those in the user's models folder."""

import json
import os
import sys
from pathlib import Path

import pytest

from headwise.bundled import find
from headwise.bundled.find import BUNDLED, bundled_folder, find_model, is_model, models_folder, user_models
from headwise.errors import CheckpointError


def model(folder: Path, config: object = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"format": 1, "model": {}} if config is None else config))
    return folder


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's models folder with two models, and a bundled model; the current folder is empty."""
    monkeypatch.setenv("HEADWISE_MODELS", str(tmp_path / "mine"))
    monkeypatch.setattr(find, "FOLDER", model(tmp_path / "in-the-package"))
    model(tmp_path / "mine" / "medical")
    model(tmp_path / "mine" / "legal", {"model_type": "marian"})
    (tmp_path / "far" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "far" / "here")
    return tmp_path / "mine"


def test_a_name_is_a_folder(mine: Path) -> None:
    assert find_model("medical") == find_model(Path("medical")) == mine / "medical"
    assert find_model(BUNDLED) == bundled_folder() == mine.parent / "in-the-package"
    assert list(user_models()) == ["legal", "medical"]


def test_an_existing_path_wins(mine: Path) -> None:
    for name in ("medical", BUNDLED):
        Path(name).mkdir()
        assert find_model(name) == Path(name)
    assert find_model(mine / "legal") == mine / "legal"
    assert find_model("") == Path()


def test_a_checkpoint_follows_the_name_of_its_run(mine: Path) -> None:
    step = mine / "medical" / "checkpoints" / "step-00000200"
    step.mkdir(parents=True)
    assert find_model("medical/checkpoints/step-00000200") == step


@pytest.mark.parametrize("path", ["../in-the-package", "medical/../../in-the-package"])
def test_names_stay_within_the_folder(mine: Path, path: str) -> None:
    assert (mine / path).exists()
    with pytest.raises(CheckpointError, match="no such model folder"):
        find_model(path)


def test_an_unknown_name_is_told_what_is_near(mine: Path) -> None:
    with pytest.raises(CheckpointError, match=r"medicle: .*did you mean medical\? `headwise models` lists"):
        find_model("medicle")
    with pytest.raises(CheckpointError, match="did you mean bundled"):
        find_model("bundeld")
    with pytest.raises(CheckpointError, match=r"no model of this name\. `headwise models` lists") as error:
        find_model("quite-another")
    assert "did you mean" not in str(error.value)
    with pytest.raises(CheckpointError) as error:
        find_model(mine / "nowhere")  # an absolute path is no name
    assert str(error.value) == f"{mine / 'nowhere'}: no such model folder"


def test_a_name_of_the_hub(mine: Path) -> None:
    with pytest.raises(CheckpointError, match=r"Nothing is downloaded.*hf download Helsinki-NLP/opus-mt-en-de"):
        find_model("Helsinki-NLP/opus-mt-en-de")
    downloaded = model(mine / "Helsinki-NLP" / "opus-mt-en-de")
    assert find_model("Helsinki-NLP/opus-mt-en-de") == downloaded


def test_an_installation_without_the_model(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "FOLDER", mine / "missing")
    for call in (bundled_folder, lambda: find_model(BUNDLED)):
        with pytest.raises(CheckpointError, match="this installation of Headwise has no bundled model"):
            call()


def test_what_is_a_model(tmp_path: Path) -> None:
    assert is_model(model(tmp_path / "ours"))
    assert is_model(model(tmp_path / "theirs", {"architectures": ["MarianMTModel"]}))
    assert not is_model(model(tmp_path / "project", {"format": "tabs"}))
    assert not is_model(model(tmp_path / "list", ["format", "model"]))
    assert not is_model(tmp_path)
    broken = model(tmp_path / "broken")
    (broken / "config.json").write_text("{")
    assert not is_model(broken)
    (tmp_path / "smollm2.gguf").touch()
    assert is_model(tmp_path / "smollm2.gguf")


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.local/share/headwise/models"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/headwise/models"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "HOME/Library/Application Support/headwise/models"),
        ("win32", {}, "HOME/AppData/Local/headwise/models"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/headwise/models"),
        ("linux", {"HEADWISE_MODELS": "/mine"}, "/mine"),
    ],
)
def test_where_the_folder_is(
    platform: str, variables: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HEADWISE_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert models_folder() == Path(expected.replace("HOME", str(tmp_path)))
    assert user_models() == {}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(mine: Path) -> None:
    mine.chmod(0)
    try:
        assert user_models() == {}
    finally:
        mine.chmod(0o700)
