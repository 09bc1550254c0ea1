"""What a search carries while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions


@dataclass(frozen=True, eq=False)
class Trace:
    """The hypotheses of all rows of a running search. Rows start together, so all are equally long."""

    tokens: Tensor  # [R, T]
    log_probabilities: Tensor  # [R, T]
    totals: Tensor  # [R], the running sum: kept, so that ranking and reporting use the same float

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> Trace:
        """No token yet."""
        return cls(
            tokens=torch.empty(rows, 0, dtype=torch.long, device=device),
            log_probabilities=torch.empty(rows, 0, device=device),
            totals=torch.zeros(rows, device=device),
        )

    def select(self, rows: Tensor) -> Trace:
        """These rows in this order; rows may repeat or be left out."""
        return Trace(
            tokens=self.tokens.index_select(0, rows),
            log_probabilities=self.log_probabilities.index_select(0, rows),
            totals=self.totals.index_select(0, rows),
        )

    def extend(self, tokens: Tensor, log_probabilities: Tensor) -> Trace:
        """One token [R] more a row, with its log-probability [R]."""
        return Trace(
            tokens=torch.cat([self.tokens, tokens.unsqueeze(1)], dim=1),
            log_probabilities=torch.cat([self.log_probabilities, log_probabilities.unsqueeze(1)], dim=1),
            totals=self.totals + log_probabilities,
        )

    def hypotheses(self, options: SearchOptions) -> list[Hypothesis]:
        """All rows as plain values: the only place where a search's tensors become lists."""
        found = []
        columns = (self.tokens.tolist(), self.log_probabilities.tolist(), self.totals.tolist())
        for tokens, log_probabilities, total in zip(*columns, strict=True):
            finished = tokens[-1] in options.ends
            found.append(
                Hypothesis(
                    tokens=tokens[:-1] if finished else tokens,
                    score=options.score(total, len(tokens)),
                    log_probability=total,
                    token_log_probabilities=log_probabilities,
                    finished=finished,
                )
            )
        return found
