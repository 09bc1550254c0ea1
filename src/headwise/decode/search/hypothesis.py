"""What a search returns, and the one score that it is ranked by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headwise.errors import HeadwiseError


def length_penalty(log_probability: float, length: int, alpha: float) -> float:
    """The ranking score: log-probability / length**alpha, where length counts `<eos>`.

    Alpha 0 is the raw log-probability, 1 the mean of a token. Search, scoring and n-best lists all take it from
    here, so that a score means the same wherever it is printed.
    """
    return log_probability / length_divisor(length, alpha)


def length_divisor(length: int, alpha: float) -> float:
    """What a log-probability of so many tokens is divided by."""
    return math.pow(max(length, 1), alpha)


@dataclass(slots=True, eq=False)
class Hypothesis:
    """One translation of one sentence, as token ids.

    `tokens` hold neither `<sos>` nor `<eos>`. `token_log_probabilities` have one entry more where the hypothesis is
    `finished`: that of its `<eos>`. Not `finished` means that the length limit came before `<eos>`. Not frozen, which
    would make it slow to make: a thousand of them are what a batch waits for.
    """

    tokens: list[int]
    score: float
    log_probability: float
    token_log_probabilities: list[float]
    finished: bool


def no_way_on() -> HeadwiseError:
    """The error of a model that breaks its contract; loud, because any output would be made up."""
    return HeadwiseError("the model leaves no possible next token: all its log-probabilities are NaN or -inf")
