"""What a search returns, what it carries while it runs, and the one score both are ranked by."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor


def length_penalty(log_probability: float, length: int, alpha: float) -> float:
    """The ranking score: log-probability / length**alpha, where length counts `<eos>`.

    Alpha 0 is the raw log-probability, 1 the mean of a token. Search, scoring and n-best lists all come
    through here, so that a score means the same wherever it is printed.
    """
    return log_probability / math.pow(max(length, 1), alpha)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation of one sentence, as token ids.

    `tokens` hold neither `<sos>` nor `<eos>`. `token_log_probabilities` and the rows of `attention` have one
    entry more where the hypothesis is `finished`: that of its `<eos>`. `attention` is on the CPU and as wide
    as the batch's longest source. Not `finished` means that the length limit came before `<eos>`.
    """

    tokens: list[int]
    score: float
    log_probability: float
    token_log_probabilities: list[float]
    attention: Tensor | None
    finished: bool


@dataclass(frozen=True, eq=False)
class Trace:
    """The hypotheses of all rows of a running search. Rows start together, so all are equally long."""

    tokens: Tensor  # [R, T]
    log_probabilities: Tensor  # [R, T]
    totals: Tensor  # [R], the running sum: kept, so that ranking and reporting use the same float
    attention: Tensor | None  # [R, T, S]

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> Trace:
        """No token yet."""
        return cls(
            tokens=torch.empty(rows, 0, dtype=torch.long, device=device),
            log_probabilities=torch.empty(rows, 0, device=device),
            totals=torch.zeros(rows, device=device),
            attention=None,
        )

    def select(self, rows: Tensor) -> Trace:
        """These rows in this order; rows may repeat or be left out."""
        return Trace(
            tokens=self.tokens.index_select(0, rows),
            log_probabilities=self.log_probabilities.index_select(0, rows),
            totals=self.totals.index_select(0, rows),
            attention=None if self.attention is None else self.attention.index_select(0, rows),
        )

    def extend(self, tokens: Tensor, log_probabilities: Tensor, attention: Tensor | None) -> Trace:
        """One token [R] more a row, with its log-probability [R] and its cross-attention [R, S]."""
        if attention is not None:
            attention = attention.unsqueeze(1)
            if self.attention is not None:
                attention = torch.cat([self.attention, attention], dim=1)
        return Trace(
            tokens=torch.cat([self.tokens, tokens.unsqueeze(1)], dim=1),
            log_probabilities=torch.cat([self.log_probabilities, log_probabilities.unsqueeze(1)], dim=1),
            totals=self.totals + log_probabilities,
            attention=attention,
        )

    def hypotheses(self, ends: Collection[int], alpha: float) -> list[Hypothesis]:
        """All rows as plain values: the only place where a search's tensors become lists."""
        attention = None if self.attention is None else self.attention.float().cpu()
        found = []
        columns = (self.tokens.tolist(), self.log_probabilities.tolist(), self.totals.tolist())
        for row, (tokens, log_probabilities, total) in enumerate(zip(*columns, strict=True)):
            finished = tokens[-1] in ends
            found.append(
                Hypothesis(
                    tokens=tokens[:-1] if finished else tokens,
                    score=length_penalty(total, len(tokens), alpha),
                    log_probability=total,
                    token_log_probabilities=log_probabilities,
                    attention=None if attention is None else attention[row],
                    finished=finished,
                )
            )
        return found
