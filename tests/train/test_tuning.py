"""Settings of fine-tuning by the amount of data."""

from itertools import pairwise
from pathlib import Path

import pytest

from headwise.config import CorpusConfig, DataConfig, Recipe
from headwise.recipe import dotted, override, to_tables
from headwise.train.tuning import (
    BATCH_TOKENS,
    CHOSEN,
    MOST_EPOCHS,
    Amount,
    amount_of,
    tuning_settings,
)
from tests.commands import lines_file

AMOUNTS = [Amount(pairs, 60 * pairs) for pairs in (1, 30, 500, 5_000, 50_000, 500_000)]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_corpus_is_read_at_least_once_and_not_too_often(amount: Amount) -> None:
    chosen = tuning_settings(amount, {})
    steps = chosen["train.steps"]
    assert steps * BATCH_TOKENS >= amount.tokens
    assert (steps - 1) * BATCH_TOKENS < MOST_EPOCHS * amount.tokens


def test_more_data_more_steps_and_fewer_epochs() -> None:
    steps = [tuning_settings(amount, {})["train.steps"] for amount in AMOUNTS]
    epochs = [count / amount.tokens for count, amount in zip(steps, AMOUNTS, strict=True)]
    assert all(less <= more for less, more in pairwise(steps))
    assert all(less <= more * 1.05 or index < 2 for index, (more, less) in enumerate(pairwise(epochs)))


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_run_is_validated_several_times(amount: Amount) -> None:
    chosen = tuning_settings(amount, {})
    times = -(-chosen["train.steps"] // chosen["train.validate_every"])
    assert times == min(6, chosen["train.steps"]) or 3 < times <= 6
    assert chosen["train.checkpoint_every"] == chosen["train.validate_every"]
    assert 1 <= chosen["train.log_every"] <= chosen["train.validate_every"]


def test_what_is_given_wins() -> None:
    usual = tuning_settings(AMOUNTS[3], {})
    assert usual.keys() == set(CHOSEN)
    for key, value in usual.items():
        assert key not in tuning_settings(AMOUNTS[3], {key: value})
    longer = tuning_settings(AMOUNTS[3], {"train.steps": 6000})
    assert longer["train.validate_every"] == 1000
    assert "train.patience" not in longer, "who names the steps gets them"
    assert "tune.blend" not in tuning_settings(AMOUNTS[3], {"tune.lora_rank": 8})
    larger = tuning_settings(AMOUNTS[3], {"train.accumulate": 2})
    assert larger["train.steps"] == pytest.approx(usual["train.steps"] / 2, abs=1)


def test_the_keys_are_keys_of_a_recipe() -> None:
    known = dotted(to_tables(Recipe()))
    assert set(CHOSEN) <= known.keys()
    override(to_tables(Recipe()), tuning_settings(AMOUNTS[3], {}))


def test_pairs_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    file = lines_file(tmp_path / "pairs.tsv", [f"one {i}\teins und {i}" for i in range(10)])
    other = lines_file(tmp_path / "more.tsv", ["a long source of a pair\tkurz"] * 5)
    data = DataConfig(train=(CorpusConfig(pairs=(str(file),)), CorpusConfig(pairs=(str(other),))))
    assert amount_of(data) == Amount(15, 10 * len("eins und 0") + 5 * len("a long source of a pair"))
    assert amount_of(data, most=3).pairs == 4
    assert amount_of(data, most=12).pairs == 13
    both = DataConfig(train=data.train, both_directions=True)
    assert amount_of(both).pairs == 30


@pytest.mark.parametrize(("fast", "precision"), [(True, "bfloat16"), (False, "auto")])
def test_bfloat16_where_it_is_fast(fast: bool, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("headwise.train.tuning.has_fast_bfloat16", lambda name: bool(asked.append(name)) or fast)
    assert tuning_settings(AMOUNTS[3], {"train.device": "cpu"})["train.precision"] == precision
    assert tuning_settings(AMOUNTS[3], {})["train.precision"] == precision
    assert asked == ["cpu", "auto"]
