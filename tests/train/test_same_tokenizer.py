"""A run does not go on with another tokenizer than it was begun with, whatever happened to its prepared data."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from headwise.config import TextConfig
from headwise.data.prepare import passes as preparing
from headwise.errors import ConfigError
from headwise.text.kinds import train_tokenizer
from headwise.train.run import train
from tests.train.small_runs import run_recipe, silent, write_corpus


def test_prepared_data_that_is_made_again_must_have_the_same_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path)

    def trained(steps: int) -> Any:
        return train(run_recipe(corpus, tmp_path / "run", {"train.steps": steps}), silent)

    trained(3)
    shutil.rmtree(tmp_path / "cache")
    trained(4)  # it is trained again, and is the same

    def newer(config: TextConfig, *more: Any) -> Any:
        return train_tokenizer(dataclasses.replace(config, vocabulary=285), *more)

    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setattr(preparing, "train_tokenizer", newer)
    with pytest.raises(ConfigError, match="another tokenizer"):
        trained(5)
