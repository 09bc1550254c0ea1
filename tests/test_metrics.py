"""Metrics against values worked out by hand, the textbook formulas and the properties that define them."""

import math

import numpy as np
import pytest

from headwise.errors import ConfigError, DataError
from headwise.metrics import METRICS, accuracy, f1, matthews, metric, pearson, ranks, shown, spearman

PREDICTED = [1, 1, 0, 0, 1, 0, 1, 1]
WANTED = [1, 0, 0, 1, 1, 0, 1, 0]
"""3 true positives, 2 false ones, 2 true negatives, 1 false one."""


def test_values_worked_out_by_hand() -> None:
    assert accuracy(PREDICTED, WANTED) == 5 / 8
    assert f1(PREDICTED, WANTED) == pytest.approx(2 * (3 / 5) * (3 / 4) / (3 / 5 + 3 / 4))
    assert matthews(PREDICTED, WANTED) == pytest.approx((3 * 2 - 2 * 1) / math.sqrt(5 * 4 * 4 * 3))
    assert pearson([1, 2, 3, 5], [2, 4, 5, 9]) == pytest.approx(15 / math.sqrt(8.75 * 26))
    # ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4
    assert spearman([10, 20, 20, 30], [1, 3, 2, 9]) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert ranks([3, 1, 3, 3, 2]).tolist() == [4, 1, 4, 4, 2]


def test_macro_f1_is_the_mean_over_the_classes() -> None:
    predicted, wanted = [0, 1, 2, 2, 1, 0], [0, 2, 2, 2, 1, 1]
    assert f1(predicted, wanted) == pytest.approx((2 / 3 + 2 / 4 + 4 / 5) / 3)


def test_matthews_is_the_formula_of_two_classes_and_of_many() -> None:
    rng = np.random.default_rng(1)
    for classes in (2, 3, 5):
        for _ in range(20):
            wanted = rng.integers(classes, size=30)
            predicted = np.where(rng.random(30) < 0.5, wanted, rng.integers(classes, size=30))
            table = np.zeros((classes, classes))
            np.add.at(table, (wanted, predicted), 1)
            total, hits, true, named = table.sum(), np.trace(table), table.sum(1), table.sum(0)
            spread = (total**2 - (named**2).sum()) * (total**2 - (true**2).sum())
            expected = (hits * total - true @ named) / math.sqrt(spread)
            assert matthews(predicted, wanted) == pytest.approx(expected)
            if classes == 2:
                assert matthews(predicted, wanted) == pytest.approx(pearson(predicted, wanted))


def test_correlations_ignore_scale_and_ranks_ignore_any_growth() -> None:
    rng = np.random.default_rng(2)
    left, right = rng.normal(size=50), rng.normal(size=50)
    assert pearson(left, right) == pytest.approx(np.corrcoef(left, right)[0, 1])
    assert pearson(3 * left + 7, right) == pytest.approx(pearson(left, right))
    assert pearson(-left, right) == pytest.approx(-pearson(left, right))
    assert spearman(np.exp(left), right**3) == pytest.approx(spearman(left, right))
    assert spearman(left, np.exp(left)) == pytest.approx(1)


def test_ranks_are_the_mean_of_the_places_in_every_order() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(8, size=40)
    places = [(np.sum(values < each) + 1 + np.sum(values <= each)) / 2 for each in values]
    np.testing.assert_allclose(ranks(values), places)


def test_against_scipy_and_scikit_learn_where_they_are() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(4)
    left, right = rng.integers(9, size=60), rng.normal(size=60)
    assert spearman(left, right) == pytest.approx(stats.spearmanr(left, right).statistic)
    assert pearson(left, right) == pytest.approx(stats.pearsonr(left, right).statistic)


def test_what_is_perfect_is_one_and_what_is_constant_is_worth_nothing() -> None:
    wanted = [0, 1, 1, 0]
    for name, function in METRICS.items():
        assert function(wanted, wanted) == pytest.approx(1), name
    for name in ("matthews", "pearson", "spearman"):
        assert METRICS[name]([1, 1, 1, 1], wanted) == 0
    assert f1([0, 0, 0, 0], wanted) == 0


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(DataError, match="2 predictions, but 1 labels"):
        accuracy([1, 2], [1])
    with pytest.raises(DataError, match="no examples"):
        pearson([], [])
    with pytest.raises(ConfigError, match="no metric 'auc'; there are: accuracy"):
        metric("auc")


def test_shares_are_shown_in_per_cent() -> None:
    assert shown("accuracy", 0.13824) == "accuracy 13.82 %"
    assert shown("next sentence", 1.0) == "next sentence 100.00 %"
    assert shown("loss", 2.34567) == "loss 2.346"
