"""Metrics of classification and regression, in NumPy."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.errors import ConfigError, DataError

Values = NDArray[Any] | Sequence[float]


def accuracy(predictions: Values, labels: Values) -> float:
    """The share of examples that are classified correctly."""
    predicted, wanted = _pair(predictions, labels)
    return float(np.mean(predicted == wanted))


def f1(predictions: Values, labels: Values) -> float:
    """Harmonic mean of precision and recall: for class 1 if the classes are 0 and 1, otherwise the mean over classes.

    A class without a correct prediction counts as 0.
    """
    predicted, wanted = _pair(predictions, labels)
    classes = np.union1d(predicted, wanted)
    positive = np.array([1]) if set(classes.tolist()) <= {0, 1} else classes
    scores = []
    for each in positive:
        hits = np.sum((predicted == each) & (wanted == each))
        named = np.sum(predicted == each) + np.sum(wanted == each)
        scores.append(2 * hits / named if named else 0.0)
    return float(np.mean(scores))


def matthews(predictions: Values, labels: Values) -> float:
    """Matthews correlation coefficient, for any number of classes; 0 if one side has a single class.

    It is the covariance of the two one-hot codings over the root of their variances, which for two classes is the
    usual formula of true and false positives and negatives.
    """
    predicted, wanted = _pair(predictions, labels)
    classes = np.union1d(predicted, wanted)
    left = (predicted[:, None] == classes).astype(np.float64)
    right = (wanted[:, None] == classes).astype(np.float64)
    left -= left.mean(0)
    right -= right.mean(0)
    return _ratio(float((left * right).sum()), float((left**2).sum()), float((right**2).sum()))


def pearson(predictions: Values, labels: Values) -> float:
    """Pearson correlation of the values; 0 if one side is constant."""
    predicted, wanted = (side.astype(np.float64) for side in _pair(predictions, labels))
    left, right = predicted - predicted.mean(), wanted - wanted.mean()
    return _ratio(float(left @ right), float(left @ left), float(right @ right))


def spearman(predictions: Values, labels: Values) -> float:
    """Spearman correlation: that of the ranks; equal values share the mean of their ranks."""
    predicted, wanted = _pair(predictions, labels)
    return pearson(ranks(predicted), ranks(wanted))


def ranks(values: Values) -> NDArray[np.float64]:
    """The rank of each value from 1, equal values sharing the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return mean


METRICS: dict[str, Callable[[Values, Values], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
}
"""All metrics by name; higher is better for each."""

SHARES = frozenset({*METRICS, "next sentence"})
"""Metrics that are at most 1, and shown in per cent."""

OF_NUMBERS = frozenset({"pearson", "spearman"})
"""Metrics that compare numbers; the others compare classes."""


def metric(name: str) -> Callable[[Values, Values], float]:
    if name not in METRICS:
        raise ConfigError(f"no metric {name!r}; there are: {', '.join(METRICS)}")
    return METRICS[name]


def shown(name: str, value: float, digits: int = 3) -> str:
    """A metric as text; shares in per cent."""
    return f"{name} {100 * value:.2f} %" if name in SHARES else f"{name} {value:.{digits}f}"


def _pair(predictions: Values, labels: Values) -> tuple[NDArray[Any], NDArray[Any]]:
    predicted, wanted = np.asarray(predictions), np.asarray(labels)
    if predicted.shape != wanted.shape or predicted.ndim != 1:
        raise DataError(f"{predicted.size} predictions, but {wanted.size} labels")
    if not wanted.size:
        raise DataError("nothing to measure: no examples")
    return predicted, wanted


def _ratio(covariance: float, left: float, right: float) -> float:
    """A correlation from sums of squares, kept between -1 and 1 despite rounding."""
    if left <= 0 or right <= 0:
        return 0.0
    return min(1.0, max(-1.0, covariance / (math.sqrt(left) * math.sqrt(right))))
