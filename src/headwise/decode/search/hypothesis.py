"""The result of a search, and the one score that results are ranked by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headwise.errors import HeadwiseError


def length_penalty(log_probability: float, length: int, alpha: float) -> float:
    """The ranking score: log-probability / length**alpha, where length counts `<eos>`.

    Alpha 0 is the raw log-probability, 1 the mean per token. Search, scoring and n-best lists all take it from
    here, so that a score means the same wherever it is printed.
    """
    return log_probability / length_divisor(length, alpha)


def length_divisor(length: int, alpha: float) -> float:
    """The divisor of the log-probability of a hypothesis of this length."""
    return math.pow(max(length, 1), alpha)


@dataclass(slots=True, eq=False)
class Hypothesis:
    """One translation of one sentence, as token ids.

    `tokens` contain neither `<sos>` nor `<eos>`. Not `finished` means that the length limit came before `<eos>`. Not
    frozen, which would make it slow to create: a batch waits for a thousand of them.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool


def no_next_token() -> HeadwiseError:
    """The error of a model that breaks its contract; loud, because any output would be made up."""
    return HeadwiseError("the model leaves no possible next token: all its log-probabilities are NaN or -inf")
