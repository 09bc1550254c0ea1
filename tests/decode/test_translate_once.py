"""`headwise.translate`: a folder and a text give a translation."""

from pathlib import Path

import pytest

import headwise
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
